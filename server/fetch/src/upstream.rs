//! What is configured for one upstream, checked and with every default filled in.

mod statuses;

use std::{fmt, sync::Arc, time::Duration};

use fuseboard_breaker::{Policy, grpc::Codes};
use http::{HeaderMap, Method};
use url::Url;

pub use self::statuses::Statuses;
use crate::origin::web_url;

/// One upstream. [`Upstream::plain`] makes one with every default; its fields may then be set one by one.
#[derive(Clone, PartialEq)]
pub struct Upstream {
    /// Its name: the first path segment at the gateway.
    pub name: Arc<str>,
    /// Where it is.
    pub url: Url,
    /// What is spoken to it. One that speaks gRPC is called by the paths of its services, so its URL has none.
    pub protocol: Protocol,
    /// How its breakers trip and recover.
    pub policy: Policy,
    /// How long the host (and our client) may take.
    pub timeouts: Timeouts,
    /// How many calls at a time.
    pub queue: Queue,
    /// Whether names may resolve to, and redirects lead to, addresses inside our own network.
    pub allow_private: bool,
    /// Which breaker guards its own origin.
    pub key: Key,
    /// Whether a failed call is made again.
    pub retry: Retry,
    /// Whether identical GETs that are under way at the same time share one attempt.
    pub coalesce: bool,
    /// What is done with a redirect.
    pub redirects: Redirects,
    /// What an answer proves.
    pub classify: Classify,
    /// The probe sent on its behalf; a HEAD on `url` when somebody asks for one and this is absent.
    pub active_probe: Option<ActiveProbe>,
    /// Sent to this origin only, in place of the client's own of the same name.
    pub headers: HeaderMap,
}

/// What is spoken to an upstream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Protocol {
    /// Plain HTTP/1.1 or h2.
    #[default]
    Http,
    /// gRPC: h2 from the first byte.
    Grpc,
}

/// The four timeouts against the host, and the one against our own client.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// DNS, TCP and TLS together.
    pub connect: Duration,
    /// From the last request byte handed over to the response's head.
    pub first_byte: Duration,
    /// The longest pause of the host while it takes the request or sends the response.
    pub between_bytes: Duration,
    /// The longest pause of our client while it sends or reads, and the longest it may keep us waiting in all for 4 kB;
    /// ends the call as no evidence.
    pub client_idle: Duration,
    /// The whole call, less the time spent waiting for our client.
    pub total: Duration,
}

impl Default for Timeouts {
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(5),
            first_byte: Duration::from_secs(30),
            between_bytes: Duration::from_secs(30),
            client_idle: Duration::from_secs(30),
            total: Duration::from_secs(600),
        }
    }
}

impl Timeouts {
    /// The defaults for what is spoken: a gRPC stream may last as long as both sides like.
    pub fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http => Self::default(),
            Protocol::Grpc => Self { total: Duration::from_secs(365 * 24 * 3600), ..Self::default() },
        }
    }
}

/// How many calls an upstream gets at a time, and how many may wait for their turn.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Queue {
    /// In flight at most.
    pub concurrent: usize,
    /// Waiting at most; one more is turned away.
    pub waiting: usize,
}

impl Default for Queue {
    fn default() -> Self {
        Self { concurrent: 256, waiting: 1024 }
    }
}

impl Queue {
    /// The default for what is spoken: a gRPC stream may be open for hours and do little.
    pub fn of(protocol: Protocol) -> Self {
        match protocol {
            Protocol::Http => Self::default(),
            Protocol::Grpc => Self { concurrent: 4096, waiting: 1024 },
        }
    }
}

/// How often, and how soon, a failed call is made again. Only idempotent requests without a body are, and never more than
/// a fifth of all calls.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Retry {
    /// The first one counted; 1 is off.
    pub attempts: u32,
    /// The pause before the second, doubled before each further one and shortened by up to half at random.
    pub base: Duration,
    /// The longest pause; a host that asks for more than this is not asked again.
    pub max: Duration,
}

impl Default for Retry {
    fn default() -> Self {
        Self { attempts: 1, base: Duration::from_millis(500), max: Duration::from_secs(5) }
    }
}

/// Which breaker guards an upstream's own origin.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Key {
    /// The origin's, shared with whoever else calls it.
    #[default]
    Origin,
    /// Its own, with the upstream's name for an id.
    Upstream,
}

/// What is done with a redirect. Only GET and HEAD are ever followed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirects {
    /// Whether they are followed at all; else the client gets them as they are.
    pub follow: bool,
    /// Hosts beside the upstream's own origin that may be followed to: `cdn.example`, `cdn.example:8443`,
    /// `*.cdn.example` (any name below it), `*` (any). A redirect to another host is handed to the client as it is.
    pub hosts: Vec<String>,
}

impl Default for Redirects {
    fn default() -> Self {
        Self { follow: true, hosts: Vec::new() }
    }
}

/// What an answer proves about the host.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Classify {
    /// Whether 429 is a failure.
    pub count_429: bool,
    /// Whether 429 with `Retry-After` starts a cool-down.
    pub cooldown: bool,
    /// A client that leaves after this long without one byte from the host makes it a failure.
    pub abandoned_after: Duration,
    /// What each gRPC code proves, and how short a deadline is no evidence when it passes.
    pub codes: Codes,
    /// gRPC services whose calls take no permit and prove nothing; they stop while the breaker is forced open.
    pub uncounted: Vec<String>,
    /// Statuses that are failures.
    pub failures: Statuses,
    /// Statuses that are none although `failures` has them.
    pub alive: Statuses,
}

/// Questions about a server, not work for it.
const ASIDE: [&str; 3] =
    ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection", "grpc.reflection.v1alpha.ServerReflection"];

impl Default for Classify {
    fn default() -> Self {
        Self {
            count_429: false,
            cooldown: false,
            abandoned_after: Duration::from_secs(5),
            codes: Codes::default(),
            uncounted: ASIDE.map(str::to_owned).to_vec(),
            failures: Statuses::of([(408, 408), (500, 599)]),
            alive: Statuses::of([(501, 501), (505, 505)]),
        }
    }
}

/// A request sent to find out whether the host is back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ActiveProbe {
    /// A plain request.
    Http {
        /// `HEAD`, `GET` or `OPTIONS`.
        method: Method,
        /// The path and query, from the origin's root.
        path: String,
    },
    /// A gRPC health check.
    Health {
        /// The service it asks for; the server as a whole when empty.
        service: String,
    },
}

/// Why something cannot be an upstream: the field at fault and what it takes.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field}: {message}")]
pub struct UpstreamError {
    /// The field.
    pub field: &'static str,
    /// What is wrong with it and what it takes.
    pub message: String,
}

impl Upstream {
    /// An upstream with every default.
    ///
    /// # Errors
    /// The name cannot be a path segment, or the URL has no host or a scheme that is none of http, https, grpc, grpcs.
    pub fn plain(name: &str, url: &str) -> Result<Self, UpstreamError> {
        let fault = |field, message: String| Err(UpstreamError { field, message });
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"._-".contains(&byte)) {
            return fault("name", format!("{name:?} does not fit; it takes letters, digits, '.', '_' and '-'"));
        }
        let url = match Url::parse(url) {
            Ok(url) => url,
            Err(error) => {
                return fault("url", format!("{error}; it takes an address such as https://registry.example"));
            }
        };
        let protocol = match url.scheme() {
            "http" | "https" => Protocol::Http,
            "grpc" | "grpcs" => Protocol::Grpc,
            other => return fault("url", format!("{other:?} is not spoken; it takes http, https, grpc or grpcs")),
        };
        if url.host_str().is_none_or(str::is_empty)
            || web_url(&url).scheme() == url.scheme() && protocol == Protocol::Grpc
        {
            return fault("url", "has no host; it takes an address such as https://registry.example".to_owned());
        }
        if url.port() == Some(0) {
            return fault("url", "has port 0, where nobody can listen; it takes a port from 1 to 65535".to_owned());
        }
        if !url.username().is_empty() || url.password().is_some() {
            return fault("url", "holds a user or password; put them into headers.authorization".to_owned());
        }
        Ok(Self::new(name.into(), url, protocol))
    }

    /// The same with gRPC spoken to it, whatever its URL's scheme says.
    #[must_use]
    pub fn speaking_grpc(self) -> Self {
        let scheme = match self.url.scheme() {
            "http" => "grpc",
            "https" => "grpcs",
            _ => return self,
        };
        let rest = &self.url.as_str()[self.url.scheme().len()..];
        match Url::parse(&format!("{scheme}{rest}")) {
            Ok(url) => Self::new(self.name, url, Protocol::Grpc),
            Err(_) => self,
        }
    }

    pub(crate) fn new(name: Arc<str>, url: Url, protocol: Protocol) -> Self {
        let (policy, key) = match protocol {
            Protocol::Http => (Policy::registry(), Key::Origin),
            Protocol::Grpc => (Policy::grpc(), Key::Upstream),
        };
        Self {
            name,
            url,
            protocol,
            policy,
            timeouts: Timeouts::of(protocol),
            queue: Queue::of(protocol),
            allow_private: false,
            key,
            retry: Retry::default(),
            coalesce: false,
            redirects: Redirects::default(),
            classify: Classify::default(),
            active_probe: None,
            headers: HeaderMap::new(),
        }
    }

    /// The id of the breaker in front of its own origin.
    pub fn breaker_id(&self) -> String {
        match self.key {
            Key::Origin => crate::origin::breaker_id(&self.url),
            Key::Upstream => self.name.as_ref().to_owned(),
        }
    }
}

/// Without the configured headers' values: they are secrets more often than not.
impl fmt::Debug for Upstream {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("Upstream")
            .field("name", &self.name)
            .field("url", &self.url.as_str())
            .field("policy", &self.policy.settings().name)
            .field("headers", &self.headers.keys().collect::<Vec<_>>())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
