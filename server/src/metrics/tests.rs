use fuseboard_breaker::{By, EventSink, ManualClock, NoSink, OverrideEnd, Policy, event::Event};

use super::*;

/// Counts as the panel's sink does.
struct Counting(Arc<Metrics>);

impl EventSink for Counting {
    fn record(&self, event: Event) {
        match event {
            Event::Transition(change) => self.0.transition(&change),
            Event::Probe(probe) => self.0.probe(&probe),
        }
    }
}

struct Nobody;

impl CallObserver for Nobody {
    fn settled(&self, _call: &CallRecord) {}

    fn refused(&self, _breaker: &Arc<str>, _reason: &str, _path: &str, _agent: Option<&str>) {}
}

const ID: &str = "https:registry.example";

fn value(text: &str, series: &str) -> Option<f64> {
    text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' ')?.parse().ok())
}

#[test]
fn every_state_is_there_from_the_start() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::default());
    let panel = Panel::new(10, clock.clone(), Arc::new(NoSink));
    panel.configure(ID, Policy::registry());
    let text = Metrics::new(clock).render(&panel, Process::default()).expect("text");
    for (state, want) in [("closed", 1.0), ("open", 0.0), ("half_open", 0.0)] {
        let series = format!(r#"fuseboard_breaker_state{{breaker="{ID}",state="{state}"}}"#);
        assert_eq!(value(&text, &series), Some(want), "{series} in\n{text}");
    }
    for mode in ["forced_open", "forced_closed"] {
        let series = format!(r#"fuseboard_breaker_override{{breaker="{ID}",mode="{mode}"}}"#);
        assert_eq!(value(&text, &series), Some(0.0), "{series} in\n{text}");
    }
    for series in ["fuseboard_journal_depth", "fuseboard_journal_dropped_total", "fuseboard_store_bytes"] {
        assert_eq!(value(&text, series), Some(0.0), "{series} in\n{text}");
    }
    assert_eq!(value(&text, r#"fuseboard_call_duration_seconds_bucket{le="+Inf"}"#), Some(0.0), "{text}");
    assert_eq!(value(&text, r#"fuseboard_build_info{node="",version=""}"#), Some(1.0), "{text}");
}

#[test]
fn changes_refusals_and_seconds_are_counted() {
    let manual = Arc::new(ManualClock::default());
    let clock: Arc<dyn Clock> = manual.clone();
    let metrics = Arc::new(Metrics::new(clock.clone()));
    let panel = Panel::new(10, clock, Arc::new(Counting(metrics.clone())));
    let breaker = panel.configure(ID, Policy::registry());
    manual.advance(Duration::from_secs(7));
    let text = |metrics: &Metrics| metrics.render(&panel, Process::default()).expect("text");
    let closed = format!(r#"fuseboard_breaker_state_seconds_total{{breaker="{ID}",state="closed"}}"#);
    assert_eq!(value(&text(&metrics), &closed), Some(7.0));

    let by = By { name: "ana".into(), verified: false, via: "api".into() };
    breaker.set_override(fuseboard_breaker::Mode::ForcedOpen, OverrideEnd::Never, by, "r");
    let observer = metrics.observing(Arc::new(Nobody));
    for _ in 0..3 {
        observer.refused(breaker.id(), "forced_open", "/", None);
    }
    metrics.settled(Duration::from_millis(3));
    metrics.settled(Duration::from_secs(31));
    let text = text(&metrics);
    let want = [
        (format!(r#"fuseboard_breaker_override{{breaker="{ID}",mode="forced_open"}}"#), 1.0),
        (
            format!(
                r#"fuseboard_breaker_transitions_total{{breaker="{ID}",from="closed",to="closed",cause="override_set"}}"#
            ),
            1.0,
        ),
        (format!(r#"fuseboard_refused_total{{breaker="{ID}",reason="forced_open"}}"#), 3.0),
        (r#"fuseboard_call_duration_seconds_bucket{le="0.005"}"#.into(), 1.0),
        (r#"fuseboard_call_duration_seconds_bucket{le="30"}"#.into(), 1.0),
        (r#"fuseboard_call_duration_seconds_bucket{le="+Inf"}"#.into(), 2.0),
        ("fuseboard_call_duration_seconds_count".into(), 2.0),
    ];
    for (series, want) in want {
        assert_eq!(value(&text, &series), Some(want), "{series} in\n{text}");
    }
}

/// Nobody scraped before the change: the time before it counts all the same.
#[test]
fn seconds_before_the_first_change_count_without_a_scrape() {
    let manual = Arc::new(ManualClock::default());
    let clock: Arc<dyn Clock> = manual.clone();
    let metrics = Arc::new(Metrics::new(clock.clone()));
    let panel = Panel::new(10, clock, Arc::new(Counting(metrics.clone())));
    let breaker = panel.configure(ID, Policy::registry());
    metrics.watch(&breaker.snapshot());
    manual.advance(Duration::from_secs(7));
    for _ in 0..5 {
        breaker.try_acquire().expect("closed").settle(fuseboard_breaker::Verdict::failure());
    }
    manual.advance(Duration::from_secs(3));
    let text = metrics.render(&panel, Process::default()).expect("text");
    for (state, want) in [("closed", 7.0), ("open", 3.0), ("half_open", 0.0)] {
        let series = format!(r#"fuseboard_breaker_state_seconds_total{{breaker="{ID}",state="{state}"}}"#);
        assert_eq!(value(&text, &series), Some(want), "{series} in\n{text}");
    }
}
