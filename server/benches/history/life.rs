//! What happens to the breakers in a year, in time's order: some fail daily, most now and then, each in its own way.

use rand::{RngExt, rngs::StdRng};

use super::{BREAKERS, DAY, SECOND, TRANSITIONS};

const MINUTE: i64 = 60 * SECOND;

/// What changes a breaker.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Step {
    Tripped,
    Probing,
    Failed,
    Closed,
    /// By an operator.
    Reset,
    ForcedOpen,
    ForcedClosed,
    Released,
    /// An override's end.
    Expired,
    Cooling,
    Cooled,
}

/// One change of one breaker.
#[derive(Clone, Copy)]
pub(super) struct Happening {
    pub(super) at: i64,
    pub(super) breaker: usize,
    pub(super) step: Step,
}

/// How long an override is set for.
pub(super) const HELD: i64 = 60 * MINUTE;
/// How long a host asks to be left alone.
pub(super) const COOLING: i64 = MINUTE;

/// The runs of a year: restarted every month, and once away for three hours.
pub(super) fn runs(start: i64, now: i64) -> Vec<(i64, i64)> {
    let mut runs = Vec::new();
    let mut from = start;
    for month in 1..12 {
        let until = start + month * 30 * DAY + 7 * 60 * MINUTE;
        runs.push((from, until));
        from = until + if month == 5 { 180 * MINUTE } else { 40 * SECOND };
    }
    runs.push((from, now));
    runs
}

/// Everything that happens. The first breakers fail often, the last hardly ever.
pub(super) fn all(dice: &mut StdRng, runs: &[(i64, i64)]) -> Vec<Happening> {
    let (start, now) = (runs[0].0, runs[runs.len() - 1].1);
    let weight = |breaker: usize| 1.0 / (breaker as f64 + 31.0);
    let whole: f64 = (0..BREAKERS).map(weight).sum();
    let mut all = Vec::with_capacity(TRANSITIONS + TRANSITIONS / 10);
    let mut episode = Vec::new();
    for breaker in 0..BREAKERS {
        let mut left = (TRANSITIONS as f64 * weight(breaker) / whole) as i64;
        // About nine rows an incident, spread over the year.
        let pause = (now - start) / (left / 9).max(1);
        let mut at = start + dice.random_range(0..pause.max(2));
        while at < now {
            episode.clear();
            let end = live(dice, pause, at, &mut episode);
            if let Some((_, until)) = runs.iter().find(|(_, until)| *until < now && at <= *until && end >= *until) {
                // Nobody watched: it happens after.
                at = until + 200 * MINUTE + dice.random_range(0..pause.max(2));
                continue;
            }
            left -= episode.len() as i64;
            all.extend(episode.iter().map(|&(at, step)| Happening { at, breaker, step }));
            if left < 0 {
                break;
            }
            at = end + dice.random_range(1..(2 * pause - (end - at)).max(2 * SECOND));
        }
    }
    // Steps of one breaker at one time stay in their order.
    all.sort_by_key(|one| one.at);
    all.truncate(all.partition_point(|one| one.at < now));
    all
}

/// One episode from `at` on; answers its end.
fn live(dice: &mut StdRng, pause: i64, at: i64, steps: &mut Vec<(i64, Step)>) -> i64 {
    let how = dice.random_range(0..2_000);
    match how {
        0 => {
            // Held for maintenance, for as long as it was meant to or until somebody releases it.
            steps.push((at, Step::ForcedOpen));
            let (end, step) = match dice.random_range(0..2) {
                0 => (at + HELD, Step::Expired),
                _ => (at + HELD / 3, Step::Released),
            };
            steps.push((end, step));
            end
        }
        1..4 => {
            steps.extend([(at, Step::Cooling), (at + COOLING, Step::Cooled)]);
            at + COOLING
        }
        _ => fail(dice, pause, at, how, steps),
    }
}

fn fail(dice: &mut StdRng, pause: i64, at: i64, how: i32, steps: &mut Vec<(i64, Step)>) -> i64 {
    steps.push((at, Step::Tripped));
    let forced = how == 4;
    if forced {
        steps.push((at + 10 * SECOND, Step::ForcedClosed));
    }
    let mut wait = 30 * SECOND;
    let mut end = at;
    loop {
        end += wait - wait / 10 * dice.random_range(0..10) / 10;
        if (5..9).contains(&how) && wait > 30 * SECOND {
            steps.push((end, Step::Reset));
            return end;
        }
        steps.push((end, Step::Probing));
        end += dice.random_range(20_000..900_000);
        if dice.random_range(0..4) == 0 || wait > (pause / 8).max(MINUTE) {
            break;
        }
        steps.push((end, Step::Failed));
        wait = (wait * 2).min(5 * MINUTE);
    }
    steps.push((end, Step::Closed));
    if forced {
        end += 2 * MINUTE;
        steps.push((end, Step::Released));
    }
    end
}
