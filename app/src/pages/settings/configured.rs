//! What is configured: upstreams and policies with every default filled in.

use leptos::prelude::*;

use crate::{
    components::host::HostName,
    format::{breaker_path, count, duration, number, share, some},
    prose,
    wire::settings,
};

/// An upstream, folded to its gist.
#[component]
pub fn Upstream(one: settings::Upstream) -> impl IntoView {
    let ms = |ms: u64| duration(i64::try_from(ms).unwrap_or(i64::MAX));
    let yes = |yes: bool| if yes { "yes" } else { "no" }.to_owned();
    let headers = one.headers.iter().map(|header| format!("{}: {}", header.name, header.value)).collect::<Vec<_>>();
    let gist = format!("{}, policy {}", one.url, one.policy);
    let mut pairs = vec![
        ("URL", one.url),
        ("Protocol", one.protocol),
        ("Policy", one.policy),
        ("A breaker for each", one.key),
        (
            "Timeouts",
            format!(
                "connect {}, first byte {}, between bytes {}, client {}, in all {}",
                ms(one.connect_ms),
                ms(one.first_byte_ms),
                ms(one.between_bytes_ms),
                ms(one.client_idle_ms),
                ms(one.total_ms)
            ),
        ),
        ("Queue", format!("{} at a time, {} waiting", count(one.concurrent), count(one.waiting))),
        ("Private addresses", yes(one.allow_private)),
        ("Failures", one.failures),
        ("Alive", one.alive),
        ("429", if one.count_429 { "a failure".into() } else { "an answer".to_owned() }),
        ("Cool-down", yes(one.cooldown)),
        (
            "Retries",
            match one.retry_attempts {
                0 | 1 => "none: clients make their own".into(),
                attempts => {
                    format!("up to {attempts} attempts, {} to {} apart", ms(one.retry_base_ms), ms(one.retry_max_ms))
                }
            },
        ),
        ("Identical calls", if one.coalesce { "share one attempt" } else { "are made one by one" }.into()),
        ("Active probe", one.active_probe.unwrap_or_else(|| "off".into())),
    ];
    if !one.services.is_empty() {
        pairs.push(("Services", one.services.join(", ")));
    }
    if !one.rewrite.is_empty() {
        pairs.push(("Links rewritten", one.rewrite.join(", ")));
    }
    pairs.push(("Preset", one.preset));
    if one.follow {
        let hosts = if one.redirect_hosts.is_empty() { "its own origin".into() } else { one.redirect_hosts.join(", ") };
        pairs.push(("Redirects", format!("followed to {hosts}")));
    } else {
        pairs.push(("Redirects", "handed to the client".into()));
    }
    if !headers.is_empty() {
        pairs.push(("Headers", headers.join(", ")));
    }
    view! {
        <details>
            <summary>
                <b>{one.name}</b>
                <span class="gist">{gist}</span>
            </summary>
            <p class="guard">
                "Its breaker: "
                <a href=breaker_path(&one.breaker)>
                    <HostName id=one.breaker.clone() />
                </a>
            </p>
            <Pairs pairs=pairs />
        </details>
    }
}

/// A policy, folded to its gist.
#[component]
pub fn Policy(one: settings::Policy) -> impl IntoView {
    let ms = |ms: u64| duration(i64::try_from(ms).unwrap_or(i64::MAX));
    let rules = one.trip.iter().map(rule).collect::<Vec<_>>().join(", or ");
    let jitter = if one.wait_jitter > 0.0 {
        format!(", up to {} less at random", share(one.wait_jitter))
    } else {
        String::new()
    };
    let gist = format!("opens at {rules}; waits {} to {}", ms(one.wait_first_ms), ms(one.wait_max_ms));
    let pairs = vec![
        ("Opens at", rules),
        (
            "Waits",
            format!(
                "{}, times {} after each failed probe, at most {}{jitter}",
                ms(one.wait_first_ms),
                number(one.wait_factor),
                ms(one.wait_max_ms)
            ),
        ),
        (
            "Half-open",
            format!(
                "{} at a time, {} to close",
                some(u64::from(one.probes), "probe", "probes"),
                some(u64::from(one.successes), "good one", "good ones")
            ),
        ),
        ("Lease", ms(one.lease_ms)),
        (
            "An answer at the client's fault",
            if one.alive_breaks_run { "ends a run of failures" } else { "does not end a run of failures" }.into(),
        ),
    ];
    view! {
        <details>
            <summary>
                <b>{one.name}</b>
                <span class="gist">{gist}</span>
            </summary>
            <Pairs pairs=pairs />
        </details>
    }
}

fn rule(rule: &settings::Rule) -> String {
    prose::rule(&crate::wire::breaker::Rule {
        rule: rule.rule.clone(),
        have: None,
        need: rule.need,
        within_ms: rule.within_ms,
        min_calls: rule.min_calls,
        slow_after_ms: rule.slow_after_ms,
    })
}

/// Names and what stands there.
#[component]
pub fn Pairs(pairs: Vec<(&'static str, String)>) -> impl IntoView {
    view! {
        <dl class="pairs">
            {pairs
                .into_iter()
                .map(|(name, said)| {
                    view! {
                        <div>
                            <dt>{name}</dt>
                            <dd>{said}</dd>
                        </div>
                    }
                })
                .collect_view()}
        </dl>
    }
}
