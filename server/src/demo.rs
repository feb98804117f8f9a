//! Something to look at in a minute: the real server in front of local hosts that fail on a schedule, with shortened
//! waits and traffic, so that every word of state comes by within two minutes. Nothing leaves the machine.

mod hosts;
mod rpc;
mod script;
mod traffic;

use std::{
    net::SocketAddr,
    path::{Path, PathBuf},
    time::Instant,
};

use self::script::{Behind, CAST, Part};
use crate::{
    config::{Config, ConfigError, Environment, Flags},
    startup::{self, Edges, Running, StartError},
};

/// The demo as it runs.
pub struct Demo {
    /// The server.
    pub running: Running,
    /// Gone when the demo ends.
    pub store: Option<TemporaryStore>,
}

/// A store for one run of the demo; dropping it removes its folder.
pub struct TemporaryStore(PathBuf);

/// Why there is no demo.
#[derive(Debug, thiserror::Error)]
pub enum DemoError {
    /// Flags or environment cannot be used.
    #[error(transparent)]
    Config(#[from] ConfigError),
    /// The server does not start.
    #[error(transparent)]
    Start(#[from] StartError),
    /// The local hosts or the store's folder cannot be had.
    #[error("the demo's own hosts cannot run: {0}")]
    Hosts(#[from] std::io::Error),
}

/// Starts hosts, server and traffic.
///
/// # Errors
/// See [`DemoError`].
pub async fn start(flags: &Flags, env: &Environment) -> Result<Demo, DemoError> {
    let mut flags = flags.clone();
    let named = flags.store.is_some() || env.iter().any(|(key, _)| key == "FUSEBOARD_STORE__URL");
    let store = if named { None } else { Some(TemporaryStore::new()?) };
    if let Some(store) = &store {
        flags.store = Some(format!("sqlite:{}", store.0.join("demo.db").display()));
    }
    let epoch = Instant::now();
    let mut stage = Vec::with_capacity(CAST.len());
    for part in &CAST {
        stage.push((part, hosts::Host::bind(part)?));
    }
    let placed: Vec<_> = stage.iter().map(|(part, host)| (*part, host.address())).collect();
    let mut config = Config::load(&configuration(&placed), Path::new("the demo's own configuration"), env, &flags)?;
    config.demo = true;
    let running = startup::start(config, Edges::default()).await?;
    let lifecycle = &running.app.lifecycle;
    for (part, host) in stage {
        lifecycle.spawn(hosts::until_stopped(lifecycle.clone(), host.run(epoch)));
        let calls = traffic::calls(part, running.gateway_addr, epoch);
        lifecycle.spawn(hosts::until_stopped(lifecycle.clone(), calls));
    }
    let operator = traffic::operator(running.admin_addr);
    lifecycle.spawn(hosts::until_stopped(lifecycle.clone(), operator));
    Ok(Demo { running, store })
}

/// The demo's hosts as upstreams. Each has a breaker of its own name, so that the board reads well and a kept store
/// goes on in the next run, whatever ports that one gets.
fn configuration(placed: &[(&Part, SocketAddr)]) -> String {
    let mut text = String::from(
        r#"
node = "demo"
[policy.demo]
trip = [{ failures = 5, within = "10s" }]
wait = { first = "5s", factor = 2.0, max = "20s", jitter = 0.1 }
half_open = { probes = 1, successes = 1, lease = "15s" }
[policy.demo-grpc]
trip = [{ consecutive = 5, within = "30s" }]
wait = { first = "6s", factor = 1.0, max = "6s", jitter = 0.0 }
half_open = { probes = 3, successes = 3, lease = "15s" }
alive_breaks_run = true
"#,
    );
    for (part, address) in placed {
        let (name, own) = (
            part.name,
            match part.behind {
                Behind::Grpc { services, .. } => {
                    format!("protocol = \"grpc\"\nservices = [{services:?}]\npolicy = \"demo-grpc\"")
                }
                Behind::Http(_) | Behind::Nobody => {
                    "key = \"upstream\"\npolicy = \"demo\"\nclassify = { cooldown = true }".to_owned()
                }
            },
        );
        text.push_str(&format!(
            r#"
[[upstream]]
name = "{name}"
url = "http://{address}"
timeouts = {{ connect = "2s", first_byte = "10s", between_bytes = "10s" }}
{own}
"#,
        ));
    }
    text
}

impl TemporaryStore {
    fn new() -> std::io::Result<Self> {
        let name = format!("fuseboard-demo-{}-{:08x}", std::process::id(), rand::random::<u32>());
        let folder = std::env::temp_dir().join(name);
        std::fs::create_dir(&folder)?;
        Ok(Self(folder))
    }
}

impl Drop for TemporaryStore {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.0) {
            tracing::warn!("the demo's store {} stays behind: {error}", self.0.display());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_configuration_is_one() {
        let placed: Vec<_> = CAST.iter().map(|part| (part, SocketAddr::from(([127, 0, 0, 1], 9)))).collect();
        let config = Config::load(&configuration(&placed), Path::new("demo"), &Vec::new(), &Flags::default());
        assert_eq!(config.expect("a good configuration").upstreams.len(), CAST.len());
    }
}
