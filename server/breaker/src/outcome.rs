//! What a call proved about the host: the verdict its permit is settled with.

use std::time::Duration;

/// What a call proved.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Outcome {
    /// The host did its work.
    Success,
    /// The host failed.
    Failure,
    /// The host answered; the client or a limit is at fault. In every rate's denominator, never adds to a failure run,
    /// and a good verdict in half-open.
    Alive,
    /// No evidence either way: the permit goes back and nothing is counted against or for the host.
    Ignored,
}

/// Where in the call it ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Phase {
    /// Resolving the host's name.
    Dns,
    /// Opening the connection.
    Connect,
    /// The TLS handshake.
    Tls,
    /// Handing the request to the host.
    Send,
    /// Waiting for the response's head.
    Head,
    /// Reading the response's body.
    Body,
    /// Reading the trailers.
    Trailers,
    /// The probe held its permit longer than the lease.
    Lease,
    /// The client gave up after `abandoned_after` without one byte from the host.
    Abandoned,
    /// The caller's own deadline passed.
    Deadline,
    /// The call panicked.
    Panic,
}

impl Phase {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Dns => "dns",
            Self::Connect => "connect",
            Self::Tls => "tls",
            Self::Send => "send",
            Self::Head => "head",
            Self::Body => "body",
            Self::Trailers => "trailers",
            Self::Lease => "lease",
            Self::Abandoned => "abandoned",
            Self::Deadline => "deadline",
            Self::Panic => "panic",
        }
    }
}

/// Why a call is no evidence.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Why {
    /// The client went away first.
    ClientGone,
    /// The caller's deadline was too short to blame the host for.
    ShortDeadline,
    /// One of our own guards stopped the call.
    OwnGuard,
    /// The host took nothing of it: a pooled connection had been closed while idle, or the host refused the stream.
    StaleConnection,
}

impl Why {
    /// The fixed word used in API, store and metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::ClientGone => "client_gone",
            Self::ShortDeadline => "short_deadline",
            Self::OwnGuard => "own_guard",
            Self::StaleConnection => "stale_connection",
        }
    }
}

/// What is known of one call, kept with a trip or a probe. Text in it is already redacted by whoever makes it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Evidence {
    /// HTTP status, or the gRPC code for a gRPC call.
    pub status: Option<u16>,
    /// The gRPC code by its name, as in `UNAVAILABLE`.
    pub code: Option<&'static str>,
    /// Messages of a gRPC call the client sent, where they were counted.
    pub sent: Option<u64>,
    /// Messages of a gRPC call the host sent, where they were counted.
    pub received: Option<u64>,
    /// Where the call ended.
    pub phase: Option<Phase>,
    /// Why it counts for nothing, if it does.
    pub why: Option<Why>,
    /// What went wrong, in words.
    pub error: Option<Box<str>>,
    /// The request's method.
    pub method: Option<Box<str>>,
    /// The request's path, query values redacted.
    pub path: Option<Box<str>>,
    /// Sent by the breaker's owner, not by a client.
    pub synthetic: bool,
}

/// A host's wish to be left alone, as it was sent and as a length of time.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RetryAfter {
    /// The header's value.
    pub raw: Box<str>,
    /// How long from the response on; not yet capped.
    pub wait: Duration,
}

/// The outcome of one call with what explains it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Verdict {
    /// What the call proved.
    pub outcome: Outcome,
    /// Time to the response's head; the time the permit was held when absent.
    pub latency: Option<Duration>,
    /// The host's `Retry-After`, if it sent one that can be read.
    pub retry_after: Option<Box<RetryAfter>>,
    /// Starts a cool-down of this length (429 with `Retry-After` under `cooldown = true`); capped at the policy's `max`.
    pub cooldown: bool,
    /// What is known of the call.
    pub evidence: Option<Box<Evidence>>,
}

impl Verdict {
    /// A verdict without evidence.
    pub const fn new(outcome: Outcome) -> Self {
        Self { outcome, latency: None, retry_after: None, cooldown: false, evidence: None }
    }

    /// The host did its work.
    pub const fn success() -> Self {
        Self::new(Outcome::Success)
    }

    /// The host failed.
    pub const fn failure() -> Self {
        Self::new(Outcome::Failure)
    }

    /// The host answered; the client or a limit is at fault.
    pub const fn alive() -> Self {
        Self::new(Outcome::Alive)
    }

    /// No evidence either way.
    pub const fn ignored() -> Self {
        Self::new(Outcome::Ignored)
    }

    /// Adds what is known of the call.
    #[must_use]
    pub fn with_evidence(mut self, evidence: Evidence) -> Self {
        self.evidence = Some(Box::new(evidence));
        self
    }
}

/// What became of a verdict.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settled {
    /// It was counted in the generation its permit was admitted in.
    Counted,
    /// The breaker had moved on; recorded as late, nothing changed.
    Late,
}
