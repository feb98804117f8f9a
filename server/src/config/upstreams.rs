//! `[[upstream]]`: what the gateway fetches from. Everything here ends up as [`fuseboard_fetch::Upstream`]; what is not
//! available yet is refused by name, so that nobody believes it works.

mod tables;

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use fuseboard_breaker::Policy;
use fuseboard_fetch::{Key, Protocol, Queue, Timeouts, Upstream, may_lead_to};
use http::uri::{Authority, Scheme};
use url::Url;

use self::tables::{read_headers, read_probe, read_queue, read_redirects, read_retry, read_timeouts};
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

impl Entry {
    fn leads_to(&self, origin: &str) -> bool {
        self.rewriting.files.iter().any(|files| files.origin == origin) || may_lead_to(&self.upstream.redirects, origin)
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

    /// The names of those whose calls pass a breaker: whose own it is, or, when it is nobody's own, whose files or
    /// redirects lead there.
    pub fn names_of(&self, breaker: &str) -> Vec<String> {
        let names = |passes: &dyn Fn(&Entry) -> bool| -> Vec<String> {
            self.iter().filter(|entry| passes(entry)).map(|entry| entry.upstream.name.to_string()).collect()
        };
        let own = names(&|entry| &*entry.breaker == breaker);
        if own.is_empty() { names(&|entry| entry.leads_to(breaker)) } else { own }
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
