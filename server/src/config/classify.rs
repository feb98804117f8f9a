//! `classify` of an upstream: what its answers prove. What one key says and another takes back is refused.

use fuseboard_fetch::{Classify, Statuses};

use super::{
    grpc,
    reader::{ConfigError, Item, Section},
};

pub(super) fn read_classify(mut section: Section) -> Result<Classify, ConfigError> {
    let default = Classify::default();
    let classify = Classify {
        count_429: section.flag("count_429", default.count_429)?,
        cooldown: section.flag("cooldown", default.cooldown)?,
        abandoned_after: section.duration("abandoned_after", default.abandoned_after)?,
        codes: grpc::read_min_budget(&mut section, default.codes)?,
        uncounted: default.uncounted,
        failures: read_statuses(&mut section, "failures")?.unwrap_or(default.failures),
        alive: read_statuses(&mut section, "alive")?.unwrap_or(default.alive),
    };
    agrees_with_itself(&section, &classify)?;
    section.finish()?;
    Ok(classify)
}

/// What one key says and another takes back is meant by nobody.
fn agrees_with_itself(section: &Section, classify: &Classify) -> Result<(), ConfigError> {
    const LIMIT: u16 = 429;
    let fails = |status: u16| classify.failures.contains(status) && !classify.alive.contains(status);
    if classify.failures.names(LIMIT) && !classify.count_429 {
        let why = "names 429, and count_429 = false says it is no failure; set count_429 = true, or leave it out";
        return Err(section.error("failures", why));
    }
    if classify.alive.names(LIMIT) && classify.count_429 {
        let why = "names 429, and count_429 = true says it is a failure; set count_429 = false, or leave it out";
        return Err(section.error("alive", why));
    }
    if let Some(entry) = classify.failures.entries().find(|entry| entry.clone().all(|status| !fails(status))) {
        let (first, last) = (entry.start(), entry.end());
        let why = format!("takes back all of {first} to {last}, which failures names; leave it out of one of the two");
        return Err(section.error("alive", why));
    }
    // What a host that is back answers first of all.
    if fails(200) {
        let why = "makes 200 a failure, so that no host could ever recover; leave it out";
        return Err(section.error("failures", why));
    }
    Ok(())
}

fn read_statuses(section: &mut Section, key: &'static str) -> Result<Option<Statuses>, ConfigError> {
    let Some(items) = section.list(key)? else { return Ok(None) };
    let texts = items.into_iter().map(Item::text).collect::<Result<Vec<_>, _>>()?;
    Statuses::parse(texts).map(Some).map_err(|error| section.error(key, error.message))
}
