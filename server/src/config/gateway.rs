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
