//! The breaker's part of rule 24: a host that asks for quiet gets it, and stays closed.

use fuseboard_breaker::{Cause, RefusedReason, State, Verdict};

use crate::harness::{NANO, Rig, registry, retry_after, secs};

fn too_many(wait: u64) -> Verdict {
    Verdict { cooldown: true, retry_after: retry_after(secs(wait)), ..Verdict::alive() }
}

#[test]
fn r24_calls_are_refused_while_it_cools_down() {
    let rig = Rig::new(registry());
    let generation = rig.snap().generation;
    rig.call(too_many(20));
    let snap = rig.snap();
    assert_eq!((snap.state, snap.cooldown_until), (State::Closed, Some(rig.wall() + secs(20))));
    rig.advance(secs(20) - NANO);
    let refused = rig.refused();
    assert_eq!((refused.reason, refused.retry_after), (RefusedReason::CoolingDown, Some(NANO)));
    assert_eq!(refused.state, State::Closed);
    rig.advance(NANO);
    rig.ok();
    assert_eq!((rig.snap().cooldown_until, rig.snap().generation), (None, generation));
    assert_eq!(rig.causes(), ["cooldown_started", "cooldown_ended"]);
    for row in rig.log.transitions() {
        assert_eq!((row.from, row.to, row.generation), (State::Closed, State::Closed, generation));
    }
}

#[test]
fn r24_it_is_capped_at_max() {
    for (wish, applied) in [(299, 299), (300, 300), (301, 300), (u64::MAX, 300)] {
        let rig = Rig::new(registry());
        rig.call(too_many(wish));
        let Cause::CooldownStarted { retry_after, applied: shown } = rig.last().cause else {
            panic!("{:?}", rig.last())
        };
        assert_eq!((retry_after.wait, shown), (secs(wish), secs(applied)));
        assert_eq!(rig.refused().retry_after, Some(secs(applied)));
    }
}

#[test]
fn r24_off_unless_asked_for() {
    let rig = Rig::new(registry());
    rig.call(Verdict { cooldown: false, ..too_many(20) });
    rig.call(Verdict { cooldown: true, ..Verdict::alive() });
    rig.ok();
    assert!(rig.log.events().is_empty());
}

#[test]
fn r24_its_start_is_stamped_by_the_wall_as_it_stands() {
    let rig = Rig::new(registry());
    rig.clock.set_wall(rig.wall() + secs(3_600));
    rig.call(too_many(20));
    assert_eq!((rig.last().at, rig.snap().cooldown_until), (rig.wall(), Some(rig.wall() + secs(20))));
}

#[test]
fn r24_its_end_is_stamped_with_when_it_was_due() {
    let rig = Rig::new(registry());
    let due = rig.wall() + secs(20);
    rig.call(too_many(20));
    rig.advance(secs(500));
    rig.breaker.tick();
    assert_eq!((rig.last().cause.as_str(), rig.last().at), ("cooldown_ended", due));
}

#[test]
fn r24_calls_already_out_still_count() {
    let rig = Rig::new(registry());
    let out: Vec<_> = (0..5).map(|_| rig.admit()).collect();
    rig.call(too_many(100));
    for call in out {
        assert_eq!(call.settle(Verdict::failure()), fuseboard_breaker::Settled::Counted);
    }
    assert_eq!(rig.state(), State::Open);
}

#[test]
fn r24_a_late_wish_is_none() {
    let rig = Rig::new(registry());
    let out = rig.admit();
    rig.trip();
    out.settle(too_many(100));
    assert_eq!(rig.snap().cooldown_until, None);
    assert_eq!(rig.causes(), ["tripped"]);
}

#[test]
fn r24_calls_already_out_do_not_prolong_it() {
    let rig = Rig::new(registry());
    let (first, second) = (rig.admit(), rig.admit());
    first.settle(too_many(20));
    rig.advance(secs(10));
    second.settle(too_many(100));
    assert_eq!(rig.refused().retry_after, Some(secs(10)));
    assert_eq!(rig.causes(), ["cooldown_started"]);
}
