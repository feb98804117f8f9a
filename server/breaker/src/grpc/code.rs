//! The seventeen status codes, how they are read, and what each proves.

use std::{fmt, time::Duration};

use http::{HeaderMap, StatusCode};

use crate::outcome::Outcome;

#[cfg(test)]
mod tests;

/// A gRPC status code.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Code {
    /// The call was answered.
    Ok = 0,
    /// It was cancelled.
    Cancelled = 1,
    /// An error of no other kind; also every number above sixteen.
    Unknown = 2,
    /// The request makes no sense.
    InvalidArgument = 3,
    /// The deadline passed first.
    DeadlineExceeded = 4,
    /// What was asked for is not there.
    NotFound = 5,
    /// What was to be made is there already.
    AlreadyExists = 6,
    /// The caller may not.
    PermissionDenied = 7,
    /// A quota or the server's room is used up.
    ResourceExhausted = 8,
    /// The system is not in the state the call needs.
    FailedPrecondition = 9,
    /// It met another call and lost.
    Aborted = 10,
    /// Past the valid range.
    OutOfRange = 11,
    /// The server does not do this.
    Unimplemented = 12,
    /// Something is broken.
    Internal = 13,
    /// The server cannot be reached or does not serve.
    Unavailable = 14,
    /// Data is lost.
    DataLoss = 15,
    /// The caller did not say who it is.
    Unauthenticated = 16,
}

impl Code {
    /// All of them, by number.
    pub const ALL: [Self; 17] = [
        Self::Ok,
        Self::Cancelled,
        Self::Unknown,
        Self::InvalidArgument,
        Self::DeadlineExceeded,
        Self::NotFound,
        Self::AlreadyExists,
        Self::PermissionDenied,
        Self::ResourceExhausted,
        Self::FailedPrecondition,
        Self::Aborted,
        Self::OutOfRange,
        Self::Unimplemented,
        Self::Internal,
        Self::Unavailable,
        Self::DataLoss,
        Self::Unauthenticated,
    ];

    /// The code of this number; those above sixteen are `UNKNOWN`.
    pub fn from_number(number: u32) -> Self {
        usize::try_from(number).ok().and_then(|number| Self::ALL.get(number)).copied().unwrap_or(Self::Unknown)
    }

    /// The code of this name, as in `UNAVAILABLE`.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|code| code.as_str() == name)
    }

    /// The `grpc-status` of trailers, or of the headers of a response that is nothing but trailers. `None` when there is
    /// none; what is no number, or is said twice and differently, is `UNKNOWN`.
    pub fn from_headers(headers: &HeaderMap) -> Option<Self> {
        let mut said = headers.get_all("grpc-status").iter();
        let first = said.next()?;
        let digits = first.to_str().ok().map(str::trim).filter(|text| text.bytes().all(|byte| byte.is_ascii_digit()));
        let number = digits.and_then(|digits| digits.parse().ok()).filter(|_| said.all(|other| other == first));
        Some(number.map_or(Self::Unknown, Self::from_number))
    }

    /// What an HTTP status stands for that came in place of a gRPC status, from a proxy in between: the mapping the gRPC
    /// project gives clients.
    pub fn from_http(status: StatusCode) -> Self {
        match status.as_u16() {
            400 => Self::Internal,
            401 => Self::Unauthenticated,
            403 => Self::PermissionDenied,
            404 => Self::Unimplemented,
            429 | 502..=504 => Self::Unavailable,
            _ => Self::Unknown,
        }
    }

    /// Its number, as in `grpc-status`.
    pub const fn number(self) -> u16 {
        self as u16
    }

    /// Its name, as in `UNAVAILABLE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Ok => "OK",
            Self::Cancelled => "CANCELLED",
            Self::Unknown => "UNKNOWN",
            Self::InvalidArgument => "INVALID_ARGUMENT",
            Self::DeadlineExceeded => "DEADLINE_EXCEEDED",
            Self::NotFound => "NOT_FOUND",
            Self::AlreadyExists => "ALREADY_EXISTS",
            Self::PermissionDenied => "PERMISSION_DENIED",
            Self::ResourceExhausted => "RESOURCE_EXHAUSTED",
            Self::FailedPrecondition => "FAILED_PRECONDITION",
            Self::Aborted => "ABORTED",
            Self::OutOfRange => "OUT_OF_RANGE",
            Self::Unimplemented => "UNIMPLEMENTED",
            Self::Internal => "INTERNAL",
            Self::Unavailable => "UNAVAILABLE",
            Self::DataLoss => "DATA_LOSS",
            Self::Unauthenticated => "UNAUTHENTICATED",
        }
    }

    /// What a server proves by answering with it, unless the client is told otherwise. A `CANCELLED` is the server's own
    /// here; the caller's never reaches it.
    const fn proves(self) -> Outcome {
        match self {
            Self::Ok => Outcome::Success,
            Self::Unknown
            | Self::DeadlineExceeded
            | Self::ResourceExhausted
            | Self::Aborted
            | Self::Internal
            | Self::Unavailable
            | Self::DataLoss => Outcome::Failure,
            Self::Cancelled
            | Self::InvalidArgument
            | Self::NotFound
            | Self::AlreadyExists
            | Self::PermissionDenied
            | Self::FailedPrecondition
            | Self::OutOfRange
            | Self::Unimplemented
            | Self::Unauthenticated => Outcome::Alive,
        }
    }
}

impl fmt::Display for Code {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.as_str())
    }
}

/// What each code proves, for one client or target.
///
/// ```
/// use fuseboard_breaker::{Outcome, grpc::{Code, Codes}};
///
/// // This service says ABORTED when two writers meet: it is well.
/// let codes = Codes::default().with([Code::Aborted], Outcome::Alive);
/// assert_eq!(codes.outcome(Code::Aborted), Outcome::Alive);
/// assert_eq!(codes.outcome(Code::Unavailable), Outcome::Failure);
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Codes {
    outcomes: [Outcome; 17],
    min_budget: Duration,
}

impl Default for Codes {
    /// `OK` is success; `UNKNOWN`, `DEADLINE_EXCEEDED`, `RESOURCE_EXHAUSTED`, `ABORTED`, `INTERNAL`, `UNAVAILABLE` and
    /// `DATA_LOSS` are failures; the others are alive. A deadline that left less than 100 ms proves nothing.
    fn default() -> Self {
        Self { outcomes: Code::ALL.map(Code::proves), min_budget: Duration::from_millis(100) }
    }
}

impl Codes {
    /// These codes prove `outcome`.
    #[must_use]
    pub fn with(mut self, codes: impl IntoIterator<Item = Code>, outcome: Outcome) -> Self {
        for code in codes {
            self.outcomes[usize::from(code.number())] = outcome;
        }
        self
    }

    /// A deadline that left the server less than this proves nothing when it passes.
    #[must_use]
    pub fn min_budget(mut self, min_budget: Duration) -> Self {
        self.min_budget = min_budget;
        self
    }

    /// What a server proves by answering with this code.
    pub fn outcome(&self, code: Code) -> Outcome {
        self.outcomes[usize::from(code.number())]
    }

    /// The least a deadline must leave the server to be held against it.
    pub fn least_budget(&self) -> Duration {
        self.min_budget
    }
}
