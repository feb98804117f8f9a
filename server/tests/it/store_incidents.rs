//! Incidents in the file: the same as what their rows say, whatever comes between.

use std::{collections::HashMap, sync::Arc, time::Duration};

use fuseboard::{
    history::{
        incidents::{self, IncidentQuery},
        lane::{self, Window},
    },
    stamp::{self, from_micros, micros},
};
use fuseboard_app::wire::time::Time;
use fuseboard_breaker::{Clock, ManualClock, Mode};
use rand::{RngExt, SeedableRng, rngs::StdRng};

use crate::support::store::{Chain, Record, at, check_incidents, connect, file, go_to, incidents_in, probe, seed};

const PLENTY: u64 = 64_000_000;

#[tokio::test]
async fn what_is_kept_as_it_happens_is_what_the_rows_say_afterwards() {
    let (_folder, path) = file();
    let mut dice = StdRng::seed_from_u64(seed());
    let clock = Arc::new(ManualClock::new(at(0)));
    let mut now = 0;
    for run in 0..4 {
        let record = Record::open(&path, clock.clone(), PLENTY).await;
        let mut chains: Vec<_> = (0..5).map(|n| Chain::restored(&format!("b{n}"), at(now), &record.restored)).collect();
        for _ in 0..120 {
            now += dice.random_range(1..400);
            go_to(&clock, at(now));
            let chain = &mut chains[dice.random_range(0..5)];
            let hour = Some(Duration::from_secs(3_600));
            let event = match dice.random_range(0..10) {
                0 => chain.reset(at(now), "again"),
                1 => chain.hold(Mode::ForcedOpen, hour, at(now), "hold"),
                2 => chain.hold(Mode::ForcedClosed, hour, at(now), "hold"),
                3 if chain.saved.held.is_some() => chain.expire(at(now)),
                4 | 5 => probe(&chain.id, at(now)),
                _ => chain.step(at(now)),
            };
            record.journal.push(event);
        }
        record.close().await;
        now += 10_000 * run;
        go_to(&clock, at(now));
    }
    let kept = incidents_in(&path).await;
    assert!(kept.len() > 10 && kept.iter().any(|one| one.course.ending.is_none()), "{} incidents", kept.len());
    assert!(kept.iter().any(|one| one.course.so_far.unknown > 0), "some outlasted a restart");
    check_incidents(&path).await;
}

#[tokio::test]
async fn r44_down_time_over_a_restart_leaves_out_what_nobody_watched() {
    let (_folder, path) = file();
    let clock = Arc::new(ManualClock::new(at(0)));
    let record = Record::open(&path, clock.clone(), PLENTY).await;
    let mut chain = Chain::new("a", at(0));
    record.journal.push(chain.step(at(1_000)));
    go_to(&clock, at(5_000));
    record.close().await;
    go_to(&clock, at(65_000));
    // A run that leaves no row of it.
    Record::open(&path, clock.clone(), PLENTY).await.close().await;
    go_to(&clock, at(70_000));
    let record = Record::open(&path, clock.clone(), PLENTY).await;
    let (lasting, _) = &record.restored.incidents[0];
    assert_eq!((lasting.course.so_far.down, lasting.course.so_far.unknown), (4_000_000, 65_000_000));
    let mut chain = Chain::restored("a", at(70_000), &record.restored);
    record.journal.push(chain.step(at(71_000)));
    record.journal.push(chain.step(at(72_500)));
    record.flush().await;
    let kept = incidents_in(&path).await;
    assert_eq!((kept[0].course.so_far.down, kept[0].course.so_far.unknown), (6_500_000, 65_000_000));
    record.close().await;
    assert_eq!(check_incidents(&path).await, 1);
}

#[tokio::test]
async fn r15_an_override_over_a_jump_of_the_wall_clock_is_as_long_as_it_was() {
    const HOUR: i64 = 3_600_000_000;
    for jump in [HOUR, -HOUR] {
        let (_folder, path) = file();
        let clock = Arc::new(ManualClock::new(at(7_200_000)));
        let record = Record::open(&path, clock.clone(), PLENTY).await;
        let mut chain = Chain::new("a", at(0));
        let (two, began) = (Duration::from_secs(2), micros(clock.wall()));
        record.journal.push(chain.hold(Mode::ForcedOpen, Some(2 * two), clock.wall(), "hold"));
        clock.advance(two);
        clock.set_wall(from_micros(began + 2_000_000 + jump));
        clock.advance(two);
        record.journal.push(chain.expire(clock.wall()));
        record.flush().await;
        let kept = incidents_in(&path).await.pop().expect("one");
        let (end, skipped) = (kept.course.ending.expect("it is over").at, jump.max(0));
        assert_eq!((kept.course.so_far.down, kept.course.so_far.unknown), (4_000_000, skipped), "{jump}");
        assert_eq!(end - kept.course.opening.at, if jump > 0 { 4_000_000 + HOUR } else { 0 }, "{jump}");
        // The lane knows no hour that never was, nor one that came twice.
        let (from, to) = (Time::from_micros(began - HOUR), Time::from_micros(began + 2 * HOUR));
        let window = Window { from, to, width: 1_000, now: stamp::time(clock.wall()), boot: record.run.boot };
        let lane = lane::lane(record.db.read(), "a", &window, &HashMap::new()).await.expect("drawn");
        let all = lane.availability.expect("it is worked out");
        assert_eq!(all.down_ms, if jump > 0 { 4_000 } else { 0 }, "{jump}: {all:?}");
        let length = lane.to.millis() - lane.from.millis();
        assert!(jump < 0 || all.unknown_ms as i64 == length - 4_000, "{all:?} of {length}");
        record.close().await;
    }
}

#[tokio::test]
async fn one_whose_end_was_given_up_ends_all_the_same() {
    let (_folder, path) = file();
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new(at(10_000)));
    let record = Record::open(&path, clock.clone(), PLENTY).await;
    let mut chain = Chain::new("a", at(0));
    record.journal.push(chain.step(at(1_000)));
    record.flush().await;
    record.close().await;
    // As if the two rows that closed it had been given up.
    let mut writer = connect(&path).await;
    sqlx::query("INSERT INTO gaps VALUES (2, 3, 1, ?1, ?1, 2, 0, 0)")
        .bind(fuseboard::stamp::micros(at(4_000)))
        .execute(&mut writer)
        .await
        .expect("a gap");
    sqlx::query("UPDATE breakers SET state = 'closed', changed_seq = 4, since = ?")
        .bind(fuseboard::stamp::micros(at(4_000)))
        .execute(&mut writer)
        .await
        .expect("an end");
    drop(writer);
    let record = Record::open(&path, clock, PLENTY).await;
    assert_eq!(record.restored.incidents, [], "none is left open");
    record.close().await;
    let ending = incidents_in(&path).await[0].course.ending.clone().expect("it is over");
    assert_eq!((ending.seq, ending.at, &ending.cause), (4, fuseboard::stamp::micros(at(4_000)), &None));
}

#[tokio::test]
async fn those_of_some_breakers_are_picked_out_of_all_in_order() {
    let (_folder, path) = file();
    let mut dice = StdRng::seed_from_u64(seed());
    let clock = Arc::new(ManualClock::new(at(0)));
    let record = Record::open(&path, clock.clone(), PLENTY).await;
    let mut chains: Vec<_> = (0..12).map(|n| Chain::new(&format!("b{n}"), at(0))).collect();
    let mut now = 0;
    for _ in 0..900 {
        // A day long now and then, and some hardly ever.
        now += if dice.random_ratio(1, 30) { 100_000_000 } else { dice.random_range(1..400_000) };
        go_to(&clock, at(now));
        let most = dice.random_range(1..=12);
        let chain = &mut chains[dice.random_range(0..most)];
        record.journal.push(chain.step(at(now)));
    }
    for n in 0..200 {
        record.journal.seen(&format!("quiet-{n}").into(), "quick");
    }
    record.flush().await;
    let mut reader = connect(&path).await;
    let mut page = async |query: IncidentQuery| {
        let limit = query.limit();
        let mut rows = incidents::page(&mut reader, &query).await.expect("they are read");
        rows.truncate(limit);
        rows
    };
    let whole = IncidentQuery { limit: Some(1_000), ..IncidentQuery::default() };
    let all = page(whole.clone()).await;
    assert!(all.len() > 250, "{} incidents", all.len());
    let quiet = || (0..200).map(|n| format!("quiet-{n}"));
    let some = |which: fn(usize) -> bool| (0..12).filter(move |n| which(*n)).map(|n| format!("b{n}"));
    let chosen: [Vec<String>; 5] = [
        quiet().collect(),
        some(|_| true).chain(quiet()).collect(),
        some(|n| n % 2 == 1).collect(),
        some(|n| n == 11).chain(quiet()).collect(),
        vec!["nobody".into()],
    ];
    let middle = &all[all.len() / 2].course.opening;
    let (seq, time) = (middle.seq, Time::from_micros(middle.at));
    for breakers in chosen {
        for open in [None, Some(true), Some(false)] {
            for (before, after) in [(None, None), (Some(seq), None), (None, Some(seq)), (None, Some(0))] {
                for (from, to) in [(None, None), (Some(time), None), (None, Some(time))] {
                    let limit = Some(dice.random_range(1..120));
                    let breakers = Some(breakers.clone());
                    let query =
                        IncidentQuery { breakers, open, before, after, from, to, limit, ..IncidentQuery::default() };
                    let mut want: Vec<_> = all.iter().filter(|one| query.takes(one)).cloned().collect();
                    want.retain(|one| {
                        let seq = one.course.opening.seq;
                        before.is_none_or(|before| seq < before) && after.is_none_or(|after| seq > after)
                    });
                    if after.is_some() {
                        want.reverse();
                    }
                    want.truncate(query.limit());
                    assert_eq!(page(query.clone()).await, want, "{query:?}");
                }
            }
        }
    }
    record.close().await;
}
