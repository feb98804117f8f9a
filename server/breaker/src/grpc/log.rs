//! A client's breaker in the log.

use crate::event::{Cause, Event, EventSink, NoSink, State, Transition};

/// Logs every change of a breaker with tracing, and hands every event on to an observer.
#[derive(Debug, Clone, Copy, Default)]
pub struct Logged<S = NoSink>(S);

impl Logged {
    /// Logs alone.
    pub fn new() -> Self {
        Self(NoSink)
    }
}

impl<S> Logged<S> {
    /// Logs, and tells this observer.
    pub fn and(observer: S) -> Self {
        Self(observer)
    }
}

impl<S: EventSink> EventSink for Logged<S> {
    fn record(&self, event: Event) {
        match &event {
            Event::Transition(transition) => log(transition),
            Event::Probe(probe) => tracing::debug!(
                breaker = &*probe.breaker,
                outcome = probe.outcome.as_str(),
                duration_ms = probe.duration.as_secs_f64() * 1e3,
                "probe judged"
            ),
        }
        self.0.record(event);
    }
}

fn log(transition: &Transition) {
    let Transition { breaker, from, to, mode, generation, cause, reason, .. } = transition;
    let wait = match cause {
        Cause::Tripped { wait, .. } | Cause::ProbeFailed { wait, .. } | Cause::ProbeLost { wait } => Some(wait.wait),
        _ => None,
    };
    let (breaker, from, to, cause) = (&**breaker, from.as_str(), to.as_str(), cause.as_str());
    let wait_ms = wait.map(|wait| wait.as_secs_f64() * 1e3);
    let (held, reason) = (mode.map(|mode| mode.as_str()), reason.as_deref());
    if transition.to == State::Closed {
        tracing::info!(breaker, from, to, cause, generation, wait_ms, r#override = held, reason, "breaker changed");
    } else {
        tracing::warn!(breaker, from, to, cause, generation, wait_ms, r#override = held, reason, "breaker changed");
    }
}
