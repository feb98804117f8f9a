//! `[policy.NAME]`: what trips, how long it waits, what closes. Two are built in; a table of the same name changes the
//! keys it gives, a new name starts from `registry`.

use std::{collections::BTreeMap, time::Duration};

use fuseboard_breaker::{HalfOpen, Policy, PolicySettings, TripRule, Wait};

use super::reader::{ConfigError, Section};

/// Every policy by name, checked.
pub(super) fn read_policies(section: Section) -> Result<BTreeMap<String, Policy>, ConfigError> {
    let mut policies =
        BTreeMap::from([("registry".to_owned(), Policy::registry()), ("grpc".to_owned(), Policy::grpc())]);
    for (name, item) in section.into_named() {
        let path = item.path.clone();
        let start = policies.get(&name).map_or_else(PolicySettings::registry, |policy| policy.settings().clone());
        let settings = read_policy(&name, start, item.section()?)?;
        let policy = Policy::new(settings)
            .map_err(|error| ConfigError::new(format!("{path}.{}", error.field), error.message))?;
        policies.insert(name, policy);
    }
    Ok(policies)
}

fn read_policy(name: &str, start: PolicySettings, mut section: Section) -> Result<PolicySettings, ConfigError> {
    let mut settings = PolicySettings { name: name.to_owned(), ..start };
    if let Some(rules) = section.list("trip")? {
        settings.trip = rules.into_iter().map(|rule| rule.section().and_then(read_rule)).collect::<Result<_, _>>()?;
    }
    settings.wait = read_wait(section.section("wait")?, settings.wait)?;
    settings.half_open = read_half_open(section.section("half_open")?, settings.half_open)?;
    settings.alive_breaks_run = section.flag("alive_breaks_run", settings.alive_breaks_run)?;
    section.finish()?;
    Ok(settings)
}

fn read_wait(mut section: Section, start: Wait) -> Result<Wait, ConfigError> {
    let wait = Wait {
        first: section.duration("first", start.first)?,
        factor: section.share("factor")?.unwrap_or(start.factor),
        max: section.duration("max", start.max)?,
        jitter: section.share("jitter")?.unwrap_or(start.jitter),
    };
    section.finish()?;
    Ok(wait)
}

fn read_half_open(mut section: Section, start: HalfOpen) -> Result<HalfOpen, ConfigError> {
    let half_open = HalfOpen {
        probes: section.count("probes")?.unwrap_or(start.probes),
        successes: section.count("successes")?.unwrap_or(start.successes),
        lease: section.duration("lease", start.lease)?,
    };
    section.finish()?;
    Ok(half_open)
}

/// A rule is known by the one key that names it.
fn read_rule(mut section: Section) -> Result<TripRule, ConfigError> {
    const NAMES: [&str; 4] = ["failures", "consecutive", "failure_rate", "slow_rate"];
    let named: Vec<&str> = NAMES.into_iter().filter(|name| section.has(name)).collect();
    let [name] = named[..] else {
        return Err(section.whole(format!(
            "names {} rules; it takes exactly one of {}, as in {{ failures = 5, within = \"10s\" }}",
            named.len(),
            NAMES.join(", ")
        )));
    };
    let rule = match name {
        "failures" => TripRule::Failures { failures: needed(&mut section, "failures")?, within: within(&mut section)? },
        "consecutive" => TripRule::Consecutive {
            consecutive: needed(&mut section, "consecutive")?,
            within: section.maybe_duration("within")?,
        },
        "failure_rate" => TripRule::FailureRate {
            failure_rate: section.share("failure_rate")?.unwrap_or_default(),
            within: within(&mut section)?,
            min_calls: needed(&mut section, "min_calls")?,
        },
        _ => TripRule::SlowRate {
            slow_rate: section.share("slow_rate")?.unwrap_or_default(),
            slow_after: section
                .maybe_duration("slow_after")?
                .ok_or_else(|| section.error("slow_after", "is missing; it takes a duration such as \"2s\""))?,
            within: within(&mut section)?,
            min_calls: needed(&mut section, "min_calls")?,
        },
    };
    section.finish()?;
    Ok(rule)
}

fn needed(section: &mut Section, key: &'static str) -> Result<u32, ConfigError> {
    section.count(key)?.ok_or_else(|| section.error(key, "is missing; it takes a whole number from 1"))
}

fn within(section: &mut Section) -> Result<Duration, ConfigError> {
    section
        .maybe_duration("within")?
        .ok_or_else(|| section.error("within", "is missing; it takes a duration such as \"10s\""))
}
