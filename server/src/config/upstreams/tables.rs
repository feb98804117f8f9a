//! The tables of one upstream: each takes what it knows and refuses the rest by name.

use std::time::Duration;

use fuseboard_fetch::{ActiveProbe, Queue, Redirects, Retry, Timeouts};
use http::{HeaderMap, HeaderName, HeaderValue, Method, uri::PathAndQuery};
use url::Url;

use super::super::reader::{ConfigError, Item, Section};

pub(super) fn read_timeouts(mut section: Section, default: Timeouts) -> Result<Timeouts, ConfigError> {
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

pub(super) fn read_queue(mut section: Section, default: Queue) -> Result<Queue, ConfigError> {
    let queue = Queue {
        concurrent: section.count("concurrent")?.map_or(default.concurrent, |count| count as usize),
        waiting: section.count_or_none("waiting")?.map_or(default.waiting, |count| count as usize),
    };
    section.finish()?;
    Ok(queue)
}

/// More attempts than anybody needs: each is a call the host may be too weak for.
const MOST_ATTEMPTS: u32 = 10;

pub(super) fn read_retry(mut section: Section) -> Result<Retry, ConfigError> {
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

pub(super) fn read_redirects(mut section: Section) -> Result<Redirects, ConfigError> {
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

pub(super) fn read_probe(mut section: Section) -> Result<ActiveProbe, ConfigError> {
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

pub(super) fn read_headers(
    section: Section,
    secrets: &dyn Fn(&str) -> std::io::Result<String>,
) -> Result<HeaderMap, ConfigError> {
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
