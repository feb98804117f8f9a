//! `preset` and `rewrite`: which links in an upstream's metadata are pointed back to the gateway, so that files come
//! through it too. A host of files is reached under `/NAME~ORIGIN/`, with the upstream's settings, on a breaker of its
//! own; hosts that are not named are not reached at all.

use fuseboard_fetch::{Upstream, breaker_id, says_prohibited};
use url::Url;

use super::{
    reader::{ConfigError, Item, Section},
    upstreams::Target,
};

/// What kind of clients an upstream serves.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Preset {
    /// Links in JSON.
    Npm,
    /// Links in HTML and JSON, relative ones too.
    Pypi,
    /// The links in a sparse index's `config.json`.
    Cargo,
    /// As generic: what Maven reads holds no links.
    Maven,
    /// Links in HTML and JSON, once `rewrite` names a host.
    #[default]
    Generic,
}

/// What is pointed back to the gateway.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Rewriting {
    /// What kind of metadata it is.
    pub preset: Preset,
    /// The hosts beside the upstream's own whose links are.
    pub files: Vec<Files>,
}

/// A host of files.
#[derive(Debug, Clone, PartialEq)]
pub struct Files {
    /// Its origin, as the breaker's id.
    pub origin: String,
    /// What stands behind the upstream's name and `~` at the gateway.
    pub segment: String,
    /// Where it is.
    pub target: Target,
}

impl Preset {
    /// Each with its name in the configuration.
    pub const NAMES: [(&'static str, Self); 5] = [
        ("npm", Self::Npm),
        ("pypi", Self::Pypi),
        ("cargo", Self::Cargo),
        ("maven", Self::Maven),
        ("generic", Self::Generic),
    ];

    /// Its name in the configuration.
    pub fn as_str(self) -> &'static str {
        Self::NAMES.iter().find(|(_, preset)| *preset == self).map_or("generic", |(name, _)| name)
    }
}

impl Rewriting {
    /// Whether there is anything to do.
    pub fn is_on(&self) -> bool {
        !self.files.is_empty() || matches!(self.preset, Preset::Npm | Preset::Pypi | Preset::Cargo)
    }

    /// The host of files behind a path's first segment.
    pub fn files(&self, segment: &str) -> Option<&Files> {
        // Some clients encode what need not be encoded.
        let plain = segment.replace("%7E", "~").replace("%7e", "~").replace("%5b", "%5B").replace("%5d", "%5D");
        self.files.iter().find(|files| files.segment == plain)
    }
}

pub(super) fn read_rewriting(section: &mut Section) -> Result<(Preset, Vec<Item>), ConfigError> {
    let preset = match section.text("preset")?.as_deref() {
        None => Preset::default(),
        Some(named) => {
            let known = Preset::NAMES.iter().find(|(name, _)| *name == named).map(|(_, preset)| *preset);
            known.ok_or_else(|| {
                let names = Preset::NAMES.map(|(name, _)| format!("{name:?}")).join(", ");
                section.error("preset", format!("{named:?} is none; it takes {names}"))
            })?
        }
    };
    Ok((preset, section.list("rewrite")?.unwrap_or_default()))
}

/// Checks the hosts against the upstream they belong to, and lets redirects to them be followed.
pub(super) fn check_rewriting(
    (preset, hosts): (Preset, Vec<Item>),
    upstream: &mut Upstream,
) -> Result<Rewriting, ConfigError> {
    let mut files: Vec<Files> = Vec::with_capacity(hosts.len());
    for item in hosts {
        let path = item.path.clone();
        let fault = |message: String| Err(ConfigError::new(path.clone(), message));
        let url = item.origin()?;
        let origin = breaker_id(&url);
        if origin == breaker_id(&upstream.url) && upstream.url.path() == "/" {
            return fault("is the upstream's own, whose links are rewritten anyway; leave it out".to_owned());
        }
        if files.iter().any(|earlier| earlier.origin == origin) {
            return fault("is named twice; leave one of them out".to_owned());
        }
        if says_prohibited(&url) && !upstream.allow_private {
            return fault("is an address of your own network, which takes allow_private = true".to_owned());
        }
        let Some(target) = Target::new(&url) else {
            return fault("has no host; it takes https://HOST".to_owned());
        };
        // A redirect from one file to another stays on this side.
        let pattern = format!("{}:{}", url.host_str().unwrap_or_default(), url.port_or_known_default().unwrap_or(0));
        upstream.redirects.hosts.push(pattern);
        let segment = origin.replace(':', "~").replace('[', "%5B").replace(']', "%5D");
        files.push(Files { origin, segment, target });
    }
    Ok(Rewriting { preset, files })
}

/// Links that lead to the gateway already lead nowhere else.
pub(super) fn keep_apart(public: Option<&Url>, at: usize, rewriting: &Rewriting) -> Result<(), ConfigError> {
    let Some(public) = public.map(breaker_id) else { return Ok(()) };
    match rewriting.files.iter().position(|files| files.origin == public) {
        Some(file) => Err(ConfigError::new(
            format!("upstream[{at}].rewrite[{file}]"),
            "is gateway.public_url, where rewritten links lead; it takes the host that has the files",
        )),
        None => Ok(()),
    }
}
