//! `[gateway]`, `[admin]` and `[ops]`: where the server listens and what its links say.

use std::net::{IpAddr, SocketAddr};

use url::{Host, Url};

use super::{
    reader::{ConfigError, Section},
    upstreams::Upstreams,
};

/// What clients talk to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GatewaySettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What links to it say; where it listens when absent.
    pub public_url: Option<Url>,
}

/// Board, API and metrics.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdminSettings {
    /// Where it listens.
    pub listen: SocketAddr,
    /// What links in refusals say; where it listens when absent.
    pub public_url: Option<Url>,
}

impl Default for GatewaySettings {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 8080)), public_url: None }
    }
}

impl Default for AdminSettings {
    fn default() -> Self {
        Self { listen: SocketAddr::from(([127, 0, 0, 1], 3000)), public_url: None }
    }
}

pub(super) fn read_gateway(mut section: Section) -> Result<GatewaySettings, ConfigError> {
    let default = GatewaySettings::default();
    let settings = GatewaySettings {
        listen: section.address("listen")?.unwrap_or(default.listen),
        public_url: section.web_url("public_url")?,
    };
    section.finish()?;
    Ok(settings)
}

pub(super) fn read_admin(mut section: Section) -> Result<AdminSettings, ConfigError> {
    let default = AdminSettings::default();
    let listen = section.address("listen")?.unwrap_or(default.listen);
    if !listen.ip().is_loopback() {
        return Err(section.error(
            "listen",
            format!(
                "{listen} can be reached by others and nobody signs in yet; it takes a loopback address such as \
                 \"127.0.0.1:3000\", with a proxy that checks who calls in front of it"
            ),
        ));
    }
    if let Some(base_path) = section.text("base_path")?
        && base_path != "/"
    {
        return Err(section.error("base_path", format!("{base_path:?} is not available yet; it takes \"/\"")));
    }
    let settings = AdminSettings { listen, public_url: section.web_url("public_url")? };
    section.finish()?;
    Ok(settings)
}

pub(super) fn read_ops(mut section: Section) -> Result<SocketAddr, ConfigError> {
    let listen = section.address("listen")?;
    let listen = listen
        .ok_or_else(|| section.error("listen", "is missing; it takes ADDRESS:PORT such as \"127.0.0.1:9090\""))?;
    section.finish()?;
    Ok(listen)
}

/// Two listeners cannot have one address.
pub(super) fn keep_apart(
    gateway: &GatewaySettings,
    admin: &AdminSettings,
    ops: Option<SocketAddr>,
) -> Result<(), ConfigError> {
    let (gateway, admin) = (("gateway.listen", gateway.listen), ("admin.listen", admin.listen));
    // Of gateway and admin, the one that was moved onto the other's default is at fault.
    let mut pairs = match admin.1 == AdminSettings::default().listen {
        true => vec![(admin, gateway)],
        false => vec![(gateway, admin)],
    };
    if let Some(ops) = ops {
        pairs.extend([gateway, admin].map(|earlier| (earlier, ("ops.listen", ops))));
    }
    for ((taken_by, earlier), (field, listen)) in pairs {
        if collide(earlier, listen) {
            let message =
                format!("{listen} is taken by {taken_by} ({earlier}); it takes an address or port of its own");
            return Err(ConfigError::new(field, message));
        }
    }
    Ok(())
}

/// Whether only one can be listened at. Whether `[::]` takes IPv4 too is the system's to say, so it is not judged here.
fn collide(one: SocketAddr, other: SocketAddr) -> bool {
    let every = one.ip().is_unspecified() || other.ip().is_unspecified();
    one.port() != 0 && (one == other || one.port() == other.port() && every && one.is_ipv4() == other.is_ipv4())
}

/// An upstream that is the gateway itself would be called round and round.
pub(super) fn no_loop(gateway: &GatewaySettings, upstreams: &Upstreams) -> Result<(), ConfigError> {
    for (at, entry) in upstreams.iter().enumerate() {
        let url = &entry.upstream.url;
        let same = if listens_at(gateway.listen, url) {
            format!("gateway.listen ({})", gateway.listen)
        } else if let Some(public) = gateway.public_url.as_ref().filter(|public| leads_back(public, url, upstreams)) {
            format!("gateway.public_url ({public})")
        } else {
            continue;
        };
        let message = format!("{url} is this gateway itself, by {same}; it takes the address of a host behind it");
        return Err(ConfigError::new(format!("upstream[{at}].url"), message));
    }
    Ok(())
}

/// Whether a URL leads to where something listens.
fn listens_at(listen: SocketAddr, url: &Url) -> bool {
    if listen.port() == 0 || url.port_or_known_default() != Some(listen.port()) {
        return false;
    }
    // The unspecified address is the machine's own, called or listened at.
    let own = |ip: IpAddr| ip.is_loopback() || ip.is_unspecified();
    let here = listen.ip().to_canonical();
    let is_here = |ip: IpAddr| {
        let ip = ip.to_canonical();
        ip == here || own(ip) && own(here) && (ip.is_unspecified() || here.is_unspecified())
    };
    match url.host() {
        Some(Host::Ipv4(ip)) => is_here(ip.into()),
        Some(Host::Ipv6(ip)) => is_here(ip.into()),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            own(here) && (name == "localhost" || name.ends_with(".localhost"))
        }
        None => false,
    }
}

/// Whether a URL is the gateway's public one: its front page or a path it routes. Behind a proxy that shares the name among
/// several services other paths are theirs.
fn leads_back(public: &Url, url: &Url, upstreams: &Upstreams) -> bool {
    let first = url.path().trim_start_matches('/').split('/').next().unwrap_or_default();
    public.origin() == url.origin() && (first.is_empty() || upstreams.get(first).is_some())
}

/// A link to where something listens; the unspecified address is said as loopback.
pub fn url_of(listen: SocketAddr) -> Url {
    let mut url = Url::parse("http://127.0.0.1/").expect("a fixed address");
    let ip = match listen.ip() {
        ip if !ip.is_unspecified() => ip,
        std::net::IpAddr::V4(_) => std::net::Ipv4Addr::LOCALHOST.into(),
        std::net::IpAddr::V6(_) => std::net::Ipv6Addr::LOCALHOST.into(),
    };
    // Both can only fail for schemes without hosts.
    let _ = url.set_ip_host(ip);
    let _ = url.set_port(Some(listen.port()));
    url
}
