use super::*;
use crate::{
    panel::PanelView,
    range::Range,
    sample::{self, at},
    wire::breaker::{BreakerList, Mode},
};

const NOW: i64 = 3_600_000;

fn look() -> Look {
    Look {
        now_ms: NOW,
        zone: Zone::Utc,
        window: Window::Last(Range::Hour),
        end_ms: NOW,
        shown: Shown { range: Some(Range::Hour), ..Shown::default() },
        expanded: HashSet::new(),
        picked: HashSet::new(),
    }
}

fn panel(breakers: Vec<Breaker>) -> Panel {
    let list = BreakerList { breakers, as_of: at(NOW), cursor: "7-10".into(), next: None };
    Panel::load(&PanelView { about: sample::about(), list, timeline: None, unread: None, plan: None, refused: None })
}

fn html(breaker: Breaker, look: &Look) -> String {
    let id = breaker.id.clone();
    whole(&Item::Row(id), &panel(vec![breaker]), look)
}

fn whole(item: &Item, panel: &Panel, look: &Look) -> String {
    let mut out = String::new();
    item.write(&item.draw(panel, look), &mut out);
    out
}

#[test]
fn text_from_outside_is_text_everywhere_in_a_row() {
    let mut held = sample::held(Mode::ForcedOpen, None);
    held.id = "<i>\"".into();
    held.upstreams = vec!["<b>".into()];
    if let Some(held) = &mut held.held {
        held.reason = "</span><script>".into();
    }
    let mut look = look();
    look.expanded.insert(held.id.clone());
    let html = html(held, &look);
    for outside in ["<i>", "<b>", "<script>"] {
        assert!(!html.contains(outside), "{outside}: {html}");
    }
}

#[test]
fn of_a_host_that_nothing_reaches_there_is_no_rate_and_no_latency() {
    let numbers = |mut breaker: Breaker| {
        breaker.failure_rate = Some(0.004);
        breaker.p95_ms = Some(80.0);
        let mut look = look();
        look.expanded.insert(breaker.id.clone());
        html(breaker, &look)
    };
    let open = numbers(sample::open("a", NOW + 1_000));
    assert!(open.contains("<dt>failed</dt><dd>—</dd>") && open.contains("<dt>p95</dt><dd>—</dd>"), "{open}");
    let closed = numbers(sample::breaker("a", State::Closed));
    assert!(closed.contains("<dd>&lt;1 %</dd>") && closed.contains("<dd>80 ms</dd>"), "{closed}");
}

#[test]
fn a_probe_by_hand_is_offered_where_it_makes_sense() {
    let offered = |breaker: Breaker| {
        let mut look = look();
        look.expanded.insert(breaker.id.clone());
        html(breaker, &look).contains("act=probe")
    };
    assert!(offered(sample::open("a", NOW + 1)) && offered(sample::breaker("a", State::HalfOpen)));
    assert!(!offered(sample::breaker("a", State::Closed)) && !offered(sample::held(Mode::ForcedOpen, None)));
}

#[test]
fn an_expanded_row_names_the_services_that_go_there() {
    let mut breaker = sample::breaker("ledger", State::Closed);
    breaker.services = vec!["ledger.v1.*".into(), "audit.Log".into()];
    let mut look = look();
    assert!(!html(breaker.clone(), &look).contains("gRPC"));
    look.expanded.insert("ledger".into());
    assert!(html(breaker, &look).contains("gRPC · ledger.v1.*, audit.Log"));
}

#[test]
fn forced_closed_over_an_open_shadow_says_what_would_be() {
    let mut shadow = sample::held(Mode::ForcedClosed, None);
    assert!(!html(shadow.clone(), &look()).contains("would be"));
    shadow.state = State::Open;
    assert!(html(shadow.clone(), &look()).contains("would be open · ana (unverified): CDN move"));
    shadow.state = State::HalfOpen;
    assert!(html(shadow, &look()).contains("would be half-open"));
}

#[test]
fn an_action_keeps_what_is_shown() {
    let row = html(sample::open("a", NOW + 1), &look());
    assert!(row.contains("href=\"/?range=1h&amp;act=reset&amp;id=a\""), "{row}");
    assert!(row.contains("role=\"img\" aria-label=\"last hour: nothing recorded\""), "{row}");
}

#[test]
fn an_upstream_with_several_hosts_has_a_head_and_folds_what_flows() {
    let of = |breaker: Breaker| Breaker { upstreams: vec!["npm".into()], ..breaker };
    let panel = panel(vec![
        of(sample::open("https:files.npm.example", NOW + 1)),
        of(sample::breaker("https:metadata.npm.example", State::Closed)),
    ]);
    let arranged = panel.arrange(&crate::backend::BreakerFilter::default(), NOW);
    let mut look = look();
    let keys = |look: &Look| {
        troubled(&arranged.groups, &look.expanded).iter().map(|item| item.key().to_owned()).collect::<Vec<_>>()
    };
    assert_eq!(keys(&look), ["npm", "https:files.npm.example"]);
    let head = whole(&troubled(&arranged.groups, &look.expanded)[0], &panel, &look);
    assert!(head.contains("<b>npm</b>: files refused, metadata flows") && head.contains("show 1 more"), "{head}");
    look.expanded.insert("npm".into());
    assert_eq!(keys(&look), ["npm", "https:files.npm.example", "https:metadata.npm.example"]);
}

#[test]
fn a_row_says_for_how_long_calls_have_been_refused_whoever_holds_it_now() {
    let mut down = Breaker { held: sample::held(Mode::ForcedOpen, None).held, ..sample::open("a", NOW + 1) };
    down.held.iter_mut().for_each(|held| held.since = at(NOW - 1_000));
    let said = |breaker: &Breaker| {
        let html = html(breaker.clone(), &look());
        (html.contains("down for"), html.contains("held for"), html.contains(">1 h<"), html.contains(">1 s<"))
    };
    assert_eq!(said(&down), (true, false, true, false), "an outage before it counts");
    down.held.iter_mut().for_each(|held| held.mode = Mode::ForcedClosed);
    assert_eq!(said(&down), (false, true, false, true), "what flows is held");
    let held =
        Breaker { state: State::Closed, down_since: None, held: sample::held(Mode::ForcedOpen, None).held, ..down };
    assert_eq!(said(&held), (false, true, true, false));
}

#[test]
fn a_long_name_keeps_its_domain_and_its_port_apart() {
    let name = host_name("https:files.eu.registry.example:8443");
    assert!(name.contains("<span class=\"middle\">files.eu</span>"), "{name}");
    assert!(
        name.contains("<span class=\"domain\">.registry.example</span><span class=\"port\">:8443</span>"),
        "{name}"
    );
    assert!(!host_name("https:registry.example:8443").contains("is-long"));
}
