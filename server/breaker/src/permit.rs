//! The right to make one call. Settled exactly once: with a verdict, or by drop.

use std::{fmt, sync::Arc};

use crate::{
    cell::Pass,
    handle::Breaker,
    outcome::{Evidence, Phase, Settled, Verdict},
};

/// The right to make one call, borrowed from its breaker. Dropped before it is settled it counts as cancelled: the slot
/// is free at once and no rule counts it.
#[must_use = "a dropped permit is a cancelled call"]
pub struct Permit<'a> {
    breaker: &'a Breaker,
    pass: Pass,
}

/// The right to make one call, free to travel with a body or into a task. Dropped before it is settled it counts as
/// cancelled: the slot is free at once and no rule counts it.
#[must_use = "a dropped permit is a cancelled call"]
pub struct OwnedPermit {
    breaker: Breaker,
    pass: Pass,
}

macro_rules! permit {
    ($permit:ty) => {
        impl $permit {
            /// A byte or a message of the call moved: a probe that moves in the last quarter of its lease is a good
            /// one. Costs nothing for calls that are no probes.
            #[inline]
            pub fn progress(&self) {
                if self.pass.is_probe() {
                    self.breaker.cell().progress(&self.pass);
                }
            }

            /// The host answered and may go on answering: a probe that outlives its lease is then a good one, however
            /// long ago that was. For gRPC, where headers or one message say it and a healthy stream may be silent for
            /// hours.
            #[inline]
            pub fn answered(&self) {
                if self.pass.is_probe() {
                    self.breaker.cell().answered(&self.pass);
                }
            }

            /// Whether the call waits for its own client to send or to read: a probe that does so at the end of its
            /// lease is no evidence.
            #[inline]
            pub fn waiting_for_client(&self, waiting: bool) {
                if self.pass.is_probe() {
                    self.breaker.cell().waiting_for_client(&self.pass, waiting);
                }
            }

            /// What is known of the call by now: the row of a probe that ends without another word, at its lease or
            /// dropped, is written with it. Made for probes alone.
            #[inline]
            pub fn describe(&self, so_far: impl FnOnce() -> Evidence) {
                if self.pass.is_probe() {
                    self.breaker.cell().describe(&self.pass, so_far());
                }
            }

            /// Whether this call is a probe.
            pub fn is_probe(&self) -> bool {
                self.pass.is_probe()
            }

            /// The generation it was admitted in.
            pub fn generation(&self) -> u64 {
                self.pass.generation()
            }

            /// The id of the breaker it came from.
            pub fn breaker(&self) -> &Arc<str> {
                self.breaker.id()
            }

            /// The call panicked: a failure with phase `panic`.
            pub fn settle_panic(self) -> Settled {
                let evidence = Evidence { phase: Some(Phase::Panic), ..Evidence::default() };
                self.settle(Verdict::failure().with_evidence(evidence))
            }
        }

        impl Drop for $permit {
            #[inline]
            fn drop(&mut self) {
                if let Some(pass) = self.pass.take() {
                    self.breaker.cell().cancel(pass);
                }
            }
        }

        impl fmt::Debug for $permit {
            fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
                let name = stringify!($permit);
                out.debug_struct(name.split('<').next().unwrap_or(name))
                    .field("breaker", self.breaker.id())
                    .field("generation", &self.generation())
                    .field("probe", &self.is_probe())
                    .finish()
            }
        }
    };
}

permit!(Permit<'_>);
permit!(OwnedPermit);

impl<'a> Permit<'a> {
    #[inline]
    pub(crate) fn new(breaker: &'a Breaker, pass: Pass) -> Self {
        Self { breaker, pass }
    }

    /// Hands the verdict in and gives the permit back.
    // For certain: called, it has to read back a permit that was just written in pieces.
    #[inline(always)]
    pub fn settle(mut self, verdict: Verdict) -> Settled {
        let (breaker, pass) = (self.breaker, self.pass.take());
        // Nothing is left in it to drop; saying so keeps the permit out of memory.
        std::mem::forget(self);
        match pass {
            Some(pass) => breaker.cell().settle(pass, verdict),
            None => Settled::Late,
        }
    }
}

impl OwnedPermit {
    #[inline]
    pub(crate) fn new(breaker: Breaker, pass: Pass) -> Self {
        Self { breaker, pass }
    }

    /// Hands the verdict in and gives the permit back.
    #[inline]
    pub fn settle(mut self, verdict: Verdict) -> Settled {
        match self.pass.take() {
            Some(pass) => self.breaker.cell().settle(pass, verdict),
            None => Settled::Late,
        }
    }

    /// How long ago it was admitted, where a rule asks for that.
    #[cfg(feature = "grpc")]
    pub(crate) fn elapsed(&self) -> Option<std::time::Duration> {
        self.breaker.cell().elapsed(&self.pass)
    }

    /// Runs one poll of the call the permit in `slot` belongs to. If the poll panics, the permit settles as a failure
    /// with phase `panic` and the panic goes on. A permit dropped by any other unwinding is cancelled.
    pub fn guard_poll<T>(slot: &mut Option<Self>, poll: impl FnOnce(&mut Option<Self>) -> T) -> T {
        let mut blame = Blame { slot, armed: true };
        let polled = poll(blame.slot);
        blame.armed = false;
        polled
    }
}

/// Dropped while still armed, it was the poll that unwound.
struct Blame<'a> {
    slot: &'a mut Option<OwnedPermit>,
    armed: bool,
}

impl Drop for Blame<'_> {
    fn drop(&mut self) {
        if self.armed
            && let Some(permit) = self.slot.take()
        {
            permit.settle_panic();
        }
    }
}
