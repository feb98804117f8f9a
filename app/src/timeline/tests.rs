use super::{strip::MANY, *};
use crate::{
    format::Zone,
    sample,
    wire::{breaker::State, timeline::Calls},
};

const HOUR: i64 = 3_600_000;

fn hour(to_ms: i64) -> Axis {
    Axis::last(HOUR, to_ms, 720.0)
}

fn drawn(strip: &Strip, axis: Axis) -> Vec<(f64, f64, Kind)> {
    strip.bands(axis).into_iter().map(|band| (band.x, band.width, band.kind)).collect()
}

#[test]
fn spans_become_bands_to_the_millisecond() {
    // 12 min closed, 30 min open, 3 min half-open, 15 min closed; 720 px for an hour are 12 px a minute.
    let lane = sample::lane("a", 0, HOUR, &[(0, 'c'), (720_000, 'o'), (2_520_000, 'h'), (2_700_000, 'c')]);
    assert_eq!(
        drawn(&Strip::from_lane(&lane), hour(HOUR)),
        [
            (0.0, 144.0, Kind::Closed),
            (540.0, 180.0, Kind::Closed),
            (504.0, 36.0, Kind::HalfOpen),
            (144.0, 360.0, Kind::Open)
        ]
    );
    assert_eq!(Strip::from_lane(&lane).spoken(hour(HOUR)), "open 30 min, half-open 3 min, closed 27 min");
}

#[test]
fn a_short_outage_stays_a_pixel_wide_and_inside_the_axis() {
    let lane = sample::lane("a", 0, HOUR, &[(0, 'c'), (3_599_990, 'o')]);
    let bands = Strip::from_lane(&lane).bands(hour(HOUR));
    assert_eq!((bands[1].x, bands[1].width), (719.0, 1.0));
    assert_eq!((bands[1].from_ms, bands[1].to_ms), (3_599_990, HOUR));
}

#[test]
fn a_merged_span_shows_its_share() {
    let mut lane = sample::lane("a", 0, HOUR, &[(0, 'o')]);
    lane.down = vec![0.02];
    assert_eq!(Strip::from_lane(&lane).bands(hour(HOUR))[0].share, 0.02);
    assert_eq!(Strip::from_lane(&lane).spoken(hour(HOUR)), "open 1 min 12 s, closed 58 min 48 s");
    for (state, held, down, height) in
        [('o', '-', 0.4, 40.0), ('h', '-', 0.4, 20.0), ('c', 'o', 0.4, 40.0), ('c', 'o', 0.001, 15.0)]
    {
        (lane.state, lane.held, lane.down) = (vec![state], vec![held], vec![down]);
        let drawn = Strip::from_lane(&lane).bands(hour(HOUR))[0].drawn();
        assert_eq!((drawn.y, drawn.height), (100.0 - height, height), "{state}{held}");
    }
}

#[test]
fn an_override_decides_what_is_drawn_and_unwatched_time_is_its_own_kind() {
    let mut lane = sample::lane("a", 0, HOUR, &[(0, 'u'), (10, 'c'), (20, 'o'), (30, 'o')]);
    lane.held = vec!['-', 'o', 'c', '-'];
    let kinds: Vec<_> = Strip::from_lane(&lane).spans.iter().map(|span| span.kind).collect();
    assert_eq!(kinds, [Kind::Unknown, Kind::ForcedOpen, Kind::ForcedClosed, Kind::Open]);
}

#[test]
fn a_strip_grows_at_its_right_end() {
    let mut strip = Strip::from_lane(&sample::lane("a", 0, HOUR, &[(0, 'c')]));
    strip.push(11, HOUR + 1_000, State::Open, None);
    strip.push(11, HOUR + 1_000, State::Open, None);
    strip.push(12, HOUR + 31_000, State::HalfOpen, None);
    strip.push(13, HOUR + 61_000, State::Closed, None);
    let kinds: Vec<_> = strip.spans.iter().map(|span| (span.from_ms - HOUR, span.kind)).collect();
    assert_eq!(kinds, [(-HOUR, Kind::Closed), (1_000, Kind::Open), (31_000, Kind::HalfOpen), (61_000, Kind::Closed)]);
    // The axis has moved on by a minute and a second; the right end is what stands now.
    let bands = drawn(&strip, hour(HOUR + 121_000));
    assert_eq!(bands.len(), 4);
    assert_eq!(bands[1], (708.0, 12.0, Kind::Closed));
}

#[test]
fn a_cool_down_is_drawn_where_it_was_closed_until_its_end_or_until_it_is_ended() {
    let mut lane = sample::lane("a", 0, HOUR, &[(0, 'c'), (1_200_000, 'o'), (1_800_000, 'c')]);
    // Over the trip, and one that goes on when the lane is read.
    lane.cooldowns = vec![(600_000, 1_500_000), (3_540_000, 3_720_000)];
    let mut strip = Strip::from_lane(&lane);
    assert_eq!(strip.spoken(hour(HOUR)), "open 10 min, cooling down 11 min, closed 39 min");
    let cooling = |strip: &Strip, to_ms: i64| -> Vec<(i64, i64)> {
        let bands = strip.bands(hour(to_ms)).into_iter().filter(|band| band.kind == Kind::CoolingDown);
        bands.map(|band| (band.from_ms, band.to_ms)).collect()
    };
    let later = HOUR + 600_000;
    assert_eq!(cooling(&strip, later), [(600_000, 1_200_000), (3_540_000, 3_720_000)]);
    let mut changes: Vec<(u64, i64, Option<i64>)> = vec![
        (11, HOUR + 200_000, Some(HOUR + 500_000)),
        (12, HOUR + 240_000, Some(HOUR + 900_000)),
        (13, HOUR + 300_000, None),
    ];
    for _ in 0..2 {
        for (seq, at_ms, until_ms) in &changes {
            strip.push(*seq, *at_ms, State::Closed, None);
            strip.cool(*seq, *at_ms, *until_ms);
        }
        assert_eq!(cooling(&strip, later)[2..], [(HOUR + 200_000, HOUR + 300_000)], "to where it was ended");
        changes.reverse();
        strip = Strip::from_lane(&lane);
    }
    strip.trim(3_600_000, HOUR);
    assert_eq!(strip.cooldowns.len(), 1, "what is over is forgotten");
}

#[test]
fn trimming_keeps_the_span_in_force() {
    let mut strip = Strip::from_lane(&sample::lane("a", 0, HOUR, &[(0, 'c'), (1_000, 'o'), (2_000, 'c')]));
    let before = strip.bands(Axis { from_ms: 1_500, to_ms: HOUR, width: 100.0 });
    strip.trim(1_500, HOUR);
    assert_eq!(strip.spans.len(), 2);
    assert_eq!(strip.bands(Axis { from_ms: 1_500, to_ms: HOUR, width: 100.0 }), before);
}

#[test]
fn changes_in_any_order_draw_the_same_also_where_the_clock_went_back() {
    // The third was stamped before the second: what the second said is overwritten.
    let changes = [
        (11, HOUR + 10_000, State::Open),
        (12, HOUR + 30_000, State::HalfOpen),
        (13, HOUR + 20_000, State::Open),
        (14, HOUR + 20_000, State::HalfOpen),
        (15, HOUR + 40_000, State::Closed),
    ];
    let of = |order: &[usize]| {
        let mut strip = Strip::from_lane(&sample::lane("a", 0, HOUR, &[(0, 'c'), (2_000, 'o'), (3_000, 'c')]));
        for (seq, at_ms, state) in order.iter().map(|nth| changes[*nth]) {
            strip.push(seq, at_ms, state, None);
        }
        strip
    };
    let in_order = of(&[0, 1, 2, 3, 4]);
    assert_eq!(in_order.spoken(hour(HOUR + 50_000)), "open 10 s, half-open 20 s, closed 59 min 30 s");
    for order in [[4, 3, 2, 1, 0], [2, 0, 4, 1, 3], [1, 3, 0, 2, 4]] {
        assert_eq!(of(&order), in_order, "{order:?}");
    }
    assert_eq!(of(&[3, 1, 1, 0, 4, 2, 0, 4]), in_order, "more than once");
}

#[test]
fn no_pixel_has_more_than_two_bands_and_a_merged_one_shows_the_share_that_was_down() {
    let mut strip = Strip::from_lane(&sample::lane("a", 0, HOUR, &[(0, 'c')]));
    // Ten changes a second for ten minutes, a quarter of each down.
    for nth in 0..3_000_u64 {
        strip.push(2 * nth + 1, HOUR / 2 + nth as i64 * 200, State::Open, None);
        strip.push(2 * nth + 2, HOUR / 2 + nth as i64 * 200 + 50, State::Closed, None);
    }
    let bands = strip.bands(hour(HOUR));
    let mut starts = std::collections::BTreeMap::new();
    bands.iter().for_each(|band| *starts.entry(band.x as i64).or_insert(0) += 1);
    assert!(starts.values().all(|many| *many <= 2), "{starts:?}");
    let down: f64 = bands.iter().filter(|band| band.kind == Kind::Open).map(|band| band.width * band.share).sum();
    // Ten minutes are 120 pixels.
    assert!((down - 30.0).abs() < 0.5, "{down}");
}

#[test]
fn a_strip_stays_small_however_much_happens() {
    let mut strip = Strip::from_lane(&sample::lane("a", 0, HOUR, &[(0, 'c')]));
    let drawn = |strip: &Strip, at_ms: i64| -> f64 {
        let bands = strip.bands(hour(at_ms));
        bands.iter().filter(|band| band.kind == Kind::Open).map(|band| band.width * band.share).sum()
    };
    let mut longest = 0;
    for second in 0..8 * 3_600_i64 {
        let at_ms = HOUR + second * 1_000;
        for nth in 0..5_i64 {
            let state = if nth % 2 == 0 { State::Open } else { State::Closed };
            strip.push((second * 5 + nth + 1) as u64, at_ms + nth * 200, state, None);
        }
        strip.trim(at_ms - HOUR, HOUR);
        longest = longest.max(strip.spans.len());
    }
    assert!(longest <= MANY + 5, "{longest} spans");
    // Down for three fifths of the last hour, as it was.
    let down = drawn(&strip, 9 * HOUR);
    assert!((down - 432.0).abs() < 2.0, "{down}");
    strip.push(1_000_000, 9 * HOUR, State::HalfOpen, None);
    assert_eq!(strip.bands(hour(9 * HOUR + 5_000)).iter().filter(|band| band.kind == Kind::HalfOpen).count(), 1);
}

#[test]
fn an_empty_lane_draws_nothing_and_says_so() {
    assert_eq!(Strip::default().bands(hour(HOUR)), []);
    assert_eq!(Strip::default().spoken(hour(HOUR)), "nothing recorded");
}

#[test]
fn ticks_are_round_times() {
    // An hour that ends at 01:12.
    let ticks = hour(72 * 60_000).ticks(Zone::Utc);
    assert_eq!(ticks.iter().map(|tick| tick.at_ms / 60_000).collect::<Vec<_>>(), [15, 30, 45, 60]);
    assert_eq!(
        ticks.into_iter().map(|tick| (tick.x, tick.label)).collect::<Vec<_>>(),
        [(36.0, "00:15".into()), (216.0, "00:30".into()), (396.0, "00:45".into()), (576.0, "01:00".into())]
    );
    for range in [15, 60, 360, 1_440, 10_080, 43_200, 525_600] {
        let ticks = Axis::last(range * 60_000, 1_796_001_127_000, 720.0).ticks(Zone::Utc);
        assert!((3..=7).contains(&ticks.len()), "{range} min: {ticks:?}");
    }
}

#[test]
fn bars_stack_and_nothing_that_happened_is_invisible() {
    let calls = Calls {
        step_ms: 60_000,
        at: vec![0, 60_000, 120_000],
        ok: vec![1_000, 0, 0],
        failed: vec![0, 0, 1],
        refused: vec![0, 0, 499],
        p50_ms: vec![None; 3],
        p95_ms: vec![None; 3],
    };
    let (bars, top) = bars(&calls, 0, hour(HOUR), 40.0);
    assert_eq!(top, 1_000);
    assert_eq!(bars.len(), 2, "a step without calls has no bar");
    assert_eq!((bars[0].x, bars[0].width, bars[0].ok), (0.0, 12.0, 40.0));
    assert_eq!((bars[1].failed, bars[1].refused), (1.0, 19.96));
}
