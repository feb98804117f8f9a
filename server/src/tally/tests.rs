use std::sync::Arc;

use super::{Tallies, top::Top};

fn id() -> Arc<str> {
    "https:a.example".into()
}

#[test]
fn failures_are_the_breakers_own_since_those_that_tripped_it() {
    let (tallies, id) = (Tallies::default(), id());
    // Twelve failed in its life, five of them opened it.
    tallies.begin(&id, 7, 5, 12);
    assert_eq!(tallies.of(&id, 7).map(|tally| tally.failed), Some(5));
    tallies.failures(&id, 15);
    assert_eq!(tallies.of(&id, 7).map(|tally| tally.failed), Some(8));
    tallies.end(&id);
    tallies.failures(&id, 40);
    assert_eq!(tallies.of(&id, 7).map(|tally| tally.failed), Some(8), "over is over");
}

#[test]
fn a_refusal_told_late_or_early_is_the_nearest_incidents() {
    let (tallies, id) = (Tallies::default(), id());
    tallies.refuse(&id, "/early", None);
    tallies.begin(&id, 3, 5, 5);
    tallies.refuse(&id, "/a", Some("npm/10"));
    tallies.end(&id);
    tallies.refuse(&id, "/late", Some("npm/10"));
    tallies.begin(&id, 9, 5, 10);
    tallies.refuse(&id, "/b", None);
    let (first, second) = (tallies.of(&id, 3).expect("it is not written"), tallies.of(&id, 9).expect("it lasts"));
    assert_eq!((first.refused, second.refused), (3, 1));
    assert_eq!(first.agents.most(20), [("npm/10", 2)]);
    assert_eq!(second.paths.most(20), [("/b", 1)]);
}

#[test]
fn what_is_written_is_whole_and_an_ended_one_goes_with_it() {
    let (tallies, id) = (Tallies::default(), id());
    tallies.begin(&id, 3, 5, 5);
    tallies.refuse(&id, "/a", None);
    assert_eq!(tallies.take_dirty(2), [], "its row is not in this commit");
    let taken = tallies.take_dirty(3);
    assert_eq!(taken.iter().map(|row| (row.incident, row.tally.refused)).collect::<Vec<_>>(), [(3, 1)]);
    assert_eq!(tallies.take_dirty(3), [], "nothing changed");
    tallies.refuse(&id, "/a", None);
    tallies.end(&id);
    let taken = tallies.take_dirty(3);
    assert_eq!((taken.len(), taken[0].tally.refused), (1, 2), "all of it, not a difference");
    assert_eq!(tallies.of(&id, 3), None);
}

#[test]
fn a_restart_goes_on_where_the_store_stands() {
    let (tallies, id) = (Tallies::default(), id());
    let mut before = super::Tally { failed: 6, refused: 40, ..super::Tally::default() };
    (0..40).for_each(|_| before.paths.add("/a"));
    tallies.resume(&id, 3, before);
    assert_eq!(tallies.take_dirty(100), [], "it is in the store already");
    tallies.failures(&id, 2);
    tallies.refuse(&id, "/a", None);
    let after = tallies.of(&id, 3).expect("it lasts");
    assert_eq!((after.failed, after.refused), (8, 41));
    assert_eq!(after.paths.most(1), [("/a", 41)]);
}

#[test]
fn the_commonest_stay_however_many_there_are() {
    let mut top = Top::new(8);
    for round in 0..1_000 {
        top.add("/common");
        top.add(&format!("/rare/{round}"));
        if round % 2 == 0 {
            top.add("/often");
        }
    }
    assert_eq!(top.most(2).iter().map(|(text, _)| *text).collect::<Vec<_>>(), ["/common", "/often"]);
    assert!(top.most(2)[0].1 >= 1_000);
    assert_eq!(top.most(100).len(), 8);
    let again = Top::new(8).with_json(&top.to_json());
    assert_eq!(again.most(8), top.most(8));
    let mut long = Top::new(2);
    long.add(&"ä".repeat(4_000));
    assert!(long.most(1)[0].0.len() <= 200);
}
