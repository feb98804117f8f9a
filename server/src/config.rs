//! The configuration: read from file, environment and flags, checked once, held as types that cannot be wrong. Every
//! message names the field by its path and says what it takes.

mod classify;
pub mod gateway;
mod grpc;
mod policy;
mod reader;
pub mod rewriting;
pub mod services;
mod source;
pub mod store;
pub mod upstreams;

use std::{
    collections::BTreeMap,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use fuseboard_breaker::Policy;

use self::{
    gateway::{AdminSettings, GatewaySettings},
    reader::Section,
    store::{PanelSettings, StoreSettings},
    upstreams::Upstreams,
};
pub use self::{
    reader::ConfigError,
    source::{Environment, Filled, Flags, Source},
};
pub(crate) use self::{reader::parse_address, store::store_path};

/// The file read when none is named and it exists.
pub const DEFAULT_FILE: &str = "fuseboard.toml";

/// Everything that can be configured, checked.
#[derive(Debug, Clone)]
pub struct Config {
    /// The node's name; stands in every row.
    pub node: String,
    /// What clients talk to.
    pub gateway: GatewaySettings,
    /// Board, API and metrics.
    pub admin: AdminSettings,
    /// A listener for liveness and metrics alone.
    pub ops: Option<SocketAddr>,
    /// The record's store.
    pub store: StoreSettings,
    /// The bound on breakers.
    pub panel: PanelSettings,
    /// Built in and configured policies, by name.
    pub policies: BTreeMap<String, Policy>,
    /// What the gateway fetches from.
    pub upstreams: Upstreams,
    /// What works but should be looked at; said once at start.
    pub warnings: Vec<String>,
    /// The demo's upstreams are running.
    pub demo: bool,
    /// The file it was read from, if there was one.
    pub file: Option<PathBuf>,
    /// Texts that hold values of the environment, as they were written.
    pub filled: Filled,
}

impl Config {
    /// Reads and checks everything.
    ///
    /// # Errors
    /// The first field that cannot be used, by its path.
    pub fn load(text: &str, name: &Path, env: &Environment, flags: &Flags) -> Result<Self, ConfigError> {
        let mut table = source::parse(text, name)?;
        let mut filled = source::expand(&mut table, env)?;
        let from_env = source::overlay(&mut table, env)?;
        let flagged = source::apply(&mut table, flags)?;
        // What stands in the place of a filled text is shown as it is.
        filled.retain(|path, _| !from_env.contains(path) && !source::flagged_url(path, &flagged));
        let config = Self::read(Section::root(table, from_env)).map_err(|error| source::blame(error, &flagged))?;
        Ok(Self { filled, ..config })
    }

    fn read(mut root: Section) -> Result<Self, ConfigError> {
        let node = root.text("node")?.unwrap_or_else(host_name);
        let gateway = gateway::read_gateway(root.section("gateway")?)?;
        let admin = gateway::read_admin(root.section("admin")?)?;
        let ops = root.maybe_section("ops")?.map(gateway::read_ops).transpose()?;
        gateway::keep_apart(&gateway, &admin, ops)?;
        let mut store = store::read_store(root.section("store")?)?;
        let panel = store::read_panel(root.section("panel")?, &mut store)?;
        let policies = policy::read_policies(root.section("policy")?)?;
        let upstreams = root.list("upstream")?.unwrap_or_default();
        let upstreams = upstreams::read_upstreams(upstreams, &policies, &|file| std::fs::read_to_string(file))?;
        for (at, entry) in upstreams.iter().enumerate() {
            rewriting::keep_apart(gateway.public_url.as_ref(), at, &entry.rewriting)?;
        }
        gateway::no_loop(&gateway, &upstreams)?;
        upstreams::judge_unused(&policies, &upstreams)?;
        for later in ["auth", "notify"] {
            root.section(later)?.finish()?;
        }
        root.finish()?;
        let warnings = warnings(&gateway, &upstreams);
        Ok(Self {
            node,
            gateway,
            admin,
            ops,
            store,
            panel,
            policies,
            upstreams,
            warnings,
            demo: false,
            file: None,
            filled: Filled::new(),
        })
    }
}

fn warnings(gateway: &GatewaySettings, upstreams: &Upstreams) -> Vec<String> {
    let mut warnings = Vec::new();
    if !gateway.listen.ip().is_loopback() {
        let with_headers = upstreams.iter().filter(|entry| !entry.upstream.headers.is_empty());
        warnings.extend(with_headers.map(|entry| {
            format!(
                "everyone who reaches {} calls {} with its configured headers; let gateway.listen be a loopback \
                 address, or let a proxy check who calls",
                gateway.listen, entry.upstream.name
            )
        }));
        let rewritten = upstreams.iter().filter(|entry| entry.rewriting.is_on() && gateway.public_url.is_none());
        warnings.extend(rewritten.map(|entry| {
            format!(
                "links in the metadata of {} lead to {}, which other machines may not reach; set gateway.public_url to \
                 the address they use",
                entry.upstream.name,
                gateway::url_of(gateway.listen)
            )
        }));
    }
    warnings
}

/// The machine's own name.
fn host_name() -> String {
    let name =
        std::fs::read_to_string("/proc/sys/kernel/hostname").or_else(|_| std::fs::read_to_string("/etc/hostname"));
    let name = name.ok().map(|name| name.trim().to_owned()).or_else(|| std::env::var("HOSTNAME").ok());
    name.filter(|name| !name.is_empty()).unwrap_or_else(|| "fuseboard".to_owned())
}
