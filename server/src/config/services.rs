//! Which upstream a gRPC service goes to: `accounts.v1.Accounts` by its name, `accounts.v1.*` everything below a package,
//! `*` whatever nobody else names. The most specific one wins.

use std::collections::HashMap;

use super::reader::{ConfigError, Item};

/// One of an upstream's `services`, as configured.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Service(Box<str>);

impl Service {
    /// As configured.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// What it is looked up by. A name has no dot at its end, so a package cannot be taken for one.
    fn key(&self) -> &str {
        self.0.strip_suffix('*').unwrap_or(&self.0)
    }

    /// Whether it names everything another one does.
    pub fn covers(&self, service: &str) -> bool {
        if self.0.ends_with('*') { service.starts_with(self.key()) } else { service == &*self.0 }
    }

    pub(super) fn read(item: Item) -> Result<Self, ConfigError> {
        const TAKES: &str = "it takes a name such as \"accounts.v1.Accounts\", a package \"accounts.v1.*\" or \"*\"";
        let path = item.path.clone();
        let text = item.text()?;
        let name = text.strip_suffix(".*").unwrap_or(&text);
        if text == "*" || is_name(name) {
            return Ok(Self(text.into()));
        }
        Err(ConfigError::new(path, format!("{text:?} is no gRPC service; {TAKES}")))
    }
}

/// Whether protobuf could have made this name of a service or package.
pub(super) fn is_name(text: &str) -> bool {
    text.split('.').all(|part| {
        part.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_')
            && part.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
    })
}

/// From a service to an upstream, by its place in the configuration.
#[derive(Debug, Clone, Default)]
pub(super) struct Routes(HashMap<Box<str>, usize>);

impl Routes {
    /// Adds an upstream's; the place in its list of one that is taken already, and by whom.
    pub(super) fn add(&mut self, services: &[Service], upstream: usize) -> Result<(), (usize, usize)> {
        for (at, service) in services.iter().enumerate() {
            if let Some(taken) = self.0.insert(service.key().into(), upstream) {
                return Err((at, taken));
            }
        }
        Ok(())
    }

    /// Who serves this one.
    pub(super) fn find(&self, service: &str) -> Option<usize> {
        let mut key = service;
        loop {
            if let Some(found) = self.0.get(key) {
                return Some(*found);
            }
            // One package up; at last the empty one, which is `*`.
            let above = key.strip_suffix('.').unwrap_or(key);
            key = match above.rfind('.') {
                Some(dot) => &above[..=dot],
                None if key.is_empty() => return None,
                None => "",
            };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn services(list: &[&str]) -> Vec<Service> {
        list.iter().map(|text| Service((*text).into())).collect()
    }

    #[test]
    fn the_most_specific_one_wins() {
        let mut routes = Routes::default();
        for (upstream, list) in
            [&["accounts.v1.*"][..], &["accounts.v1.Audit", "billing.*"], &["accounts.v1.deep.*"], &["*"]]
                .into_iter()
                .enumerate()
        {
            routes.add(&services(list), upstream).expect("no two of a kind");
        }
        for (service, upstream) in [
            ("accounts.v1.Accounts", 0),
            ("accounts.v1.Audit", 1),
            ("accounts.v1.deep.Er", 2),
            ("accounts.v1.other.Deep", 0),
            ("billing.v2.Invoices", 1),
            ("accounts.v1", 3),
            ("accounts.v10.Accounts", 3),
            ("Plain", 3),
        ] {
            assert_eq!(routes.find(service), Some(upstream), "{service}");
        }
        let mut routes = Routes::default();
        routes.add(&services(&["a.*"]), 0).expect("the first");
        assert_eq!((routes.find("b.C"), routes.find("a"), routes.find("")), (None, None, None));
        assert_eq!(routes.add(&services(&["b.*", "a.*"]), 7), Err((1, 0)));
    }

    #[test]
    fn a_pattern_covers_what_is_below_it() {
        let covers = |pattern: &str, service: &str| services(&[pattern])[0].covers(service);
        assert!(covers("a.*", "a.B") && covers("a.*", "a.b.C") && covers("*", "x") && covers("a.B", "a.B"));
        assert!(!covers("a.*", "ab.C") && !covers("a.B", "a.Bc") && !covers("a.*", "a"));
    }
}
