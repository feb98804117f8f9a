//! Who stands where on the panel: trouble grouped by upstream, the worst first; the rest folded.

use std::{cmp::Reverse, collections::HashMap};

use super::Panel;
use crate::{
    backend::BreakerFilter,
    format::id_parts,
    order,
    standing::Standing,
    wire::{breaker::Breaker, time::Time},
};

/// Breakers of one upstream, at least one of them in trouble.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Group {
    /// The upstreams' names, or the only breaker's id.
    pub name: String,
    /// Those in trouble, worst first.
    pub trouble: Vec<String>,
    /// The others, folded under them.
    pub quiet: Vec<String>,
}

impl Group {
    /// How many breakers it has.
    pub fn len(&self) -> usize {
        self.trouble.len() + self.quiet.len()
    }

    /// Whether it has none.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// The order they are shown in.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Arranged {
    /// In trouble, a group as bad as its worst.
    pub groups: Vec<Group>,
    /// The rest, folded.
    pub quiet: Vec<String>,
}

impl Arranged {
    /// All ids from top to bottom.
    pub fn ids(&self) -> impl Iterator<Item = &String> {
        self.groups.iter().flat_map(|group| group.trouble.iter().chain(&group.quiet)).chain(&self.quiet)
    }

    /// How many it shows.
    pub fn len(&self) -> usize {
        self.ids().count()
    }

    /// Whether it shows none.
    pub fn is_empty(&self) -> bool {
        self.groups.is_empty() && self.quiet.is_empty()
    }

    /// How many breakers stand elsewhere in `other`: come, gone, moved between trouble and rest, or overtaken.
    pub fn moved(&self, other: &Self) -> usize {
        if self == other {
            return 0;
        }
        // Where each stands: its part, and behind whom within it.
        fn places(arranged: &Arranged) -> HashMap<&String, bool> {
            let trouble = arranged.groups.iter().flat_map(|group| &group.trouble).map(|id| (id, true));
            let folded = arranged.groups.iter().flat_map(|group| &group.quiet).chain(&arranged.quiet);
            trouble.chain(folded.map(|id| (id, false))).collect()
        }
        let (before, after) = (places(self), places(other));
        let gone = before.keys().filter(|id| !after.contains_key(**id)).count();
        let come_or_moved = after.iter().filter(|(id, trouble)| before.get(**id) != Some(trouble)).count();
        let stayed = |arranged: &Self| -> Vec<String> {
            let same = |id: &&String| before.contains_key(*id) && before.get(*id) == after.get(*id);
            arranged.ids().filter(same).cloned().collect()
        };
        let overtaken = stayed(self).iter().zip(&stayed(other)).filter(|(was, is)| was != is).count();
        gone + come_or_moved + overtaken
    }
}

/// A group's key: the upstreams it is configured for, or else itself.
fn key(breaker: &Breaker) -> String {
    if breaker.upstreams.is_empty() { breaker.id.clone() } else { breaker.upstreams.join(", ") }
}

impl Panel {
    /// The order they are shown in, worst first.
    pub fn arrange(&self, filter: &BreakerFilter, now_ms: i64) -> Arranged {
        let now = Time::from_micros(now_ms * 1_000);
        let mut shown: Vec<_> =
            self.rows.values().map(|row| &row.breaker).filter(|one| shows(one, filter, now)).collect();
        shown.sort_by_cached_key(|one| (order::rank(one, now), Reverse(one.refused_per_min), one.id.clone()));
        let troubled = |breaker: &Breaker| Standing::of(breaker, now_ms).trouble() || order::flapping(breaker, now);
        let (trouble, rest): (Vec<_>, Vec<_>) = shown.into_iter().partition(|breaker| troubled(breaker));
        let mut arranged = Arranged::default();
        let mut known: HashMap<String, usize> = HashMap::new();
        for breaker in trouble {
            // The first of a group is its worst, and that decides where the group stands.
            let at = *known.entry(key(breaker)).or_insert_with_key(|name| {
                arranged.groups.push(Group { name: name.clone(), ..Group::default() });
                arranged.groups.len() - 1
            });
            arranged.groups[at].trouble.push(breaker.id.clone());
        }
        for breaker in rest {
            match known.get(&key(breaker)) {
                Some(at) => arranged.groups[*at].quiet.push(breaker.id.clone()),
                None => arranged.quiet.push(breaker.id.clone()),
            }
        }
        arranged
    }

    /// How many breakers a filter's word keeps.
    pub fn count(&self, word: &str, now_ms: i64) -> usize {
        let now = Time::from_micros(now_ms * 1_000);
        let filter = BreakerFilter { state: Some(word.into()), ..BreakerFilter::default() };
        self.rows.values().filter(|row| shows(&row.breaker, &filter, now)).count()
    }

    /// Whether any breaker guards a host of this protocol.
    pub fn speaks(&self, protocol: &str) -> bool {
        self.rows.values().any(|row| row.breaker.protocol == protocol)
    }

    /// What a group's parts do, each by what tells it from the others: `metadata flows, files refused`.
    pub fn parts(&self, group: &Group, now_ms: i64) -> String {
        let breakers =
            || group.trouble.iter().chain(&group.quiet).filter_map(|id| self.row(id)).map(|row| &row.breaker);
        let ids: Vec<&str> = breakers().map(|breaker| breaker.id.as_str()).collect();
        let said = breakers().zip(part_names(&ids)).map(|(breaker, name)| {
            let standing = Standing::of(breaker, now_ms);
            let does = match standing {
                Standing::HalfOpen => "probing",
                Standing::CoolingDown => "cooling down",
                Standing::Waiting => "not called yet",
                standing if standing.refuses() => "refused",
                _ => "flows",
            };
            format!("{name} {does}")
        });
        said.collect::<Vec<_>>().join(", ")
    }
}

/// The list's rule, but on the board each breaker goes by its own word: a held one by its override's, not by its shadow's,
/// and a latched one is not counted among the open ones once more.
fn shows(breaker: &Breaker, filter: &BreakerFilter, now: Time) -> bool {
    let standing = || Standing::of(breaker, now.millis());
    let own = match filter.state.as_deref() {
        Some("open") => breaker.held.is_none() && !standing().latched(),
        Some("closed") => breaker.held.is_none() && standing() != Standing::Waiting,
        Some("half_open") => breaker.held.is_none(),
        _ => true,
    };
    own && order::matches(breaker, filter, now)
}

/// Hosts of one upstream by what tells them apart: the labels that are not common to all, or the port.
fn part_names(ids: &[&str]) -> Vec<String> {
    let hosts: Vec<String> =
        ids.iter().map(|id| id_parts(id)).map(|(_, middle, tail)| format!("{middle}{tail}")).collect();
    let names: Vec<Vec<&str>> = hosts.iter().map(|host| host.split('.').collect()).collect();
    let numeric = |host: &String| host.bytes().all(|byte| byte.is_ascii_digit() || b".:[]".contains(&byte));
    let Some(first) = names.first() else { return Vec::new() };
    if hosts.iter().any(numeric) {
        return hosts;
    }
    let common = (1..first.len())
        .take_while(|nth| {
            names
                .iter()
                .all(|labels| labels.len() > *nth && labels.iter().rev().take(*nth).eq(first.iter().rev().take(*nth)))
        })
        .last()
        .unwrap_or(0);
    names.iter().map(|labels| labels[..labels.len() - common].join(".")).collect()
}

#[cfg(test)]
mod tests;
