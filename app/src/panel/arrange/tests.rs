use super::*;
use crate::{
    panel::{Panel, PanelView},
    sample::{self, at},
    wire::breaker::{BreakerList, Mode, State},
};

const HOUR: i64 = 3_600_000;

fn loaded(breakers: Vec<Breaker>) -> Panel {
    let list = BreakerList { breakers, as_of: at(HOUR), cursor: "7-10".into(), next: None };
    Panel::load(&PanelView { about: sample::about(), list, timeline: None, unread: None, plan: None, refused: None })
}

fn of(upstream: &str, breaker: Breaker) -> Breaker {
    Breaker { upstreams: vec![upstream.into()], ..breaker }
}

fn all(panel: &Panel) -> Arranged {
    panel.arrange(&BreakerFilter::default(), HOUR)
}

fn filtered(word: &str) -> BreakerFilter {
    BreakerFilter { state: Some(word.into()), ..BreakerFilter::default() }
}

#[test]
fn the_worst_of_an_upstream_decides_where_it_stands_and_its_parts_are_named() {
    let mut files = of("npm", sample::open("https:files.registry.example", HOUR + 1));
    files.refused_per_min = 9;
    let panel = loaded(vec![
        of("pip", sample::breaker("https:pip.example", State::HalfOpen)),
        of("npm", sample::breaker("https:metadata.registry.example", State::Closed)),
        files,
        of("deb", sample::breaker("https:deb.example", State::Closed)),
    ]);
    let arranged = all(&panel);
    let names: Vec<&str> = arranged.groups.iter().map(|group| group.name.as_str()).collect();
    assert_eq!(names, ["npm", "pip"]);
    assert_eq!(arranged.groups[0].quiet, ["https:metadata.registry.example"], "folded under its upstream");
    assert_eq!(arranged.quiet, ["https:deb.example"]);
    assert_eq!(panel.parts(&arranged.groups[0], HOUR), "files refused, metadata flows");
}

#[test]
fn hosts_are_told_apart_by_what_they_do_not_share() {
    let names = |ids: &[&str]| part_names(ids);
    assert_eq!(names(&["https:a.b.example", "https:c.b.example:8443"]), ["a.b.example", "c.b.example:8443"]);
    assert_eq!(names(&["https:registry.example", "https:cdn.files.example"]), ["registry", "cdn.files"]);
    assert_eq!(names(&["http:127.0.0.1:9001", "http:127.0.0.1:9002"]), ["127.0.0.1:9001", "127.0.0.1:9002"]);
    assert_eq!(names(&["https:example", "https:www.example"]), ["example", "www.example"]);
}

#[test]
fn ties_are_broken_by_what_is_refused_then_by_name() {
    let open = |id: &str, refused| {
        let mut breaker = of(id, sample::open(id, HOUR + 1));
        breaker.refused_per_min = refused;
        breaker
    };
    let panel = loaded(vec![open("a", 1), open("b", 40), open("c", 1)]);
    assert_eq!(all(&panel).ids().collect::<Vec<_>>(), ["b", "a", "c"]);
}

#[test]
fn each_breaker_is_filtered_by_its_own_word() {
    let mut shadow = sample::held(Mode::ForcedClosed, None);
    shadow.state = State::Open;
    let panel = loaded(vec![shadow, sample::open("a", HOUR + 1), sample::open("late", HOUR - 20_000)]);
    let count = |word| panel.count(word, HOUR);
    assert_eq!((count("open"), count("latched"), count("forced_closed"), count("down")), (1, 2, 1, 2));
    assert_eq!(panel.arrange(&filtered("open"), HOUR).groups[0].trouble, ["a"]);
}

#[test]
fn moved_counts_who_stands_elsewhere() {
    let ids = |text: &str| text.chars().map(String::from).collect::<Vec<_>>();
    let arranged = |trouble: &str, quiet: &str| Arranged {
        groups: ids(trouble)
            .into_iter()
            .map(|id| Group { name: id.clone(), trouble: vec![id], quiet: vec![] })
            .collect(),
        quiet: ids(quiet),
    };
    assert_eq!(arranged("ab", "cd").moved(&arranged("ab", "cd")), 0);
    assert_eq!(arranged("ab", "cd").moved(&arranged("ba", "cd")), 2);
    assert_eq!(arranged("ab", "cd").moved(&arranged("abc", "d")), 1);
    assert_eq!(arranged("a", "").moved(&arranged("ab", "")), 1);
    assert_eq!(arranged("ab", "").moved(&arranged("a", "")), 1);
}
