//! The configuration in force as it may be shown: durations in ms, secrets masked. A text that was filled from the
//! environment is shown as it was written.

use fuseboard_app::wire::settings as wire;
use fuseboard_breaker::{Outcome, Policy, TripRule, grpc::Code};
use fuseboard_fetch::{ActiveProbe, Key, Protocol, Upstream, redact, redact_path};
use url::Url;

use crate::{
    app::App,
    config::{Config, Filled, upstreams::Entry},
    stamp::{millis, time},
};

/// All of it.
pub fn settings(app: &App) -> wire::Settings {
    let loaded_at = time(*app.loaded_at.lock());
    let config = app.settings.load();
    wire::Settings {
        node: as_written(&config.filled, "node", config.node.clone()),
        file: config.file.as_ref().map(|file| file.display().to_string()),
        loaded_at,
        gateway: listener(&config, "gateway", config.gateway.listen.to_string(), config.gateway.public_url.as_ref()),
        admin: listener(&config, "admin", config.admin.listen.to_string(), config.admin.public_url.as_ref()),
        ops: config.ops.map(|listen| listen.to_string()),
        store: wire::Store {
            url: as_written(&config.filled, "store.url", format!("sqlite:{}", config.store.path.display())),
            keep_probes_ms: millis(config.store.keep_probes),
            keep_transitions_ms: millis(config.store.keep_transitions),
            keep_calls_ms: millis(config.store.keep_calls),
            keep_audit_ms: millis(config.store.keep_audit),
            journal_max_bytes: config.store.journal_max,
            max_size_bytes: config.store.max_size,
            size_bytes: app.db.bytes(),
        },
        panel_max: config.panel.max as u64,
        policies: config.policies.values().map(policy).collect(),
        upstreams: config.upstreams.iter().enumerate().map(|(at, one)| upstream(&config, at, one)).collect(),
        warnings: config.warnings.clone(),
        feed_streams: app.live.streams(),
    }
}

fn as_written(filled: &Filled, path: &str, value: String) -> String {
    filled.get(path).cloned().unwrap_or(value)
}

fn listener(config: &Config, section: &str, listen: String, public_url: Option<&Url>) -> wire::Listener {
    let masked = public_url.map(|url| as_written(&config.filled, &format!("{section}.public_url"), shown(url)));
    wire::Listener { listen: as_written(&config.filled, &format!("{section}.listen"), listen), public_url: masked }
}

/// Without user info, and without the values of its query.
fn shown(url: &Url) -> String {
    url.as_str().parse().map_or_else(|_| String::new(), |uri| redact(&uri))
}

/// An upstream's address as it may be shown.
fn address(config: &Config, at: usize, upstream: &Upstream) -> String {
    as_written(&config.filled, &format!("upstream[{at}].url"), shown(&upstream.url))
}

/// Its probe as it may be shown: a path without the values of its query.
fn probe(config: &Config, at: usize, probe: &ActiveProbe) -> String {
    let written =
        |key: &str, text: String| as_written(&config.filled, &format!("upstream[{at}].active_probe.{key}"), text);
    match probe {
        ActiveProbe::Http { method, path } => {
            let shown = path.parse().map_or_else(|_| String::new(), |path| redact_path(&path).into_owned());
            format!("{method} {}", written("path", shown))
        }
        ActiveProbe::Health { service } => format!("Check {}", written("service", service.clone())),
    }
}

fn policy(policy: &Policy) -> wire::Policy {
    let settings = policy.settings();
    wire::Policy {
        name: settings.name.clone(),
        trip: settings.trip.iter().map(rule).collect(),
        wait_first_ms: millis(settings.wait.first),
        wait_factor: settings.wait.factor,
        wait_max_ms: millis(settings.wait.max),
        wait_jitter: settings.wait.jitter,
        probes: settings.half_open.probes,
        successes: settings.half_open.successes,
        lease_ms: millis(settings.half_open.lease),
        alive_breaks_run: settings.alive_breaks_run,
    }
}

fn rule(rule: &TripRule) -> wire::Rule {
    let bare =
        wire::Rule { rule: rule.as_str().into(), need: 0.0, within_ms: None, min_calls: None, slow_after_ms: None };
    match *rule {
        TripRule::Failures { failures, within } => {
            wire::Rule { need: failures.into(), within_ms: Some(millis(within)), ..bare }
        }
        TripRule::Consecutive { consecutive, within } => {
            wire::Rule { need: consecutive.into(), within_ms: within.map(millis), ..bare }
        }
        TripRule::FailureRate { failure_rate, within, min_calls } => {
            wire::Rule { need: failure_rate, within_ms: Some(millis(within)), min_calls: Some(min_calls), ..bare }
        }
        TripRule::SlowRate { slow_rate, slow_after, within, min_calls } => wire::Rule {
            need: slow_rate,
            within_ms: Some(millis(within)),
            min_calls: Some(min_calls),
            slow_after_ms: Some(millis(slow_after)),
            ..bare
        },
    }
}

fn upstream(config: &Config, at: usize, entry: &Entry) -> wire::Upstream {
    let one = &*entry.upstream;
    let text = |key: &str, value: &str| as_written(&config.filled, &format!("upstream[{at}].{key}"), value.to_owned());
    let headers = one.headers.keys().map(|name| wire::Header { name: name.to_string(), value: "***".into() });
    wire::Upstream {
        name: text("name", &one.name),
        url: address(config, at, one),
        protocol: protocol(one.protocol).into(),
        services: entry.services.iter().map(|service| service.as_str().to_owned()).collect(),
        policy: text("policy", &one.policy.settings().name),
        key: key(one.key).into(),
        breaker: one.breaker_id(),
        connect_ms: millis(one.timeouts.connect),
        first_byte_ms: millis(one.timeouts.first_byte),
        between_bytes_ms: millis(one.timeouts.between_bytes),
        client_idle_ms: millis(one.timeouts.client_idle),
        total_ms: millis(one.timeouts.total),
        concurrent: one.queue.concurrent as u64,
        waiting: one.queue.waiting as u64,
        allow_private: one.allow_private,
        follow: one.redirects.follow,
        redirect_hosts: (0..)
            .zip(&one.redirects.hosts)
            .map(|(n, host): (usize, _)| text(&format!("redirects.hosts[{n}]"), host))
            .collect(),
        count_429: one.classify.count_429,
        cooldown: one.classify.cooldown,
        abandoned_after_ms: millis(one.classify.abandoned_after),
        min_budget_ms: millis(one.classify.codes.least_budget()),
        failures: judged(one, Outcome::Failure),
        alive: judged(one, Outcome::Alive),
        retry_attempts: one.retry.attempts,
        retry_base_ms: millis(one.retry.base),
        retry_max_ms: millis(one.retry.max),
        coalesce: one.coalesce,
        active_probe: one.active_probe.as_ref().map(|one| probe(config, at, one)),
        preset: entry.rewriting.preset.as_str().into(),
        rewrite: entry.rewriting.files.iter().map(|files| files.origin.clone()).collect(),
        headers: headers.collect(),
    }
}

/// What proves this: HTTP statuses, or gRPC codes by name.
fn judged(one: &Upstream, outcome: Outcome) -> String {
    let classify = &one.classify;
    match (one.protocol, outcome) {
        (Protocol::Grpc, _) => {
            let codes = Code::ALL.iter().filter(|code| classify.codes.outcome(**code) == outcome);
            codes.map(|code| code.as_str()).collect::<Vec<_>>().join(", ")
        }
        (Protocol::Http, Outcome::Failure) => classify.failures.to_string(),
        (Protocol::Http, _) => classify.alive.to_string(),
    }
}

/// The fixed word for a protocol.
fn protocol(protocol: Protocol) -> &'static str {
    match protocol {
        Protocol::Http => "http",
        Protocol::Grpc => "grpc",
    }
}

/// The fixed word for a key.
fn key(key: Key) -> &'static str {
    match key {
        Key::Origin => "origin",
        Key::Upstream => "upstream",
    }
}
