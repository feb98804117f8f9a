//! Rows of the record and the events of the live feed.

use serde::{Deserialize, Deserializer, Serialize, de::Error as _};
use serde_json::Value;

use super::{
    breaker::{Counts, Mode, Override, Round, Rule, State},
    time::Time,
};

/// Who did it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Actor {
    /// The name given.
    pub name: String,
    /// Whether somebody vouched for it.
    pub verified: bool,
    /// `board`, `api` or `cli`.
    pub via: String,
}

/// Why a breaker changed: `kind` and the fields that explain it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Cause {
    /// One of the fixed words.
    pub kind: String,
    /// `rule`, `counts`, `threshold`, `evidence`, `wait_ms`, `jitter_ms`, `retry_after`, as they apply.
    #[serde(flatten)]
    pub detail: serde_json::Map<String, Value>,
}

impl Cause {
    /// Without the calls that decided it: a list would grow by twenty calls a row.
    #[must_use]
    pub fn without_evidence(&self) -> Self {
        let detail = self.detail.iter().filter(|(key, _)| *key != "evidence");
        Self { kind: self.kind.clone(), detail: detail.map(|(key, value)| (key.clone(), value.clone())).collect() }
    }
}

/// By hand: what a flattened field derives is an eighth of the board's wasm.
impl<'de> Deserialize<'de> for Cause {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut detail = serde_json::Map::deserialize(from)?;
        match detail.remove("kind") {
            Some(Value::String(kind)) => Ok(Self { kind, detail }),
            _ => Err(D::Error::missing_field("kind")),
        }
    }
}

/// A change of state, override or cool-down.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Transition {
    /// Its place in the record.
    pub seq: u64,
    /// The node that saw it.
    pub node: String,
    /// Which breaker.
    pub breaker: String,
    /// When.
    pub at: Time,
    /// State before.
    pub from: State,
    /// State after.
    pub to: State,
    /// Override after.
    #[serde(rename = "override")]
    pub held: Option<Mode>,
    /// Generation after; compare within one run only.
    pub generation: u64,
    /// Why.
    pub cause: Cause,
    /// Who asked for it.
    pub actor: Option<Actor>,
    /// Why they asked.
    pub reason: Option<String>,
}

/// What became of one probe.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Probe {
    /// Its place in the record.
    pub seq: u64,
    /// The node that sent it.
    pub node: String,
    /// Which breaker.
    pub breaker: String,
    /// When it was admitted.
    pub at: Time,
    /// How long until it was judged; fractions allowed.
    pub duration_ms: f64,
    /// The generation it was admitted in.
    pub generation: u64,
    /// success failure alive ignored cancelled lost late.
    pub outcome: String,
    /// Where it ended.
    pub phase: Option<String>,
    /// Why it counts for nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub why: Option<String>,
    /// HTTP status or gRPC code.
    pub status: Option<u16>,
    /// The gRPC code by its name, as in `UNAVAILABLE`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
    /// Messages of a gRPC call the client sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sent: Option<u64>,
    /// Messages of a gRPC call the host sent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub received: Option<u64>,
    /// What went wrong.
    pub error: Option<String>,
    /// The request's method.
    pub method: Option<String>,
    /// The request's path, query values redacted.
    pub path: Option<String>,
    /// Sent by Fuseboard, not by a client.
    pub synthetic: bool,
}

/// What an operator did.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Audit {
    /// Its place in the record.
    pub seq: u64,
    /// The node it was done on.
    pub node: String,
    /// When.
    pub at: Time,
    /// Who.
    pub actor: Actor,
    /// `reset`, `override_set`, `override_changed`, `release`, `probe`, `reload`.
    pub action: String,
    /// On which breaker.
    pub breaker: Option<String>,
    /// Why.
    pub reason: Option<String>,
    /// What it did, as it applies: mode, until, whether anything changed.
    #[serde(default)]
    pub detail: serde_json::Map<String, Value>,
}

/// Rows of one kind, newest first unless asked for with `after`.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Page<Row> {
    /// The rows.
    pub rows: Vec<Row>,
    /// Pass as `before` (or `after`) for the next page.
    pub next: Option<u64>,
}

/// The feed's first event.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Hello {
    /// `<boot>-<seq>` up to which the reader is current.
    pub cursor: String,
    /// The server's time.
    pub now: Time,
    /// The server's version.
    pub version: String,
}

/// What a transition left behind, so that a board needs no second question.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct After {
    /// When the state began.
    pub since: Time,
    /// Failed probe rounds since it left closed.
    pub attempt: u32,
    /// The wait in force.
    pub wait_ms: Option<u64>,
    /// When the wait ends.
    pub next_probe_at: Option<Time>,
    /// When it left closed.
    pub down_since: Option<Time>,
    /// How often it opened.
    pub opens: u64,
    /// The override in force.
    #[serde(rename = "override")]
    pub held: Option<Override>,
    /// When a cool-down ends.
    pub cooldown_until: Option<Time>,
}

/// A transition as the feed sends it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct TransitionEvent {
    /// The row.
    #[serde(flatten)]
    pub row: Transition,
    /// What it left behind.
    pub after: After,
}

impl TransitionEvent {
    /// Reads it in two passes, the row's fields and what stands beside them.
    fn parse(data: &str) -> Result<Self, serde_json::Error> {
        #[derive(Deserialize)]
        struct Beside {
            after: After,
        }
        let row = serde_json::from_str(data)?;
        let Beside { after } = serde_json::from_str(data)?;
        Ok(Self { row, after })
    }
}

/// The numbers of one breaker that move without a transition.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct BreakerStats {
    /// Which breaker.
    pub id: String,
    /// See [`super::breaker::Breaker`] for these.
    pub in_flight: u64,
    pub refused_since_down: u64,
    pub half_open: Round,
    pub calls_per_min: u64,
    pub refused_per_min: u64,
    pub counts: Counts,
    pub rules: Vec<Rule>,
    pub failure_rate: Option<f64>,
    pub p50_ms: Option<f64>,
    pub p95_ms: Option<f64>,
}

/// Sent every 2 s, without id: the heartbeat.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Stats {
    /// The server's time.
    pub now: Time,
    /// The breakers whose numbers changed since the last one.
    pub breakers: Vec<BreakerStats>,
    /// How the store is doing.
    pub store: StoreHealth,
    /// What the watchdog sees broken in the server itself.
    #[serde(default)]
    pub findings: Vec<Finding>,
}

/// An invariant of the running server that is broken: what its watchdog found.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct Finding {
    /// `unprobed`, `lease` or `disagreement`.
    pub kind: String,
    /// Which breaker.
    pub breaker: String,
    /// Since when it is known.
    pub since: Time,
    /// In words.
    pub detail: String,
}

/// How the store is doing.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "ssr", derive(utoipa::ToSchema))]
pub struct StoreHealth {
    /// Facts waiting to be written.
    pub waiting: u64,
    /// Facts given up since the start.
    pub dropped: u64,
    /// Since when writing fails.
    pub failing_since: Option<Time>,
    /// Why, in words.
    pub error: Option<String>,
}

/// One event of the live feed.
#[derive(Debug, Clone, PartialEq)]
pub enum FeedEvent {
    /// First.
    Hello(Hello),
    /// A change of state, override or cool-down.
    Transition(Box<TransitionEvent>),
    /// A probe was judged.
    Probe(Box<Probe>),
    /// An operator did something.
    Audit(Box<Audit>),
    /// Every 2 s.
    Stats(Box<Stats>),
    /// The reader's cursor cannot be served: read everything again.
    Resync(Hello),
}

impl FeedEvent {
    /// The server-sent event's name.
    pub fn name(&self) -> &'static str {
        match self {
            Self::Hello(_) => "hello",
            Self::Transition(_) => "transition",
            Self::Probe(_) => "probe",
            Self::Audit(_) => "audit",
            Self::Stats(_) => "stats",
            Self::Resync(_) => "resync",
        }
    }

    /// Reads one event by its name; unknown names are `None`, so that a newer server may say more.
    ///
    /// # Errors
    /// The data is not what the name promises.
    pub fn parse(name: &str, data: &str) -> Result<Option<Self>, serde_json::Error> {
        Ok(Some(match name {
            "hello" => Self::Hello(serde_json::from_str(data)?),
            "transition" => Self::Transition(Box::new(TransitionEvent::parse(data)?)),
            "probe" => Self::Probe(serde_json::from_str(data)?),
            "audit" => Self::Audit(serde_json::from_str(data)?),
            "stats" => Self::Stats(serde_json::from_str(data)?),
            "resync" => Self::Resync(serde_json::from_str(data)?),
            _ => return Ok(None),
        }))
    }
}
