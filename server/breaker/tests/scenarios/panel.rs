//! Rule 38: the panel is bounded, and what must stay stays.

use std::sync::Arc;

use fuseboard_breaker::{Breaker, ManualClock, Mode, OverrideEnd, Panel, PanelFull, State, Verdict};

use crate::harness::{Log, ana, policy, registry, secs};

struct Board {
    panel: Panel,
    clock: Arc<ManualClock>,
    log: Arc<Log>,
}

impl Board {
    fn new(max: usize) -> Self {
        let (clock, log) = (Arc::new(ManualClock::default()), Arc::new(Log::default()));
        Self { panel: Panel::new(max, clock.clone(), log.clone()), clock, log }
    }

    fn make(&self, id: &str) -> Result<Breaker, PanelFull> {
        self.panel.get_or_create(id, &policy(registry()))
    }

    #[track_caller]
    fn add(&self, id: &str) -> Breaker {
        self.make(id).expect("room for it")
    }

    /// Which of these are still there.
    fn left<'a>(&self, ids: &[&'a str]) -> Vec<&'a str> {
        ids.iter().copied().filter(|id| self.panel.get(id).is_some()).collect()
    }
}

fn fail(breaker: &Breaker, times: u32) {
    for _ in 0..times {
        breaker.try_acquire().expect("closed").settle(Verdict::failure());
    }
}

#[test]
fn r38_ten_thousand_and_one_origins_keep_the_overridden_one() {
    let board = Board::new(10_000);
    let id = |n: u32| format!("https:host-{n}.example");
    let held = board.add(&id(0));
    held.set_override(Mode::ForcedOpen, OverrideEnd::Never, ana(), "CDN move");
    for n in 1..10_001 {
        board.add(&id(n));
    }
    assert_eq!(board.panel.len(), 10_000);
    let kept = board.panel.get(&id(0)).expect("an override is never forgotten");
    assert_eq!(kept.snapshot().held.map(|held| held.mode), Some(Mode::ForcedOpen));
    assert!(kept.try_acquire().is_err());
    assert!(board.panel.get(&id(10_000)).is_some(), "the newcomer is in");
    let gone = (0..10_001).filter(|n| board.panel.get(&id(*n)).is_none()).count();
    assert_eq!(gone, 1);
}

#[test]
fn r38_one_below_the_bound_nothing_goes() {
    let board = Board::new(3);
    for id in ["a", "b", "c"] {
        board.add(id);
        board.add(id);
    }
    assert_eq!((board.panel.len(), board.left(&["a", "b", "c"])), (3, vec!["a", "b", "c"]));
    board.add("d");
    assert_eq!((board.panel.len(), board.left(&["a", "b", "c", "d"]).len()), (3, 3));
    assert!(board.panel.get("d").is_some());
}

#[test]
fn r38_closed_idle_ones_go_first_then_those_with_memory() {
    let board = Board::new(2);
    fail(&board.add("memory"), 1);
    board.add("idle");
    board.add("new");
    assert_eq!(board.left(&["memory", "idle", "new"]), ["memory", "new"]);

    // An idle one goes before an open one, a closed one with memory too.
    let board = Board::new(2);
    fail(&board.add("open"), 5);
    fail(&board.add("memory"), 1);
    board.add("new");
    assert_eq!(board.left(&["open", "memory", "new"]), ["open", "new"]);
    assert!(board.log.transitions().iter().all(|row| row.cause.as_str() != "evicted"));
}

#[test]
fn r38_of_open_ones_the_earliest_next_probe_goes_with_a_row() {
    let board = Board::new(2);
    fail(&board.add("later"), 5);
    // Its second wait: next probe at 60 s from here on.
    board.clock.advance(secs(30));
    let later = board.add("later");
    later.try_acquire().expect("due").settle(Verdict::failure());
    fail(&board.add("sooner"), 5);
    assert_eq!(board.add("sooner").snapshot().next_probe_in, Some(secs(30)));
    board.add("new");
    assert_eq!(board.left(&["later", "sooner", "new"]), ["later", "new"]);
    let row = board.log.transitions().pop().expect("a row");
    assert_eq!((row.cause.as_str(), &*row.breaker), ("evicted", "sooner"));
    assert_eq!((row.from, row.to), (State::Open, State::Closed));
}

#[test]
fn r38_never_overridden_half_open_in_flight_or_configured_ones() {
    let board = Board::new(3);
    board.add("held").set_override(Mode::ForcedClosed, OverrideEnd::Never, ana(), "CDN move");
    let probing = board.add("half-open");
    fail(&probing, 5);
    board.clock.advance(secs(30));
    drop(probing.try_acquire().expect("due"));
    assert_eq!((probing.snapshot().state, probing.snapshot().in_flight), (State::HalfOpen, 0));
    let busy = board.add("in flight");
    let call = busy.try_acquire().expect("closed");
    board.panel.configure("configured", policy(registry()));
    let ids = ["held", "half-open", "in flight", "configured"];
    let refused = board.make("new").expect_err("none may go");
    assert_eq!(refused.max, 3);
    assert!(refused.to_string().contains('3'), "{refused}");
    assert_eq!((board.left(&ids), board.panel.get("new").is_none()), (ids.to_vec(), true));
    assert!(board.make("held").is_ok(), "those that are there are still found");

    call.settle(Verdict::success());
    board.add("new");
    assert_eq!(board.left(&ids), ["held", "half-open", "configured"]);
}

#[test]
fn r38_a_configured_one_that_was_only_met_before_stays_from_then_on() {
    let board = Board::new(1);
    board.add("a");
    board.panel.configure("a", policy(registry()));
    board.panel.configure("b", policy(registry()));
    for n in 0..10 {
        let _ = board.make(&format!("x{n}"));
    }
    assert_eq!(board.left(&["a", "b"]), ["a", "b"]);
}

#[test]
fn r38_asking_makes_none() {
    let board = Board::new(10);
    assert!(board.panel.get("https:nobody.example").is_none());
    assert!(board.panel.is_empty() && board.panel.breakers().is_empty());
}

#[test]
fn r38_one_id_is_one_breaker() {
    let board = Board::new(10);
    let (first, again) = (board.add("a"), board.add("a"));
    fail(&first, 5);
    assert_eq!(again.snapshot().state, State::Open);
    assert_eq!(board.panel.breakers().len(), 1);
}

#[test]
fn r38_the_bound_and_the_identity_hold_under_threads() {
    for _ in 0..50 {
        let board = Board::new(16);
        let together = std::sync::Barrier::new(8);
        std::thread::scope(|scope| {
            for thread in 0..8_u32 {
                let (board, together) = (&board, &together);
                scope.spawn(move || {
                    together.wait();
                    for n in 0..20 {
                        fail(&board.add(&format!("own-{thread}-{n}")), 1);
                    }
                });
            }
        });
        assert_eq!((board.panel.len(), board.panel.breakers().len()), (16, 16));

        let board = Board::new(16);
        std::thread::scope(|scope| {
            for _ in 0..5 {
                scope.spawn(|| {
                    together.wait();
                    fail(&board.add("shared"), 1);
                });
            }
            for _ in 0..3 {
                scope.spawn(|| together.wait());
            }
        });
        assert_eq!(board.add("shared").snapshot().state, State::Open, "five failures of one breaker");
    }
}

#[test]
fn r38_restored_ones_are_there_and_go_like_others() {
    let board = Board::new(1);
    let source = board.add("https:registry.example");
    fail(&source, 5);
    let saved = board.log.transitions().pop().expect("a row").after;
    let again = Board::new(1);
    let restored = again.panel.restore("https:registry.example", policy(registry()), saved.clone(), false);
    assert_eq!(restored.snapshot().state, State::Open);
    assert_eq!(again.panel.get("https:registry.example").map(|found| found.snapshot().opens), Some(1));
    again.add("new");
    assert_eq!(again.left(&["https:registry.example", "new"]), ["new"]);

    let kept = Board::new(1);
    kept.panel.restore("own", policy(registry()), saved, true);
    for n in 0..5 {
        let _ = kept.make(&format!("x{n}"));
    }
    assert_eq!(kept.left(&["own"]), ["own"]);
}
