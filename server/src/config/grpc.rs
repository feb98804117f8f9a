//! What is different about an upstream that speaks gRPC: services instead of a path, codes instead of statuses, a health
//! check instead of a request of choice.

use fuseboard_breaker::{
    Outcome,
    grpc::{Code, Codes},
};
use fuseboard_fetch::{ActiveProbe, Classify, Protocol, Upstream};

use super::{
    reader::{ConfigError, Item, Section},
    services::{self, Service},
};

/// What is spoken: as `protocol` says, or else the URL's scheme.
pub(super) fn read_protocol(section: &mut Section, upstream: Upstream) -> Result<Upstream, ConfigError> {
    let upstream = match (section.text("protocol")?.as_deref(), upstream.protocol) {
        (None | Some("http"), Protocol::Http) | (None | Some("grpc"), Protocol::Grpc) => upstream,
        (Some("grpc"), Protocol::Http) => upstream.speaking_grpc(),
        (Some("http"), Protocol::Grpc) => {
            return Err(section.error("protocol", "is \"http\", but the url says gRPC; it takes \"grpc\" there"));
        }
        (Some(other), _) => {
            return Err(section.error("protocol", format!("{other:?} is not spoken; it takes \"http\" or \"grpc\"")));
        }
    };
    if upstream.protocol == Protocol::Grpc && !matches!(upstream.url.path(), "" | "/") {
        return Err(
            section.error("url", "has a path, but gRPC calls have theirs; it takes scheme, host and port alone")
        );
    }
    Ok(upstream)
}

/// Keys that mean nothing for what is spoken.
pub(super) fn not_for(protocol: Protocol) -> &'static [&'static str] {
    match protocol {
        Protocol::Http => &[],
        Protocol::Grpc => &["redirects", "rewrite", "preset", "retry", "coalesce"],
    }
}

/// The services that go there.
pub(super) fn read_services(section: &mut Section, protocol: Protocol) -> Result<Vec<Service>, ConfigError> {
    const TAKES: &str = "it takes a list such as [\"accounts.v1.*\"]";
    let list = section.list("services")?;
    let list = match (protocol, list) {
        (Protocol::Http, None) => return Ok(Vec::new()),
        (Protocol::Http, Some(_)) => {
            return Err(section.error("services", "are for protocol = \"grpc\" alone; leave it out"));
        }
        (Protocol::Grpc, None) => {
            return Err(section.error("services", format!("is missing, and gRPC is routed by it; {TAKES}")));
        }
        (Protocol::Grpc, Some(list)) if list.is_empty() => {
            return Err(section.error("services", format!("is empty, so nothing would go there; {TAKES}")));
        }
        (Protocol::Grpc, Some(list)) => list,
    };
    let mut services: Vec<Service> = Vec::with_capacity(list.len());
    for item in list {
        let path = item.path.clone();
        let service = Service::read(item)?;
        let twice = |earlier: &&Service| earlier.covers(service.as_str()) || service.covers(earlier.as_str());
        if let Some(earlier) = services.iter().find(twice) {
            let (one, other) = (service.as_str(), earlier.as_str());
            return Err(ConfigError::new(path, format!("{one:?} overlaps {other:?} of the same list; leave one out")));
        }
        services.push(service);
    }
    Ok(services)
}

/// Of a gRPC upstream, what each code proves.
pub(super) fn read_classify(mut section: Section) -> Result<Classify, ConfigError> {
    let default = Classify::default();
    for key in ["count_429", "cooldown", "abandoned_after"] {
        if section.take(key).is_some() {
            return Err(section.error(key, "is for HTTP and says nothing about gRPC; leave it out"));
        }
    }
    let mut codes = Codes::default();
    if let Some(failures) = read_codes(&mut section, "failures")? {
        let failing = Code::ALL.into_iter().filter(|code| default.codes.outcome(*code) == Outcome::Failure);
        codes = codes.with(failing, Outcome::Alive).with(failures, Outcome::Failure);
    }
    codes = codes.with(read_codes(&mut section, "alive")?.unwrap_or_default(), Outcome::Alive);
    codes = read_min_budget(&mut section, codes)?;
    let uncounted = match section.list("uncounted")? {
        Some(list) => list.into_iter().map(read_name).collect::<Result<_, _>>()?,
        None => default.uncounted.clone(),
    };
    section.finish()?;
    Ok(Classify { codes, uncounted, ..default })
}

/// How short a deadline proves nothing; for HTTP it is read and means nothing.
pub(super) fn read_min_budget(section: &mut Section, codes: Codes) -> Result<Codes, ConfigError> {
    Ok(match section.maybe_duration("min_budget")? {
        Some(least) => codes.min_budget(least),
        None => codes,
    })
}

fn read_codes(section: &mut Section, key: &'static str) -> Result<Option<Vec<Code>>, ConfigError> {
    let read = |item: Item| {
        let path = item.path.clone();
        let text = item.text()?;
        Code::from_name(&text).filter(|code| *code != Code::Ok).ok_or_else(|| {
            let all = Code::ALL.iter().skip(1).map(|code| code.as_str()).collect::<Vec<_>>().join(", ");
            ConfigError::new(path, format!("{text:?} is no gRPC code that tells of trouble; it takes {all}"))
        })
    };
    section.list(key)?.map(|list| list.into_iter().map(read).collect()).transpose()
}

fn read_name(item: Item) -> Result<String, ConfigError> {
    let path = item.path.clone();
    let name = item.text()?;
    if services::is_name(&name) {
        return Ok(name);
    }
    let takes = "it takes one such as \"grpc.health.v1.Health\"";
    Err(ConfigError::new(path, format!("{name:?} is no gRPC service; {takes}")))
}

/// The health check that is sent.
pub(super) fn read_probe(mut section: Section) -> Result<ActiveProbe, ConfigError> {
    for key in ["method", "path"] {
        if section.take(key).is_some() {
            return Err(
                section.error(key, "is for HTTP; a gRPC probe is a health check, it takes service = \"NAME\" or {}")
            );
        }
    }
    let service = section.take("service").map(read_name).transpose()?.unwrap_or_default();
    section.finish()?;
    Ok(ActiveProbe::Health { service })
}
