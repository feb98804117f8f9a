//! `[gateway]`, `[admin]` and `[ops]`: where the server listens and what its links say.

use std::net::SocketAddr;

use url::Url;

use super::reader::{ConfigError, Section};

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
