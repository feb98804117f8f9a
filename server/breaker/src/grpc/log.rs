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

#[cfg(test)]
mod tests {
    use std::{
        io::Write,
        sync::{Arc, Mutex},
        time::Duration,
    };

    use super::*;
    use crate::{Breaker, ManualClock, Policy, Verdict};

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
            self.0.lock().expect("no test panics while it writes").write(bytes)
        }

        fn flush(&mut self) -> std::io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn every_change_is_one_line_of_the_log() {
        let lines = Lines::default();
        let to = lines.clone();
        let subscriber =
            tracing_subscriber::fmt().with_writer(move || to.clone()).with_ansi(false).without_time().finish();
        tracing::subscriber::with_default(subscriber, || {
            let clock = Arc::new(ManualClock::default());
            let breaker = Breaker::new("accounts", Policy::grpc(), clock.clone(), Arc::new(Logged::new()));
            while let Ok(permit) = breaker.try_acquire() {
                permit.settle(Verdict::failure());
            }
            clock.advance(Duration::from_secs(15));
            for _ in 0..10 {
                breaker.try_acquire().expect("a probe").settle(Verdict::success());
            }
        });
        let bytes = lines.0.lock().expect("no test panics while it writes").clone();
        let text = String::from_utf8(bytes).expect("text");
        let lines: Vec<_> = text.lines().collect();
        assert_eq!(lines.len(), 3, "{text}");
        for (line, level, change) in [
            (lines[0], "WARN", r#"from="closed" to="open" cause="tripped" generation=1 wait_ms=15000.0"#),
            (lines[1], "WARN", r#"from="open" to="half_open" cause="wait_elapsed" generation=2"#),
            (lines[2], "INFO", r#"from="half_open" to="closed" cause="probes_succeeded" generation=3"#),
        ] {
            assert!(line.trim_start().starts_with(level), "{line}");
            assert!(line.contains(r#"breaker changed breaker="accounts" "#) && line.contains(change), "{line}");
        }
    }
}
