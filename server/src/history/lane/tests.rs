use rand::{RngExt, SeedableRng, rngs::StdRng};

use super::{draw::Strip, *};

const FROM: i64 = 1_000_000_000;

fn at(millis: i64) -> i64 {
    FROM + millis * 1_000
}

fn change(seq: u64, millis: i64, from: State, to: State, held: Option<Mode>) -> Change {
    Change { seq, at: at(millis), from, to, held }
}

fn draw(length: i64, first_at: Option<i64>, changes: &[Change], watched: &[(i64, i64)], width: u32) -> Lane {
    draw_with_losses(length, first_at, changes, watched, &[], width)
}

fn draw_with_losses(
    length: i64,
    first_at: Option<i64>,
    changes: &[Change],
    watched: &[(i64, i64)],
    lost: &[(i64, i64)],
    width: u32,
) -> Lane {
    let (from, to) = (Time::from_micros(FROM), Time::from_micros(at(length)));
    let strip = Strip::new((FROM, at(length)), first_at, changes, watched, lost);
    strip.lane("a", from, to, draw::step(from, to, width), &[])
}

/// Start, state, override, share down.
fn table(lane: &Lane) -> Vec<(u64, char, char, f64)> {
    (0..lane.at.len()).map(|i| (lane.at[i], lane.state[i], lane.held[i], lane.down[i])).collect()
}

const ALWAYS: [(i64, i64); 1] = [(i64::MIN / 2, i64::MAX / 2)];
use State::{Closed, HalfOpen, Open};

#[test]
fn r44_spans_are_exact_to_the_millisecond() {
    let changes = [
        change(1, -500, Closed, Open, None),
        change(2, 1, Open, HalfOpen, None),
        change(3, 2, HalfOpen, Closed, None),
        change(4, 5_000, Closed, Closed, Some(Mode::ForcedOpen)),
        change(6, 5_999, Closed, Closed, None),
        change(7, 7_000, Closed, Open, Some(Mode::ForcedClosed)),
    ];
    let lane = draw(10_000, Some(at(-900)), &changes, &ALWAYS, 100);
    assert_eq!(
        table(&lane),
        [
            (0, 'o', '-', 1.0),
            (1, 'h', '-', 1.0),
            (2, 'c', '-', 0.0),
            (5_000, 'c', 'o', 1.0),
            (5_999, 'c', '-', 0.0),
            (7_000, 'o', 'c', 0.0),
        ]
    );
}

#[test]
fn r44_time_before_the_first_row_is_unknown() {
    assert_eq!(table(&draw(1_000, Some(at(400)), &[], &ALWAYS, 10)), [(0, 'u', '-', 0.0), (400, 'c', '-', 0.0)]);
    assert_eq!(table(&draw(1_000, None, &[], &ALWAYS, 10)), [(0, 'u', '-', 0.0)]);
    assert_eq!(table(&draw(1_000, Some(at(1_000)), &[], &ALWAYS, 10)), [(0, 'u', '-', 0.0)]);
}

#[test]
fn r44_time_between_runs_is_unknown_and_the_state_goes_on_after_it() {
    let changes = [change(1, 100, Closed, Open, None), change(2, 450, Open, Closed, None)];
    let watched = [(at(-50), at(200)), (at(300), at(400)), (at(500), at(900))];
    let lane = draw(1_000, Some(at(-50)), &changes, &watched, 100);
    assert_eq!(
        table(&lane),
        [
            (0, 'c', '-', 0.0),
            (100, 'o', '-', 1.0),
            (200, 'u', '-', 0.0),
            (300, 'o', '-', 1.0),
            (400, 'u', '-', 0.0),
            (500, 'c', '-', 0.0),
            (900, 'u', '-', 0.0),
        ]
    );
}

#[test]
fn r40_what_was_given_up_is_unknown_until_the_next_row_of_a_broken_chain() {
    let changes = [change(1, 100, Closed, Open, None), change(9, 700, HalfOpen, Closed, None)];
    let lane = draw_with_losses(1_000, Some(at(0)), &changes, &ALWAYS, &[(at(300), at(400))], 100);
    let expected = [(0, 'c', '-', 0.0), (100, 'o', '-', 1.0), (300, 'u', '-', 0.0), (700, 'c', '-', 0.0)];
    assert_eq!(table(&lane), expected);
    // Another breaker's loss hides this one only while it lasted.
    let whole = [change(1, 100, Closed, Open, None), change(9, 700, Open, Closed, None)];
    let lane = draw_with_losses(1_000, Some(at(0)), &whole, &ALWAYS, &[(at(300), at(400))], 100);
    assert_eq!(table(&lane)[2..4], [(300, 'u', '-', 0.0), (400, 'o', '-', 1.0)]);
}

#[test]
fn r15_a_wall_clock_set_back_keeps_the_order_of_the_numbers() {
    let changes = [change(1, 500, Closed, Open, None), change(2, 300, Open, Closed, None)];
    assert_eq!(table(&draw(1_000, Some(at(0)), &changes, &ALWAYS, 100)), [(0, 'c', '-', 0.0)]);
}

#[test]
fn short_outages_in_a_long_range_stay_as_their_share() {
    // Every second 100 ms down, for 1,000 s, on 100 pixels of 10 s.
    let mut changes = Vec::new();
    for second in 0..1_000 {
        changes.push(change(2 * second + 1, second as i64 * 1_000 + 450, Closed, Open, None));
        changes.push(change(2 * second + 2, second as i64 * 1_000 + 550, Open, Closed, None));
    }
    let lane = draw(1_000_000, Some(at(0)), &changes, &ALWAYS, 100);
    assert!(lane.at.len() <= 200, "{} spans", lane.at.len());
    assert!(lane.state.iter().all(|state| *state == 'o'));
    assert!(lane.down.iter().all(|share| (0.09..=0.11).contains(share)), "{:?}", lane.down);
}

/// What is drawn of a stretch must neither hide an outage behind an override nor make an override of the rest.
#[test]
fn a_merged_span_shows_the_worst_of_its_time_with_or_without_an_override() {
    let (open, closed) = (Some(Mode::ForcedOpen), Some(Mode::ForcedClosed));
    let of = |stretches: &[(State, Option<Mode>)]| {
        let nth = |nth: usize, (to, held)| change(nth as u64 + 1, nth as i64 * 100, Closed, to, held);
        let changes: Vec<_> = stretches.iter().enumerate().map(|(at, stretch)| nth(at, *stretch)).collect();
        let lane = draw(stretches.len() as i64 * 100, Some(at(-1)), &changes, &ALWAYS, 1);
        table(&lane)
            .into_iter()
            .map(|(_, state, held, down)| (state, held, (down * 10.0).round() / 10.0))
            .collect::<Vec<_>>()
    };
    assert_eq!(of(&[(Closed, None), (Closed, closed), (Open, None), (Closed, None)]), [('o', '-', 0.3)]);
    assert_eq!(of(&[(Closed, None), (Open, closed), (HalfOpen, None), (Closed, None)]), [('h', '-', 0.3)]);
    assert_eq!(of(&[(Closed, None), (Closed, open), (Closed, closed), (HalfOpen, None)]), [('h', 'o', 0.5)]);
    assert_eq!(of(&[(Closed, open), (Open, None), (Closed, None)]), [('o', '-', 0.7)]);
    assert_eq!(of(&[(Closed, None), (Open, closed), (Closed, None)]), [('o', 'c', 0.0)]);
}

#[test]
fn long_spans_stay_exact_beside_merged_ones() {
    let mut changes = vec![change(1, 10_007, Closed, Open, None), change(2, 60_013, Open, Closed, None)];
    for step in 0..300 {
        let (from, to) = if step % 2 == 0 { (Closed, Open) } else { (Open, Closed) };
        changes.push(change(3 + step, 80_000 + step as i64 * 10, from, to, None));
    }
    let lane = draw(100_000, Some(at(0)), &changes, &ALWAYS, 100);
    let expected = [(0, 'c', '-', 0.0), (10_007, 'o', '-', 1.0), (60_013, 'c', '-', 0.0)];
    assert_eq!(table(&lane)[..3], expected);
    assert_eq!(lane.at[3..], [80_000, 81_000, 82_000, 82_990], "three pixels of flapping, then closed");
    assert_eq!(lane.down[3..], [0.5, 0.5, 500.0 / 990.0, 0.0]);
}

/// Whatever happened, a lane has at most two spans a pixel, begins at 0, ascends, and adds up to the same time down.
#[test]
fn merging_keeps_the_bound_and_the_time_down() {
    for seed in 0..200 {
        let mut random = StdRng::seed_from_u64(seed);
        let length = random.random_range(1..200_000);
        let width = random.random_range(1..80);
        let mut state = Closed;
        let mut changes = Vec::new();
        for seq in 1..=random.random_range(0..600) {
            let to = [Closed, Open, HalfOpen][random.random_range(0..3)];
            changes.push(change(seq, random.random_range(0..length), state, to, None));
            state = to;
        }
        let mut times: Vec<i64> = changes.iter().map(|change| change.at).collect();
        times.sort_unstable();
        changes.iter_mut().zip(times).for_each(|(change, at)| change.at = at);

        let exact = draw(length, Some(at(-1)), &changes, &ALWAYS, 1_000_000);
        let merged = draw(length, Some(at(-1)), &changes, &ALWAYS, width);
        assert!(merged.at.len() <= 2 * width as usize, "seed {seed}: {} spans on {width} px", merged.at.len());
        assert_eq!(merged.at[0], 0, "seed {seed}");
        assert!(merged.at.is_sorted_by(|a, b| a < b), "seed {seed}");
        let down = |lane: &Lane| {
            let ends = lane.at[1..].iter().copied().chain([length as u64]);
            lane.at.iter().zip(ends).zip(&lane.down).map(|((at, end), share)| (end - at) as f64 * share).sum::<f64>()
        };
        assert!((down(&exact) - down(&merged)).abs() < 0.01, "seed {seed}: {} and {}", down(&exact), down(&merged));
    }
}
