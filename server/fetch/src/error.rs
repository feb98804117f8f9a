//! Why a call came to nothing. None of these texts holds a secret: URLs in them are redacted before they get here.

use std::{net::IpAddr, sync::Arc, time::Duration};

use fuseboard_breaker::{Mode, Phase, Refused, State};

/// One of our own guards stopped a call; no evidence against any host.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Guard {
    /// The host is, or its name leads to, an address inside our own network.
    #[error("{}, {}; set allow_private on the upstream if that is meant", way(.from.as_deref(), .host, .address), a(.kind))]
    ProhibitedAddress {
        /// Whose redirect named it, if one did.
        from: Option<Arc<str>>,
        /// The host as named.
        host: String,
        /// Where it leads.
        address: IpAddr,
        /// What is wrong with it.
        kind: &'static str,
    },
    /// The request came through this gateway before.
    #[error("the request has been through this gateway already; an upstream leads back here")]
    Loop,
    /// More redirects than anybody means.
    #[error("more than {max} redirects, the last one from {from}")]
    TooManyRedirects {
        /// How many were followed.
        max: usize,
        /// The origin of the last one.
        from: Arc<str>,
    },
    /// A redirect from https to http.
    #[error("{from} redirects from https to plain http, which would drop its protection")]
    Downgrade {
        /// The origin that redirected.
        from: Arc<str>,
    },
    /// More bytes than the caller said it would take.
    #[error("the body is longer than {max} bytes")]
    TooLarge {
        /// The limit.
        max: u64,
    },
}

/// How it came to an address, ending with that address.
fn way(from: Option<&str>, host: &str, address: &IpAddr) -> String {
    let literal = host.parse().is_ok_and(|host: IpAddr| host == *address);
    match (from, literal) {
        (Some(from), true) => format!("{from} redirects to {address}"),
        (Some(from), false) => format!("{from} redirects to {host}, which leads to {address}"),
        (None, true) => format!("the upstream is {address}"),
        (None, false) => format!("{host} leads to {address}"),
    }
}

fn a(kind: &str) -> String {
    let article = if kind.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
    format!("{article} {kind} address")
}

/// What kind of failure a call met, as far as more is known of it than its phase.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trouble {
    /// One of our timers ended it.
    Timeout,
    /// The host refused the connection.
    Refused,
    /// There is no way to the host's address.
    Unroutable,
    /// The host's certificate is not accepted.
    Certificate,
    /// The host broke off the TLS handshake and said so.
    Alert,
    /// What came is not HTTP, or not what HTTP allows.
    Malformed,
    /// The response's head is larger than we take.
    HeadTooLarge,
    /// The host switched protocols although nobody asked it to.
    Switched,
    /// The host ended the connection.
    Cut,
    /// Anything else.
    Other,
}

/// Whose call was turned away for want of room: the upstream's own breaker, which had no part in it, and how it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnedAway {
    /// Its id.
    pub breaker: Arc<str>,
    /// Its automatic state.
    pub state: State,
    /// The override that stands.
    pub mode: Option<Mode>,
}

/// Why the gateway has no response from the host.
#[derive(Debug, Clone, thiserror::Error)]
pub enum CallError {
    /// A breaker refused; the host received nothing.
    #[error(transparent)]
    Refused(#[from] Refused),
    /// There is no room for another breaker.
    #[error("there is no room for another breaker; raise panel.max or release overrides")]
    PanelFull(TurnedAway),
    /// The upstream has as many calls in flight and waiting as it may.
    #[error("too many calls to this upstream are under way already; try again soon")]
    QueueFull(TurnedAway),
    /// One of our own guards stopped the call.
    #[error(transparent)]
    OwnGuard(#[from] Guard),
    /// The host failed.
    #[error("{breaker} failed: {error}")]
    Failed {
        /// Whose failure it is.
        breaker: Arc<str>,
        /// Where the call ended.
        phase: Phase,
        /// What went wrong.
        error: String,
        /// What kind of failure it is.
        trouble: Trouble,
    },
    /// The host took nothing of the request, since a pooled connection had been closed while idle or the host refused the
    /// stream, and the request could not be sent again safely.
    #[error(
        "{breaker} did not take the request before its connection or stream was closed, and the request cannot be sent twice; try again"
    )]
    Stale {
        /// Whose connection it was.
        breaker: Arc<str>,
    },
    /// The deadline a gRPC caller set passed before the host's answer.
    #[error("{breaker} did not answer within the caller's deadline")]
    Deadline {
        /// Whose answer it was to be.
        breaker: Arc<str>,
    },
    /// Our own client left or stopped sending.
    #[error("the client went away before the response")]
    ClientGone,
    /// The request cannot be sent.
    #[error("the request cannot be sent: {message}")]
    BadRequest {
        /// What is wrong with it.
        message: String,
    },
}

/// Why a fetch has no bytes to show.
#[derive(Debug, thiserror::Error)]
pub enum FetchError {
    /// The host answered that there is no such thing (404, 410).
    #[error("{url} does not exist (status {status})")]
    NotFound {
        /// What was asked for, redacted.
        url: String,
        /// 404 or 410.
        status: u16,
    },
    /// The host asks for fewer calls (429).
    #[error("{breaker} asks for fewer calls{}", wait(.retry_in))]
    RateLimited {
        /// Who asks.
        breaker: Arc<str>,
        /// When to try again, if it said so.
        retry_in: Option<Duration>,
    },
    /// The host is down: the breaker refused, or the call failed.
    #[error("{reason}")]
    UpstreamDown {
        /// Which breaker.
        breaker: Arc<str>,
        /// Time to the next probe; known when the breaker refused.
        retry_in: Option<Duration>,
        /// Its state when it refused; absent when the call was made and failed.
        refused: Option<State>,
        /// The failing status, if the host answered.
        status: Option<u16>,
        /// What happened, in words.
        reason: String,
    },
    /// The host answered with a status that is neither good nor one of the above.
    #[error("{url} answered with status {status}")]
    Status {
        /// What was asked for, redacted.
        url: String,
        /// The status.
        status: u16,
    },
    /// Too many calls or breakers on our side.
    #[error("{0}")]
    Busy(String),
    /// One of our own guards stopped it.
    #[error(transparent)]
    OwnGuard(#[from] Guard),
    /// The URL or a header cannot be sent.
    #[error("{0}")]
    BadRequest(String),
}

fn wait(retry_in: &Option<Duration>) -> String {
    retry_in.map_or_else(String::new, |wait| format!("; try again in {:.1} s", wait.as_secs_f64()))
}

impl From<CallError> for FetchError {
    fn from(error: CallError) -> Self {
        let reason = error.to_string();
        match error {
            CallError::Refused(refused) => Self::UpstreamDown {
                breaker: refused.breaker,
                retry_in: refused.retry_after,
                refused: Some(refused.state),
                status: None,
                reason,
            },
            CallError::Failed { breaker, .. } | CallError::Stale { breaker } | CallError::Deadline { breaker } => {
                Self::UpstreamDown { breaker, retry_in: None, refused: None, status: None, reason }
            }
            CallError::OwnGuard(guard) => Self::OwnGuard(guard),
            CallError::PanelFull(_) | CallError::QueueFull(_) => Self::Busy(reason),
            CallError::ClientGone | CallError::BadRequest { .. } => Self::BadRequest(reason),
        }
    }
}

/// How a response's body ends when it does not end well.
#[derive(Debug, Clone, thiserror::Error)]
pub enum BodyError {
    /// The host cut it short, reset it or stopped sending.
    #[error("the body from {breaker} broke off: {error}")]
    Broken {
        /// Whose body it is.
        breaker: Arc<str>,
        /// What happened.
        error: String,
    },
    /// Our client shared the answer with others and was too slow for them.
    #[error("the answer is shared with other clients and this one fell too far behind them; ask again")]
    FellBehind,
    /// The deadline a gRPC caller set passed in the midst of the response.
    #[error("the response from {breaker} was not over within the caller's deadline")]
    Deadline {
        /// Whose response it is.
        breaker: Arc<str>,
    },
    /// Our client stopped reading or sending for longer than it may.
    #[error("the client stalled for longer than client_idle allows")]
    ClientStalled,
    /// An operator holds the breaker open, and what passed it uncounted ends with that.
    #[error("{0}")]
    HeldOpen(Box<Refused>),
}
