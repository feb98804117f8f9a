//! What one commit writes: transitions, what a restart needs of their breakers, overrides, audit rows, probes, the
//! incidents those are part of, the call totals that changed, and the run's alive mark, all or nothing.

use std::{
    collections::{BTreeMap, HashMap},
    sync::Arc,
};

use fuseboard_app::wire::event::{FeedEvent, Probe, Transition};
use sqlx::SqliteConnection;

use super::queue::{Batch, Item, SavedWith};
use crate::{
    calls::MinuteRow,
    history::{
        audit, breakers, calls, gaps,
        incidents::{self, course::Course},
        lane::rolled,
        numbered::{self, Kind},
        overrides, probes, runs, transitions,
    },
    stamp::micros,
    tally::TallyRow,
};

/// What one commit writes.
pub(super) struct Commit {
    pub(super) batch: Arc<Batch>,
    pub(super) totals: Vec<MinuteRow>,
    pub(super) tallies: Vec<TallyRow>,
    /// Everything before this is in it or was written before.
    pub(super) alive_at: Option<i64>,
    pub(super) ended: bool,
}

impl Commit {
    /// How many rows it writes, about.
    pub(super) fn rows(&self) -> u64 {
        (self.batch.kept.len() + self.batch.probes.len() + self.totals.len() + self.tallies.len()) as u64
    }
}

/// What is known to be in the store, since it need not be looked for then.
#[derive(Default)]
pub(super) struct Known {
    /// Breakers' keys.
    keys: HashMap<String, i64>,
    /// The newest incident of each breaker, by key.
    incidents: HashMap<i64, u64>,
}

/// An incident as a batch leaves it.
struct Touched<'a> {
    key: i64,
    /// The row that touched it last.
    seq: u64,
    course: &'a Course,
    /// More than its probes changed.
    moved: bool,
}

impl Known {
    /// Writes all of it into an open transaction.
    pub(super) async fn fill(
        &mut self,
        to: &mut SqliteConnection,
        boot: u64,
        commit: &Commit,
    ) -> Result<(), sqlx::Error> {
        for seen in &commit.batch.seen {
            let key = self.key(to, &seen.breaker, seen.at).await?;
            breakers::note_policy(to, key, &seen.policy).await?;
        }
        let mut transition_rows: Vec<(i64, &Transition)> = Vec::new();
        let mut probe_rows: Vec<(i64, &Probe)> = Vec::with_capacity(commit.batch.probes.len());
        // Only the newest of each breaker is what a restart needs.
        let mut saves: HashMap<i64, (u64, &SavedWith)> = HashMap::new();
        let mut touched: BTreeMap<u64, Touched<'_>> = BTreeMap::new();
        for item in &commit.batch.kept {
            if let FeedEvent::Transition(event) = &item.fact.event {
                let row = &event.row;
                let key = self.key(to, &row.breaker, row.at.micros()).await?;
                transition_rows.push((key, row));
                touch(&mut touched, key, item, true);
                if let Some(saved) = &item.saved {
                    let until = saved.after.held.as_ref().and_then(|held| held.until).map(micros);
                    overrides::insert(to, key, row, saved.before, until).await?;
                    saves.insert(key, (row.seq, saved));
                }
            }
            self.fill_audit(to, boot, item).await?;
        }
        for item in &commit.batch.probes {
            if let FeedEvent::Probe(row) = &item.fact.event {
                let key = self.key(to, &row.breaker, row.at.micros()).await?;
                probe_rows.push((key, row));
                touch(&mut touched, key, item, false);
            }
        }
        transitions::insert(to, boot, &transition_rows).await?;
        probes::insert(to, boot, &probe_rows).await?;
        numbered::note(to, Kind::Transitions, transition_rows.iter().map(|(_, row)| (row.seq, row.at))).await?;
        numbered::note(to, Kind::Probes, probe_rows.iter().map(|(_, row)| (row.seq, row.at))).await?;
        if let Some(earliest) = transition_rows.iter().map(|(_, row)| row.at.micros()).min() {
            rolled::forget_from(to, earliest).await?;
        }
        for (key, (seq, saved)) in saves {
            breakers::save(to, key, seq, &saved.after, saved.evicted).await?;
        }
        if let Some(gap) = &commit.batch.gap {
            gaps::insert(to, boot, gap).await?;
        }
        self.fill_incidents(to, &touched).await?;
        for row in &commit.tallies {
            incidents::put_counted(to, row).await?;
        }
        for row in &commit.totals {
            let key = self.key(to, &row.breaker, row.at).await?;
            calls::put(to, boot, key, row).await?;
        }
        for jump in &commit.batch.jumps {
            runs::jumped(to, boot, (jump.from, jump.to)).await?;
        }
        if let Some(at) = commit.alive_at {
            runs::mark(to, boot, at, commit.ended).await?;
        }
        Ok(())
    }

    async fn fill_incidents(
        &mut self,
        to: &mut SqliteConnection,
        touched: &BTreeMap<u64, Touched<'_>>,
    ) -> Result<(), sqlx::Error> {
        let mut probed = Vec::new();
        for (&incident, Touched { key, course, moved, .. }) in touched {
            if self.incidents.get(key) != Some(&incident) {
                incidents::put(to, *key, course).await?;
                incidents::put_upstreams(to, *key, course).await?;
                incidents::end_earlier(to, *key, incident, course.opening.at).await?;
                self.incidents.insert(*key, incident);
            } else if *moved {
                incidents::put(to, *key, course).await?;
            } else {
                probed.push((incident, course.so_far.probes));
            }
        }
        incidents::put_probes(to, &probed).await
    }

    async fn fill_audit(&mut self, to: &mut SqliteConnection, boot: u64, item: &Item) -> Result<(), sqlx::Error> {
        let alone = matches!(item.fact.event, FeedEvent::Audit(_)).then_some(&item.fact);
        for fact in alone.into_iter().chain(&item.audit) {
            if let FeedEvent::Audit(row) = &fact.event {
                let key = match &row.breaker {
                    Some(breaker) => Some(self.key(to, breaker, row.at.micros()).await?),
                    None => None,
                };
                audit::insert(to, boot, key, row).await?;
                numbered::note(to, Kind::Audit, std::iter::once((row.seq, row.at))).await?;
            }
        }
        Ok(())
    }

    async fn key(&mut self, to: &mut SqliteConnection, breaker: &str, at: i64) -> Result<i64, sqlx::Error> {
        if let Some(key) = self.keys.get(breaker) {
            return Ok(*key);
        }
        let key = breakers::key(to, breaker, at).await?;
        self.keys.insert(breaker.to_owned(), key);
        Ok(key)
    }
}

fn touch<'a>(touched: &mut BTreeMap<u64, Touched<'a>>, key: i64, item: &'a Item, moved: bool) {
    let Some(course) = item.incident.as_deref() else { return };
    let seq = item.fact.seq;
    let one = touched.entry(course.opening.seq).or_insert(Touched { key, seq, course, moved });
    one.moved |= moved;
    if seq > one.seq {
        (one.seq, one.course) = (seq, course);
    }
}
