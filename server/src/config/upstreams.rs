//! `[[upstream]]`: what the gateway fetches from. Everything here ends up as [`fuseboard_fetch::Upstream`]; what is not
//! available yet is refused by name, so that nobody believes it works.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
    time::Duration,
};

use fuseboard_breaker::Policy;
use fuseboard_fetch::{ActiveProbe, Key, Protocol, Queue, Redirects, Retry, Timeouts, Upstream};
use http::{
    HeaderMap, HeaderName, HeaderValue, Method,
    uri::{Authority, PathAndQuery, Scheme},
};
use url::Url;

use super::{
    classify::read_classify,
    grpc,
    reader::{ConfigError, Item, Section},
    rewriting::{Rewriting, check_rewriting, read_rewriting},
    services::{Routes, Service},
};

/// Every upstream, by name and by breaker.
#[derive(Debug, Clone, Default)]
pub struct Upstreams {
    entries: Vec<Arc<Entry>>,
    by_name: HashMap<Arc<str>, usize>,
    routes: Routes,
}

/// One upstream with what a request to it needs.
#[derive(Debug, Clone, PartialEq)]
pub struct Entry {
    /// As configured.
    pub upstream: Arc<Upstream>,
    /// Its own breaker.
    pub breaker: Arc<str>,
    /// Its URL in parts.
    pub target: Target,
    /// Which links in its metadata lead back to the gateway.
    pub rewriting: Rewriting,
    /// The gRPC services that go there.
    pub services: Vec<Service>,
}

/// A URL cut so that a path only has to be put behind it.
#[derive(Debug, Clone, PartialEq)]
pub struct Target {
    /// http or https.
    pub scheme: Scheme,
    /// Host and port.
    pub authority: Authority,
    /// The path in front of every path, without its last slash.
    pub base: Arc<str>,
}

impl Target {
    /// Cuts a URL; `None` when it has no host.
    pub fn new(url: &Url) -> Option<Self> {
        let authority = match (url.host_str()?, url.port()) {
            (host, Some(port)) => format!("{host}:{port}"),
            (host, None) => host.to_owned(),
        };
        Some(Self {
            scheme: url.scheme().parse().ok()?,
            authority: authority.parse().ok()?,
            base: url.path().trim_end_matches('/').into(),
        })
    }
}

impl Upstreams {
    /// Files checked upstreams by name.
    fn new(upstreams: Vec<Read>) -> Result<Self, ConfigError> {
        let mut all = Self::default();
        for (at, Read { upstream, services, rewriting }) in upstreams.into_iter().enumerate() {
            all.routes.add(&services, at).map_err(|(place, taken)| {
                let by = &all.entries[taken].upstream.name;
                let message = format!("{:?} goes to {by:?} already; leave one of them out", services[place].as_str());
                ConfigError::new(format!("upstream[{at}].services[{place}]"), message)
            })?;
            let target = Target::new(&upstream.url)
                .ok_or_else(|| ConfigError::new(format!("upstream[{at}].url"), "has no host; it takes https://HOST"))?;
            all.by_name.insert(upstream.name.clone(), at);
            let breaker = upstream.breaker_id().into();
            let upstream = Arc::new(upstream);
            all.entries.push(Arc::new(Entry { upstream, breaker, target, services, rewriting }));
        }
        Ok(all)
    }

    /// The upstream of this name.
    pub fn get(&self, name: &str) -> Option<&Arc<Entry>> {
        self.by_name.get(name).map(|at| &self.entries[*at])
    }

    /// The upstream a gRPC service goes to.
    pub fn serving(&self, service: &str) -> Option<&Arc<Entry>> {
        self.routes.find(service).map(|at| &self.entries[at])
    }

    /// Whether an upstream names this very service.
    pub fn names_service(&self, service: &str) -> bool {
        self.iter().flat_map(|entry| &entry.services).any(|named| named.as_str() == service)
    }

    /// Those that speak gRPC.
    pub fn grpc(&self) -> impl Iterator<Item = &Arc<Entry>> {
        self.entries.iter().filter(|entry| entry.upstream.protocol == Protocol::Grpc)
    }

    /// All of them, in the order they are configured.
    pub fn iter(&self) -> impl Iterator<Item = &Entry> {
        self.entries.iter().map(Arc::as_ref)
    }

    /// Their names, in the order they are configured.
    pub fn names(&self) -> Vec<&str> {
        self.entries.iter().map(|entry| &*entry.upstream.name).collect()
    }

    /// The names of those whose own breaker this is.
    pub fn names_of<'a>(&'a self, breaker: &'a str) -> impl Iterator<Item = &'a Arc<str>> {
        self.entries.iter().filter(move |entry| &*entry.breaker == breaker).map(|entry| &entry.upstream.name)
    }

    /// The first upstream whose own breaker this is.
    pub fn of_breaker(&self, breaker: &str) -> Option<&Entry> {
        self.iter().find(|entry| &*entry.breaker == breaker)
    }

    /// The same, with the entries of `before` that did not change: what is at work for those goes on.
    #[must_use]
    pub fn keeping(mut self, before: &Self) -> Self {
        for entry in &mut self.entries {
            if let Some(known) = before.get(&entry.upstream.name)
                && known == entry
            {
                *entry = known.clone();
            }
        }
        self
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.entries.len()
    }

    /// Whether there is none yet.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }
}

/// One upstream as it was read.
struct Read {
    upstream: Upstream,
    services: Vec<Service>,
    rewriting: Rewriting,
}

pub(super) fn read_upstreams(
    items: Vec<Item>,
    policies: &BTreeMap<String, Policy>,
    secrets: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Upstreams, ConfigError> {
    let mut upstreams: Vec<Read> = Vec::with_capacity(items.len());
    for item in items {
        let path = item.path.clone();
        let read = read_upstream(item.section()?, policies, secrets)?;
        for earlier in &upstreams {
            agree(&path, &earlier.upstream, &read.upstream)?;
        }
        upstreams.push(read);
    }
    Upstreams::new(upstreams)
}

/// Two upstreams of one name cannot be told apart, and two that share a breaker must want the same of it.
fn agree(path: &str, earlier: &Upstream, upstream: &Upstream) -> Result<(), ConfigError> {
    if earlier.name == upstream.name {
        return Err(ConfigError::new(
            format!("{path}.name"),
            format!("{:?} is taken by an earlier upstream", &*upstream.name),
        ));
    }
    let breaker = upstream.breaker_id();
    if earlier.breaker_id() != breaker {
        return Ok(());
    }
    let differs = if earlier.policy.settings() != upstream.policy.settings() {
        "policy"
    } else if earlier.classify != upstream.classify {
        "classify"
    } else if earlier.active_probe != upstream.active_probe {
        "active_probe"
    } else {
        return Ok(());
    };
    Err(ConfigError::new(
        format!("{path}.{differs}"),
        format!(
            "differs from that of {:?}, which shares the breaker {breaker}; make them equal, or give one of them \
             key = \"upstream\"",
            &*earlier.name
        ),
    ))
}

fn read_upstream(
    mut section: Section,
    policies: &BTreeMap<String, Policy>,
    secrets: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<Read, ConfigError> {
    let missing =
        |section: &Section, key: &str, takes: &str| section.error(key, format!("is missing; it takes {takes}"));
    let name = section.text("name")?.ok_or_else(|| missing(&section, "name", "a name such as \"npm\""))?;
    let url = section
        .text("url")?
        .ok_or_else(|| missing(&section, "url", "an address such as \"https://registry.example\""))?;
    if matches!(&*name, "." | "..") {
        let takes = "it takes a name such as \"npm\"";
        return Err(section.error("name", format!("{name:?} is what clients take out of a path; {takes}")));
    }
    let upstream = Upstream::plain(&name, &url).map_err(|error| section.error(error.field, error.message))?;
    let mut upstream = grpc::read_protocol(&mut section, upstream)?;
    let protocol = upstream.protocol;
    let services = grpc::read_services(&mut section, protocol)?;
    if upstream.url.query().is_some() || upstream.url.fragment().is_some() {
        return Err(section.error("url", "has a query or fragment, which no path can be put behind; leave it out"));
    }
    let policy = section.text("policy")?.unwrap_or_else(|| upstream.policy.settings().name.clone());
    upstream.policy = policies.get(&policy).cloned().ok_or_else(|| {
        let known = policies.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
        section
            .error("policy", format!("{policy:?} is not known; it takes {known}, or a [policy.{policy}] of your own"))
    })?;
    upstream.timeouts = read_timeouts(section.section("timeouts")?, Timeouts::of(protocol))?;
    upstream.queue = read_queue(section.section("queue")?, Queue::of(protocol))?;
    upstream.allow_private = section.flag("allow_private", upstream.allow_private)?;
    upstream.key = match section.text("key")?.as_deref() {
        None => upstream.key,
        Some("origin") => Key::Origin,
        Some("upstream") => Key::Upstream,
        Some(other) => {
            return Err(section.error("key", format!("{other:?} is none; it takes \"origin\" or \"upstream\"")));
        }
    };
    if let Some(key) = grpc::not_for(protocol).iter().find(|key| section.has(key)) {
        return Err(section.error(key, "is for HTTP and says nothing about gRPC; leave it out"));
    }
    upstream.retry = read_retry(section.section("retry")?)?;
    upstream.coalesce = section.flag("coalesce", upstream.coalesce)?;
    upstream.redirects = read_redirects(section.section("redirects")?)?;
    let (classify, probe) = (section.section("classify")?, section.maybe_section("active_probe")?);
    (upstream.classify, upstream.active_probe) = match protocol {
        Protocol::Http => (read_classify(classify)?, probe.map(read_probe).transpose()?),
        Protocol::Grpc => (grpc::read_classify(classify)?, probe.map(grpc::read_probe).transpose()?),
    };
    upstream.headers = read_headers(section.section("headers")?, secrets)?;
    let rewriting = read_rewriting(&mut section)?;
    let rewriting = check_rewriting(rewriting, &mut upstream)?;
    lease_outlives(&policy, &upstream)?;
    section.finish()?;
    Ok(Read { upstream, services, rewriting })
}

/// A probe must be able to time out by itself before its lease ends.
fn lease_outlives(policy: &str, upstream: &Upstream) -> Result<(), ConfigError> {
    outlives(
        policy,
        &upstream.policy,
        &upstream.timeouts,
        &format!("of {}", upstream.name),
        ", or shorter timeouts there",
    )
}

/// A policy no upstream names yet is judged as the first that names it would be, without timeouts of its own.
pub(super) fn judge_unused(policies: &BTreeMap<String, Policy>, upstreams: &Upstreams) -> Result<(), ConfigError> {
    let used = |name: &str| upstreams.iter().any(|entry| entry.upstream.policy.settings().name == *name);
    for (name, policy) in policies.iter().filter(|(name, _)| !used(name)) {
        outlives(name, policy, &Timeouts::default(), "by default", "")?;
    }
    Ok(())
}

fn outlives(name: &str, policy: &Policy, timeouts: &Timeouts, whose: &str, or: &str) -> Result<(), ConfigError> {
    let lease = policy.settings().half_open.lease;
    let slowest = timeouts.connect.saturating_add(timeouts.first_byte);
    if lease > slowest {
        return Ok(());
    }
    let message = format!(
        "is {}, not longer than connect plus first_byte {whose} ({}); it takes more than that{or}",
        humantime::format_duration(lease),
        humantime::format_duration(slowest),
    );
    Err(ConfigError::new(format!("policy.{name}.half_open.lease"), message))
}

fn read_timeouts(mut section: Section, default: Timeouts) -> Result<Timeouts, ConfigError> {
    let timeouts = Timeouts {
        connect: positive(&mut section, "connect", default.connect)?,
        first_byte: positive(&mut section, "first_byte", default.first_byte)?,
        between_bytes: positive(&mut section, "between_bytes", default.between_bytes)?,
        client_idle: positive(&mut section, "client_idle", default.client_idle)?,
        total: positive(&mut section, "total", default.total)?,
    };
    section.finish()?;
    Ok(timeouts)
}

fn positive(section: &mut Section, key: &'static str, default: Duration) -> Result<Duration, ConfigError> {
    let duration = section.duration(key, default)?;
    if duration < Duration::from_millis(1) {
        return Err(section.error(key, "is no time at all; it takes \"1ms\" or more"));
    }
    Ok(duration)
}

fn read_queue(mut section: Section, default: Queue) -> Result<Queue, ConfigError> {
    let queue = Queue {
        concurrent: section.count("concurrent")?.map_or(default.concurrent, |count| count as usize),
        waiting: section.count_or_none("waiting")?.map_or(default.waiting, |count| count as usize),
    };
    section.finish()?;
    Ok(queue)
}

/// More attempts than anybody needs: each is a call the host may be too weak for.
const MOST_ATTEMPTS: u32 = 10;

fn read_retry(mut section: Section) -> Result<Retry, ConfigError> {
    let default = Retry::default();
    let attempts = section.count("attempts")?.unwrap_or(default.attempts);
    if attempts > MOST_ATTEMPTS {
        let message = format!("{attempts} are too many for one request; it takes 1 (off) to {MOST_ATTEMPTS}");
        return Err(section.error("attempts", message));
    }
    let base = positive(&mut section, "base", default.base)?;
    let max = positive(&mut section, "max", default.max)?;
    if max < base {
        let [base, max] = [base, max].map(humantime::format_duration);
        return Err(section.error("max", format!("{max} is less than base ({base}); it takes that or more")));
    }
    section.finish()?;
    Ok(Retry { attempts, base, max })
}

fn read_redirects(mut section: Section) -> Result<Redirects, ConfigError> {
    let default = Redirects::default();
    let follow = section.flag("follow", default.follow)?;
    let hosts = section.list("hosts")?.unwrap_or_default();
    let hosts = hosts.into_iter().map(read_host).collect::<Result<_, _>>()?;
    section.finish()?;
    Ok(Redirects { follow, hosts })
}

fn read_host(item: Item) -> Result<String, ConfigError> {
    let path = item.path.clone();
    let host = item.text()?;
    let named = host.strip_prefix("*.").unwrap_or(&host);
    if host != "*"
        && Url::parse(&format!("http://{named}/")).map_or(true, |url| url.path() != "/" || named.contains('*'))
    {
        let takes = "it takes \"cdn.example\", \"cdn.example:8443\", \"*.cdn.example\" or \"*\"";
        return Err(ConfigError::new(path, format!("{host:?} is no host; {takes}")));
    }
    Ok(host.to_ascii_lowercase())
}

fn read_probe(mut section: Section) -> Result<ActiveProbe, ConfigError> {
    let method = match section.text("method")?.as_deref() {
        None | Some("HEAD") => Method::HEAD,
        Some("GET") => Method::GET,
        Some("OPTIONS") => Method::OPTIONS,
        Some(other) => {
            let takes = "it takes \"HEAD\", \"GET\" or \"OPTIONS\"";
            return Err(section.error("method", format!("{other:?} is no question a host can be asked; {takes}")));
        }
    };
    let path = section.text("path")?.unwrap_or_else(|| "/".to_owned());
    if !path.starts_with('/') || path.parse::<PathAndQuery>().is_err() {
        return Err(section.error("path", format!("{path:?} is no path; it takes \"/\" or \"/health\"")));
    }
    section.finish()?;
    Ok(ActiveProbe::Http { method, path })
}

/// Headers that belong to one connection or are made anew for each request.
const NOT_OURS: [&str; 9] =
    ["host", "connection", "content-length", "transfer-encoding", "te", "trailer", "upgrade", "keep-alive", "via"];

fn read_headers(section: Section, secrets: &dyn Fn(&str) -> std::io::Result<String>) -> Result<HeaderMap, ConfigError> {
    let mut headers = HeaderMap::new();
    for (key, item) in section.into_named() {
        let path = item.path.clone();
        let fault = |message: String| ConfigError::new(path.clone(), message);
        let text = item.text()?;
        let (name, value) = match key.strip_suffix("_file") {
            Some(name) => {
                let value =
                    secrets(&text).map_err(|error| fault(format!("{text}: {error}; it takes a readable file")))?;
                (name, value.trim_end_matches(['\r', '\n']).to_owned())
            }
            None => (&*key, text),
        };
        let name = HeaderName::try_from(name).map_err(|_| fault("is no header's name".to_owned()))?;
        if NOT_OURS.contains(&name.as_str()) {
            return Err(fault("is made anew for each request and cannot be set; leave it out".to_owned()));
        }
        // The value may be a secret: it is never repeated.
        let mut value = HeaderValue::try_from(value)
            .map_err(|_| fault("holds a line break or control character; it takes one line of text".to_owned()))?;
        value.set_sensitive(true);
        if headers.insert(name, value).is_some() {
            return Err(fault("is set twice; leave one of them out".to_owned()));
        }
    }
    Ok(headers)
}
