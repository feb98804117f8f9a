//! Pages as the server renders them, without script: they say what they must and never what they must not.

#![recursion_limit = "256"]

mod facts;
mod reading;

use std::sync::{Arc, LazyLock, Mutex, atomic::Ordering};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header, request::Parts},
    response::Response,
    routing::any,
};
use facts::Facts;
use fuseboard_app::{
    App,
    backend::{Answer, Backend},
    bundle, shell,
};
use http_body_util::BodyExt;
use leptos::prelude::{LeptosOptions, provide_context, use_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes, generate_route_list, handle_server_fns_with_context};
use tower::ServiceExt;

/// What a page said of its answer.
#[derive(Default)]
struct Said(Mutex<(Option<u16>, Option<String>)>);

impl Answer for Said {
    fn status(&self, status: u16) {
        self.0.lock().expect("said").0 = Some(status);
    }

    fn refuse(&self, status: u16, again: &str) {
        *self.0.lock().expect("said") = (Some(status), Some(again.into()));
    }

    fn land(&self, path: &str) {
        self.0.lock().expect("said").1 = Some(path.into());
    }
}

/// Listed once, before the first page: while Leptos lists routes, a page that another thread renders waits for its
/// data for ever.
static ROUTES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| generate_route_list(App));

fn site(facts: Arc<Facts>, said: Arc<Said>) -> Router {
    let script = facts.script;
    let options = LeptosOptions::builder().output_name("fuseboard").site_pkg_dir("pkg").build();
    let contexts = move || {
        provide_context::<Arc<dyn Backend>>(facts.clone());
        provide_context::<Arc<dyn Answer>>(said.clone());
    };
    let functions = contexts.clone();
    Router::new()
        .route("/ui/{*function}", any(move |request| handle_server_fns_with_context(functions.clone(), request)))
        .leptos_routes_with_context(&options, ROUTES.clone(), contexts, {
            let options = options.clone();
            move || {
                let path = use_context::<Parts>().map(|parts| parts.uri.path().to_owned()).unwrap_or_default();
                let mut options = options.clone();
                options.output_name = bundle(&path).into();
                shell(options, script)
            }
        })
        .with_state(options)
}

async fn text(response: Response) -> String {
    let body = response.into_body().collect().await.expect("a body").to_bytes();
    String::from_utf8(body.to_vec()).expect("text")
}

async fn page(facts: Facts, path: &str) -> (String, Option<u16>) {
    let said = Arc::new(Said::default());
    let request = Request::get(path).header(header::ACCEPT, "text/html").body(Body::empty()).expect("a request");
    let response = site(Arc::new(facts), said.clone()).oneshot(request).await.expect("an answer");
    assert_eq!(response.status(), StatusCode::OK);
    let status = said.0.lock().expect("said").0;
    (text(response).await, status)
}

/// The part a person sees, without the data the page is hydrated with and without what Leptos puts between texts.
fn seen(html: &str) -> String {
    let body = html.split("<body>").nth(1).expect("a body");
    body.split("<script").next().expect("content").replace("<!>", "").replace("<!---->", "")
}

#[tokio::test]
async fn the_panel_says_everything_without_script() {
    let (html, _) = page(Facts::default(), "/").await;
    let seen = seen(&html);
    assert!(
        seen.contains("7 hosts refused, 44 calls a minute turned away, longest since 28 Nov, 17:40 UTC."),
        "{seen}"
    );
    for word in [
        "<strong>closed</strong>",
        "flowing",
        "<strong>open</strong>",
        "refusing",
        "probe due",
        "<strong>latched</strong>",
        "<strong>half-open</strong>",
        "probing",
        "<strong>forced open</strong>",
        "<strong>forced closed</strong>",
        "<strong>cooling down</strong>",
        "<strong>waiting</strong>",
        "for the first call",
    ] {
        assert!(seen.contains(word), "{word} is missing");
    }
    assert!(seen.contains("3 closed, 1 waiting for the first call"));
    assert!(seen.contains("5 calls failed in 10 s · could not connect"));
    assert!(seen.contains("2:14"), "the countdown to the next probe");
    assert!(seen.contains("Demo"));
    assert!(!seen.contains("NaN") && !seen.contains("Infinity"));
    assert!(!seen.contains("style="), "the page's policy forbids inline style");
}

#[tokio::test]
async fn text_from_outside_is_text() {
    let (panel, _) = page(Facts::default(), "/").await;
    assert!(seen(&panel).contains("the CDN moves &lt;b&gt;tonight&lt;/b&gt;"));
    assert!(!panel.contains("<b>tonight"), "not in the page's data either");
    let (breaker, _) = page(Facts::default(), "/breakers/https:registry.example").await;
    assert!(seen(&breaker).contains("&lt;script&gt;alert(1)"));
    assert!(!breaker.contains("<script>alert"));
}

#[tokio::test]
async fn search_and_filter_are_in_the_address() {
    let (html, _) = page(Facts::default(), "/?q=late&state=open").await;
    let seen = seen(&html);
    assert!(seen.contains("late.example") && !seen.contains("registry.example</span>"), "{seen}");
    let (html, _) = page(Facts::default(), "/?q=foo%3Ci%3E&state=open").await;
    assert!(html.contains("No breaker matches 'foo&lt;i&gt;' in open. 13 exist."));
}

#[tokio::test]
async fn a_breaker_opens_with_prose() {
    let (html, status) = page(Facts::default(), "/breakers/https:registry.example").await;
    let seen = seen(&html);
    assert!(seen.contains(
        "Refusing for 1 h 48 min, since 01:12 UTC. 5 calls failed in 10 s (could not connect, all 5 on one path). Probe 7 at 03:02:14 UTC, in 2:14. 212 refused."
    ));
    assert!(seen.contains("It never gives up"));
    assert_eq!(status, None);
    assert!(!seen.contains("NaN") && !seen.contains("style="));
}

#[tokio::test]
async fn an_unknown_breaker_is_a_404_in_words() {
    let (html, status) = page(Facts::default(), "/breakers/x").await;
    assert!(html.contains("No such breaker"));
    assert_eq!(status, Some(404));
}

#[tokio::test]
async fn first_run_and_a_store_in_trouble_are_said() {
    let (html, _) = page(Facts { empty: true, ..Facts::default() }, "/").await;
    assert!(html.contains("No upstream yet.") && html.contains("npm config set registry http://127.0.0.1:8080/npm/"));
    let failing = Facts::default();
    failing.failing.store(true, Ordering::Relaxed);
    let (html, _) = page(failing, "/").await;
    let said = "History not written since 02:50 UTC (disk full). Breakers still work. 1,204 facts wait.";
    assert!(seen(&html).contains(said));
    assert!(seen(&html).contains("2:14"), "the rows are there without their lanes");
}

async fn post(facts: &Arc<Facts>, form: &str) -> (Response, Option<String>) {
    send(facts, "/ui/act", form).await
}

async fn send(facts: &Arc<Facts>, to: &str, form: &str) -> (Response, Option<String>) {
    let said = Arc::new(Said::default());
    let request = Request::post(to)
        .header(header::ACCEPT, "text/html")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::REFERER, "http://localhost/breakers/https:registry.example?act=force-open")
        .body(Body::from(form.to_owned()))
        .expect("a request");
    let response = site(facts.clone(), said.clone()).oneshot(request).await.expect("an answer");
    let landed = said.0.lock().expect("said").1.clone();
    (response, landed)
}

#[tokio::test]
async fn forms_work_without_script() {
    let facts = Arc::new(Facts::default());
    let id = "https:registry.example";
    let (_, landed) = post(&facts, "what=reset&id=https%3Aregistry.example&by=+ana+&reason=CDN+is+back").await;
    assert_eq!(landed.as_deref(), Some("/breakers/https:registry.example?done=reset"), "a reset has no undo");
    let (_, landed) = post(&facts, "what=force-open&id=https%3Aregistry.example&by=ana&reason=r&end=never").await;
    assert_eq!(landed.as_deref(), Some("/breakers/https:registry.example?done=force-open&undo=7"));
    post(&facts, "what=force-closed&id=https%3Aregistry.example&by=ana&reason=r&end=15m").await;
    assert_eq!(
        *facts.acts.lock().expect("acts"),
        [
            format!("Reset [\"{id}\"] CDN is back ana None/None"),
            format!("ForceOpen [\"{id}\"] r ana None/Some(None)"),
            format!("ForceClosed [\"{id}\"] r ana Some(900000)/None"),
        ]
    );
}

#[tokio::test]
async fn what_was_done_is_said_with_its_way_back_on_the_page_it_was_done_on() {
    let path = "/breakers/https:registry.example";
    let (html, _) = page(Facts::default(), &format!("{path}?done=force-open&undo=7")).await;
    let seen = seen(&html);
    assert!(seen.contains("Forced open. Nothing reaches the host now."), "{seen}");
    assert!(seen.contains("action=\"/ui/undo\"") && seen.contains("name=\"id\" value=\"https:registry.example\""));
    let facts = Arc::new(Facts::default());
    let (_, landed) = send(&facts, "/ui/undo", "seq=7&id=https%3Aregistry.example").await;
    assert_eq!(landed.as_deref(), Some("/breakers/https:registry.example?done=undo"));
    let (_, landed) = send(&facts, "/ui/undo", "seq=7&id=").await;
    assert_eq!(landed.as_deref(), Some("/?done=undo&well=0&refused=0"));
    assert_eq!(*facts.acts.lock().expect("acts"), ["undo 7", "undo 7"]);
    let too_late =
        "%7B%22status%22%3A409%2C%22detail%22%3A%22Too%20late.%22%2C%22field%22%3Anull%2C%22applied%22%3Afalse%7D";
    let (html, _) = page(Facts::default(), &format!("{path}?undo=0&__err={too_late}")).await;
    assert!(html.contains("Too late."), "an undo that was refused is said though no form is open");
}

#[tokio::test]
async fn a_form_says_whose_override_it_ends() {
    let path = "/breakers/https:old.example";
    for (act, words) in [
        ("force-closed", "This ends ana's override (forced open: the CDN moves &lt;b&gt;tonight&lt;/b&gt;)."),
        ("force-open", "This gives ana's override (forced open: the CDN moves &lt;b&gt;tonight&lt;/b&gt;) another end"),
        ("probe", "Refused while ana's override"),
        ("reset", "Also end the override by ana (unverified)"),
    ] {
        let (html, _) = page(Facts::default(), &format!("{path}?act={act}")).await;
        assert!(seen(&html).contains(words), "{words}: {}", seen(&html));
    }
}

#[tokio::test]
async fn a_breakers_charts_stand_on_the_axis_its_address_names() {
    let (html, _) = page(
        Facts::default(),
        "/breakers/https:good.example?act=reset&from=2026-11-30T01:00:00Z&to=2026-11-30T02:00:00Z",
    )
    .await;
    let seen = seen(&html);
    for words in [
        "aria-label=\"30 Nov, 01:00 to 02:00 UTC: ",
        "Up 98.76 %, down for 2 min.",
        "aria-label=\"Calls, 30 Nov, 01:00 to 02:00 UTC: ",
        "aria-label=\"Latency, 30 Nov, 01:00 to 02:00 UTC: p95 at most 84 ms\"",
        ">100 ms</text>",
        "class=\"median\"",
        "<title>a failed probe</title>",
        "href=\"/breakers/https:good.example?act=reset\"",
        "<input type=\"hidden\" name=\"act\" value=\"reset\">",
        "act=reset&amp;from=2026-11-30T00:30:00Z&amp;to=2026-11-30T01:30:00Z\" aria-label=\"earlier\"",
    ] {
        assert!(seen.contains(words), "{words}: {seen}");
    }
    assert!(!seen.contains("style=") && !seen.contains("NaN"));
}

#[tokio::test]
async fn a_point_in_time_is_asked_of_the_record() {
    let facts = Arc::new(Facts::default());
    let request = Request::get("/ui/moment?id=https:good.example&from_ms=5000&to_ms=9000").body(Body::empty());
    let response = site(facts.clone(), Arc::new(Said::default())).oneshot(request.expect("a request")).await;
    let moment: fuseboard_app::wire::timeline::Moment =
        serde_json::from_str(&text(response.expect("an answer")).await).expect("a moment");
    assert_eq!(moment.transitions.len(), 1);
    assert_eq!(*facts.acts.lock().expect("acts"), ["moment https:good.example 5000 9000"]);
}

#[tokio::test]
async fn a_refused_form_comes_back_with_the_field_the_words_and_all_that_was_typed() {
    let facts = Arc::new(Facts::default());
    for (form, words, by, reason, end) in [
        ("by=ana&reason=+&end=15m", "Say why", "ana", " ", "15m"),
        ("by=&reason=CDN+move&end=never", "Say who you are", "", "CDN move", "never"),
        ("by=ana&reason=r", "Choose when the override ends", "ana", "r", "1h"),
        (
            "by=ana&reason=disk&end=4h",
            "Forced open now, but would be lost at a restart. It was not written (disk full).",
            "ana",
            "disk",
            "4h",
        ),
    ] {
        let again = refused(&facts, &format!("what=force-open&id=https%3Aregistry.example&{form}")).await;
        let (html, _) = page(Facts::default(), &again).await;
        let seen = seen(&html);
        assert!(seen.contains(words), "{words}: {seen}");
        for (name, typed) in [("by", by), ("reason", reason)] {
            let value = format!(" value=\"{typed}\"");
            assert_eq!(field(&seen, name).contains(&value), !typed.is_empty(), "{name}: {}", field(&seen, name));
        }
        assert!(chosen(&seen).contains(&format!("value=\"{end}\"")), "{}", chosen(&seen));
    }
}

/// Where a browser goes after a refused form.
async fn refused(facts: &Arc<Facts>, form: &str) -> String {
    let again = post(facts, form).await.1.expect("back to the form");
    assert!(again.starts_with("/breakers/https:registry.example?act="), "{again}");
    again
}

/// The tag of a form's text field.
fn field<'a>(seen: &'a str, name: &str) -> &'a str {
    tags(seen).find(|tag| tag.contains(&format!(" id=\"{name}\""))).expect("the field")
}

/// The tag of the end that is chosen.
fn chosen(seen: &str) -> &str {
    let mut chosen = tags(seen).filter(|tag| tag.contains("type=\"radio\"") && tag.contains(" checked"));
    let one = chosen.next().expect("an end is chosen");
    assert_eq!(chosen.next(), None, "one end");
    one
}

fn tags(seen: &str) -> impl Iterator<Item = &str> {
    seen.split("<input").skip(1).filter_map(|rest| rest.split('>').next())
}

#[tokio::test]
async fn what_comes_back_is_text_bounded_and_of_the_last_try() {
    let facts = Arc::new(Facts::default());
    let form = |reason: &str| format!("what=reset&id=https%3Aregistry.example&by=&reason={reason}");
    let again = refused(&facts, &form(&("%C3%A4".repeat(493) + "%22%3E%3Cb%3E%26"))).await;
    let (html, _) = page(Facts::default(), &again).await;
    let typed = format!("value=\"{}&quot;&gt;&lt;b&gt;&amp;\"", "ä".repeat(493));
    assert!(seen(&html).contains(&typed), "{}", seen(&html));
    let again = refused(&facts, &form(&"x".repeat(60_000))).await;
    assert!(again.len() < 2_000, "{} characters", again.len());
    let (html, _) = page(Facts::default(), &again).await;
    assert!(seen(&html).contains("Say who you are"), "the first refusal");
    let again = refused(&facts, "what=reset&id=https%3Aregistry.example&by=ana&reason=").await;
    let (html, _) = page(Facts::default(), &again).await;
    assert!(seen(&html).contains("Say why") && !seen(&html).contains("Say who you are"), "{}", seen(&html));
}

#[tokio::test]
async fn a_running_board_is_told_the_status_of_a_refused_form() {
    let said = Arc::new(Said::default());
    let request = Request::post("/ui/act")
        .header(header::ACCEPT, "application/json")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .body(Body::from("what=reset&id=https%3Aregistry.example&by=ana&reason="))
        .expect("a request");
    site(Arc::new(Facts::default()), said.clone()).oneshot(request).await.expect("an answer");
    assert_eq!(said.0.lock().expect("said").0, Some(422));
}

#[tokio::test]
async fn each_page_loads_its_own_bundle_and_without_script_none() {
    let (html, _) = page(Facts { script: true, ..Facts::default() }, "/breakers/https:registry.example").await;
    assert!(html.contains("/pkg/pages.js") && !html.contains("/pkg/panel"));
    for script in [true, false] {
        let (html, _) = page(Facts { script, ..Facts::default() }, "/").await;
        assert_eq!(html.contains("/pkg/panel.js"), script);
        assert!(seen(&html).contains("not live: reload for news") && html.contains("/pkg/fuseboard.css"));
    }
}

#[tokio::test]
async fn the_range_is_what_was_chosen_or_what_there_is_to_see() {
    let quarter = "aria-label=\"last 15 minutes: ";
    let hour = "aria-label=\"last hour: ";
    for path in ["/", "/breakers/https:registry.example"] {
        let seen_at = async |young: bool, query: &str| {
            seen(&page(Facts { young, ..Facts::default() }, &format!("{path}{query}")).await.0)
        };
        assert!(seen_at(true, "").await.contains(quarter), "{path}: a young process");
        assert!(seen_at(true, "?range=1h").await.contains(hour), "{path}: chosen");
        let old = seen_at(false, "").await;
        assert!(old.contains(hour) && !old.contains(quarter), "{path}: an old process");
        assert!(old.contains("range=15m"), "{path}: the way to it");
        assert!(seen_at(false, "?range=15m").await.contains(quarter), "{path}: chosen");
    }
}

#[tokio::test]
async fn a_form_keeps_the_range_and_a_range_keeps_the_form() {
    let seen = seen(&page(Facts::default(), "/breakers/https:registry.example?act=reset&range=6h").await.0);
    let link = |query: &str| format!("href=\"/breakers/https:registry.example{query}\"");
    assert!(seen.contains(&link("?act=force-open&amp;range=6h#act")), "{seen}");
    assert!(seen.contains(&link("?range=6h#act")), "to close it");
    assert!(seen.contains(&link("?act=reset&amp;range=24h")));
}

#[tokio::test]
async fn a_name_that_has_no_middle_has_none_on_the_page() {
    let seen = seen(&page(Facts::default(), "/").await.0);
    assert!(
        seen.contains("<span class=\"scheme\">http:</span><span class=\"tail\">127.0.0.1:9007</span></bdi>"),
        "{seen}"
    );
    let middle = "<span class=\"middle\">files.eu-central.packages</span>";
    assert!(seen.contains(middle), "{seen}");
}

#[tokio::test]
async fn a_form_for_many_says_what_it_would_touch_and_acts_without_script() {
    let facts = Arc::new(Facts::default());
    let (html, _) = page(Facts::default(), "/?act=force-open&id=https:registry.example&id=late.example").await;
    let seen = seen(&html);
    assert!(seen.contains("Force open") && seen.contains("2 breakers") && seen.contains("Touches "), "{seen}");
    assert!(seen.contains("value=\"https:registry.example late.example\""), "{seen}");

    let landed = async |form: &str| send(&facts, "/ui/actions", form).await.1.expect("somewhere to go");
    let on = "what=force-open&ids=https%3Aregistry.example+b";
    assert_eq!(landed(&format!("{on}&by=ana&reason=r&end=1h")).await, "/?done=force-open&well=1&refused=1&undo=7");
    assert_eq!(
        *facts.acts.lock().expect("acts"),
        ["ForceOpen [\"https:registry.example\", \"b\"] r ana Some(3600000)/None"]
    );
    let (html, _) = page(Facts::default(), "/?done=force-open&well=11&refused=1&undo=7").await;
    assert!(html.contains("Forced open: 11 breakers. 1 refused.") && html.contains("action=\"/ui/undo\""));

    let again = landed("what=force-open&ids=a+b&by=ana&reason=&end=1h").await;
    assert!(again.starts_with("/?act=force-open&id=a&id=b&by=ana"), "{again}");
    let (html, _) = page(Facts::default(), &again).await;
    assert!(html.contains("Say why"), "the refusal is said");
}

#[tokio::test]
async fn the_wall_and_a_zoom_are_in_the_address() {
    let (html, _) = page(Facts::default(), "/?wall").await;
    assert!(seen(&html).contains("class=\"tiles\"") && !seen(&html).contains("role=\"search\""));
    let (html, _) = page(Facts::default(), "/?from=2026-11-30T01:00:00Z&to=2026-11-30T02:00:00Z").await;
    assert!(seen(&html).contains("30 Nov, 01:00 to 02:00 UTC: "), "every lane says it");
    let (html, _) = page(Facts::default(), "/?state=nope").await;
    assert!(seen(&html).contains("There is no state 'nope', so all are shown."));
}

#[tokio::test]
async fn the_data_for_the_browser_cannot_end_its_block() {
    let (html, _) = page(Facts::default(), "/").await;
    let block = html.split("id=\"data\">").nth(1).expect("a block").split("</script>").next().expect("its end");
    let view: fuseboard_app::panel::PanelView = serde_json::from_str(block).expect("the panel's data, whole");
    assert!(view.list.breakers.len() > 10);
}
