//! Pages as the server renders them, without script: they say what they must and never what they must not.

mod facts;

use std::sync::{Arc, LazyLock, Mutex, atomic::Ordering};

use axum::{
    Router,
    body::Body,
    http::{Request, StatusCode, header},
    response::Response,
    routing::any,
};
use facts::Facts;
use fuseboard_app::{
    App,
    backend::{Answer, Backend},
    shell,
};
use http_body_util::BodyExt;
use leptos::prelude::{LeptosOptions, provide_context};
use leptos_axum::{AxumRouteListing, LeptosRoutes, generate_route_list, handle_server_fns_with_context};
use tower::ServiceExt;

/// What a page said of its answer.
#[derive(Default)]
struct Said(Mutex<(Option<u16>, Option<String>)>);

impl Answer for Said {
    fn status(&self, status: u16) {
        self.0.lock().expect("said").0 = Some(status);
    }

    fn refuse(&self, _: u16) {}

    fn land(&self, path: &str) {
        self.0.lock().expect("said").1 = Some(path.into());
    }
}

/// Listed once, before the first page: while Leptos lists routes, a page that another thread renders waits for its
/// data for ever.
static ROUTES: LazyLock<Vec<AxumRouteListing>> = LazyLock::new(|| generate_route_list(App));

fn site(facts: Arc<Facts>, said: Arc<Said>) -> Router {
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
            move || shell(options.clone())
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
        "Refusing for 1 h 48 min, since 01:12 UTC. 5 calls failed in 10 s (could not connect). Probe 7 in 2:14. 212 refused."
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

async fn post(facts: &Arc<Facts>, form: &'static str) -> (Response, Option<String>) {
    let said = Arc::new(Said::default());
    let request = Request::post("/ui/act")
        .header(header::ACCEPT, "text/html")
        .header(header::CONTENT_TYPE, "application/x-www-form-urlencoded")
        .header(header::REFERER, "http://localhost/breakers/https:registry.example?act=force-open")
        .body(Body::from(form))
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
    assert_eq!(landed.as_deref(), Some("/breakers/https:registry.example?done=reset#act"));
    let (_, landed) = post(&facts, "what=force-open&id=https%3Aregistry.example&by=ana&reason=r&end=never").await;
    assert_eq!(landed.as_deref(), Some("/breakers/https:registry.example?done=force-open#act"));
    post(&facts, "what=force-closed&id=https%3Aregistry.example&by=ana&reason=r&end=15m").await;
    assert_eq!(
        *facts.acts.lock().expect("acts"),
        [
            format!("reset {id} CDN is back Some(\"ana\")"),
            format!("ForcedOpen {id} None/Some(None)"),
            format!("ForcedClosed {id} Some(900000)/None"),
        ]
    );
}

#[tokio::test]
async fn a_refused_form_comes_back_with_the_field_and_the_words() {
    let facts = Arc::new(Facts::default());
    for (form, words) in [
        ("what=force-open&id=https%3Aregistry.example&by=ana&reason=+&end=1h", "Say why"),
        ("what=force-open&id=https%3Aregistry.example&by=&reason=r&end=1h", "Say who you are"),
        ("what=force-open&id=https%3Aregistry.example&by=ana&reason=r", "Choose when the override ends"),
        (
            "what=force-open&id=https%3Aregistry.example&by=ana&reason=disk&end=1h",
            "Forced open now, but would be lost at a restart. It was not written (disk full).",
        ),
    ] {
        let (response, landed) = post(&facts, form).await;
        assert_eq!((response.status(), landed), (StatusCode::FOUND, None), "{form}");
        let back = response.headers()[header::LOCATION].to_str().expect("an address").to_owned();
        let (html, _) = page(Facts::default(), back.trim_start_matches("http://localhost")).await;
        assert!(seen(&html).contains(words), "{words}: {}", seen(&html));
    }
}
