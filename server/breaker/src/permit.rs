//! The right to make one call. Settled exactly once: with a verdict, or by drop.

use std::sync::Arc;

use crate::{
    handle::Breaker,
    outcome::{Evidence, Phase, Settled, Verdict},
};

/// The right to make one call, borrowed from its breaker. Dropped before it is settled it counts as cancelled.
#[derive(Debug)]
#[must_use = "a dropped permit is a cancelled call"]
pub struct Permit<'a> {
    breaker: &'a Breaker,
}

/// The right to make one call, free to travel with a body or into a task. Dropped before it is settled it counts as
/// cancelled.
#[derive(Debug)]
#[must_use = "a dropped permit is a cancelled call"]
pub struct OwnedPermit {
    breaker: Breaker,
}

impl<'a> Permit<'a> {
    pub(crate) fn new(breaker: &'a Breaker) -> Self {
        Self { breaker }
    }

    /// A byte or a message of the call moved. Keeps a probe's lease alive.
    pub fn progress(&self) {}

    /// Whether the call waits for its own client: a probe that does so at the end of its lease is no evidence.
    pub fn waiting_for_client(&self, _waiting: bool) {}

    /// Whether this call is a probe.
    pub fn is_probe(&self) -> bool {
        false
    }

    /// The generation it was admitted in.
    pub fn generation(&self) -> u64 {
        0
    }

    /// The breaker it came from.
    pub fn breaker(&self) -> &Arc<str> {
        self.breaker.id()
    }

    /// Hands the verdict in.
    pub fn settle(self, verdict: Verdict) -> Settled {
        self.breaker.count(&verdict);
        Settled::Counted
    }

    /// The call panicked: a failure with phase `panic`.
    pub fn settle_panic(self) -> Settled {
        self.settle(Verdict::failure().with_evidence(Evidence { phase: Some(Phase::Panic), ..Evidence::default() }))
    }
}

impl OwnedPermit {
    pub(crate) fn new(breaker: Breaker) -> Self {
        Self { breaker }
    }

    /// A byte or a message of the call moved. Keeps a probe's lease alive.
    pub fn progress(&self) {}

    /// Whether the call waits for its own client: a probe that does so at the end of its lease is no evidence.
    pub fn waiting_for_client(&self, _waiting: bool) {}

    /// Whether this call is a probe.
    pub fn is_probe(&self) -> bool {
        false
    }

    /// The generation it was admitted in.
    pub fn generation(&self) -> u64 {
        0
    }

    /// The breaker it came from.
    pub fn breaker(&self) -> &Arc<str> {
        self.breaker.id()
    }

    /// Hands the verdict in.
    pub fn settle(self, verdict: Verdict) -> Settled {
        self.breaker.count(&verdict);
        Settled::Counted
    }

    /// The call panicked: a failure with phase `panic`.
    pub fn settle_panic(self) -> Settled {
        self.settle(Verdict::failure().with_evidence(Evidence { phase: Some(Phase::Panic), ..Evidence::default() }))
    }

    /// Runs one poll of the call the permit in `slot` belongs to. If the poll panics, the permit settles as a failure
    /// with phase `panic` and the panic goes on. A permit dropped by any other unwinding is cancelled.
    pub fn guard_poll<T>(slot: &mut Option<Self>, poll: impl FnOnce(&mut Option<Self>) -> T) -> T {
        struct Blame<'a>(&'a mut Option<OwnedPermit>, bool);
        impl Drop for Blame<'_> {
            fn drop(&mut self) {
                if self.1
                    && let Some(permit) = self.0.take()
                {
                    permit.settle_panic();
                }
            }
        }
        let mut blame = Blame(slot, true);
        let polled = poll(blame.0);
        blame.1 = false;
        polled
    }
}
