//! What is deleted, and when (rule 47): by age, and the oldest first when the store is larger than it may be.
//!
//! - A pass goes through one table in time's order, in slices; each is a transaction of some ten milliseconds. Rows of one
//!   time are told apart by a second key, so that a slice is no larger where all breakers have a row of the same minute.
//! - Of transitions stay: the row in force at the cut, a breaker's newest one, and every row of an incident that lasts or
//!   ended after the cut. Probes and audit rows of an incident that lasts stay too.
//! - The newest number deleted is marked, so that it is never given out again.

use std::time::{Duration, Instant};

use sqlx::{AssertSqlSafe, Connection, SqliteConnection};

use super::{calls, marks, numbered::DAY};
use crate::{calls::MINUTE, config::store::StoreSettings};

const HOUR: i64 = 60 * MINUTE;
/// Rows that go between two looks at the time.
const FEW: i64 = 50;

/// How long what is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Keep {
    /// Single probes.
    pub probes: Duration,
    /// Transitions and incidents.
    pub transitions: Duration,
    /// Call totals.
    pub calls: Duration,
    /// What operators did.
    pub audit: Duration,
    /// Bytes the store may take.
    pub max_size: u64,
}

impl From<&StoreSettings> for Keep {
    fn from(store: &StoreSettings) -> Self {
        Self {
            probes: store.keep_probes,
            transitions: store.keep_transitions,
            calls: store.keep_calls,
            audit: store.keep_audit,
            max_size: store.max_size,
        }
    }
}

impl Keep {
    /// All of it.
    pub const ALL: Self = Self {
        probes: Duration::MAX,
        transitions: Duration::MAX,
        calls: Duration::MAX,
        audit: Duration::MAX,
        max_size: u64::MAX,
    };
}

/// One table's rows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum What {
    Probes,
    Minutes,
    Hours,
    Days,
    Audit,
    Transitions,
    Incidents,
    StateHours,
    SixHours,
    StateDays,
    StateWeeks,
}

/// On its way through one table.
#[derive(Debug, Clone, Copy)]
pub(super) struct Pass {
    what: What,
    /// What is older goes.
    cut: i64,
    /// The cut as it was wanted: what is younger than it was not rolled up yet.
    wanted: i64,
    /// Everything up to here has been looked at: a time, and the key of a row of it.
    from: (i64, i64),
}

impl Pass {
    pub(super) fn new(what: What, cut: i64) -> Self {
        Self { what, cut, wanted: cut, from: (i64::MIN, i64::MIN) }
    }

    /// What it went through, and how far.
    pub(super) fn ended(&self) -> (What, i64) {
        (self.what, self.wanted)
    }

    /// What age alone lets go at `now`.
    pub(super) fn by_age(keep: &Keep, now: i64) -> Vec<Self> {
        let before = |kept: Duration| now.saturating_sub(i64::try_from(kept.as_micros()).unwrap_or(i64::MAX));
        let calls = before(keep.calls);
        vec![
            Self::new(What::Probes, before(keep.probes)),
            Self::new(What::Minutes, calls.max(now - 14 * DAY)),
            Self::new(What::Hours, calls.max(now - 180 * DAY)),
            Self::new(What::Days, calls),
            Self::new(What::Audit, before(keep.audit)),
            Self::new(What::Incidents, before(keep.transitions)),
            Self::new(What::Transitions, before(keep.transitions)),
            Self::new(What::StateHours, before(keep.transitions)),
            Self::new(What::SixHours, before(keep.transitions)),
            Self::new(What::StateDays, before(keep.transitions)),
            Self::new(What::StateWeeks, before(keep.transitions)),
        ]
    }

    /// What goes next when there is too much: single probes, then minutes, then the oldest day of the rest. What a pass
    /// has gone through already (`ended`) had to stay.
    pub(super) async fn by_size(
        reader: &mut SqliteConnection,
        now: i64,
        ended: &[(What, i64)],
    ) -> Result<Vec<Self>, sqlx::Error> {
        for (what, oldest, spared) in [
            (What::Probes, "SELECT min(at) FROM probes WHERE at >= ?", HOUR),
            (What::Minutes, "SELECT min(at) FROM calls WHERE at >= ?", DAY),
            (What::Transitions, "SELECT min(at) FROM transitions WHERE at >= ?", DAY),
            (What::Hours, "SELECT min(at) FROM rolled_calls WHERE span = 3600000000 AND at >= ?", 30 * DAY),
            (What::Audit, "SELECT min(at) FROM audit WHERE at >= ?", DAY),
        ] {
            // Rows that had to stay are not the oldest any more.
            let kept = ended.iter().filter(|(one, _)| *one == what).map(|(_, until)| *until).max();
            let kept = kept.unwrap_or(marks::NEVER);
            let oldest: Option<i64> = sqlx::query_scalar(oldest).bind(kept).fetch_one(&mut *reader).await?;
            if let Some(oldest) = oldest.filter(|oldest| *oldest < now - spared) {
                // A twentieth of what there is, and a day at least.
                let cut = (oldest + ((now - oldest) / 20).max(DAY)).min(now - spared);
                let mut passes = vec![Self::new(what, cut)];
                if what == What::Transitions {
                    passes.insert(0, Self::new(What::Incidents, cut));
                }
                return Ok(passes);
            }
        }
        Ok(Vec::new())
    }

    /// Looks at the next rows, no more than `most` and a few at a time until the time is over; false when the pass is.
    pub(super) async fn slice(
        &mut self,
        connection: &mut SqliteConnection,
        most: i64,
        until: Instant,
    ) -> Result<bool, sqlx::Error> {
        let mut to = connection.begin_with("BEGIN IMMEDIATE").await?;
        if matches!(self.what, What::Minutes) {
            // A minute stays until its hour is rolled up, an hour until its day is.
            self.cut = self.cut.min(calls::rolled_until(&mut to, HOUR).await?);
        } else if matches!(self.what, What::Hours) {
            self.cut = self.cut.min(calls::rolled_until(&mut to, DAY).await?);
        }
        let (mut from, mut looked_at) = (self.from, 0);
        while looked_at < most && (looked_at == 0 || Instant::now() < until) {
            let few = FEW.min(most - looked_at);
            let Some(last) = self.delete(&mut to, from, few).await? else { break };
            (from, looked_at) = (last, looked_at + few);
        }
        if looked_at == 0 {
            to.rollback().await?;
            return Ok(false);
        }
        if let Some(mark) = self.what.kept_mark() {
            marks::advance(&mut to, mark, self.cut).await?;
        }
        to.commit().await?;
        self.from = from;
        Ok(true)
    }

    /// Deletes what goes of the next few rows; answers the place of the last of them.
    async fn delete(
        &self,
        to: &mut SqliteConnection,
        from: (i64, i64),
        few: i64,
    ) -> Result<Option<(i64, i64)>, sqlx::Error> {
        let last: Option<(i64, i64)> = sqlx::query_as(AssertSqlSafe(self.what.edge()))
            .bind(from.0)
            .bind(from.1)
            .bind(self.cut)
            .bind(few)
            .fetch_optional(&mut *to)
            .await?;
        let Some(last) = last else { return Ok(None) };
        let gone: Vec<i64> = sqlx::query_scalar(AssertSqlSafe(self.what.delete()))
            .bind(from.0)
            .bind(from.1)
            .bind(last.0)
            .bind(last.1)
            .bind(self.cut)
            .fetch_all(&mut *to)
            .await?;
        if let (Some(mark), Some(newest)) = (self.what.deleted_mark(), gone.iter().max()) {
            marks::advance(to, mark, *newest).await?;
        }
        if let Some(along) = self.what.along() {
            let numbers = serde_json::Value::from(gone).to_string();
            sqlx::query(along).bind(numbers).execute(to).await?;
        }
        Ok(Some(last))
    }
}

impl What {
    #[cfg(test)]
    pub(super) const ALL: [Self; 11] = [
        Self::Probes,
        Self::Minutes,
        Self::Hours,
        Self::Days,
        Self::Audit,
        Self::Transitions,
        Self::Incidents,
        Self::StateHours,
        Self::SixHours,
        Self::StateDays,
        Self::StateWeeks,
    ];

    /// The table, its time, the key that tells rows of one time apart, and which of its rows are meant.
    fn rows(self) -> (&'static str, &'static str, &'static str, &'static str) {
        match self {
            Self::Probes => ("probes", "at", "seq", "true"),
            Self::Minutes => ("calls", "at", "breaker", "true"),
            Self::Hours => ("rolled_calls", "at", "breaker", "span = 3600000000"),
            Self::Days => ("rolled_calls", "at", "breaker", "span = 86400000000"),
            Self::Audit => ("audit", "at", "seq", "true"),
            Self::Transitions => ("transitions", "at", "seq", "true"),
            Self::Incidents => ("incidents", "ended_at", "seq", "true"),
            Self::StateHours => ("rolled_states", "at", "breaker", "span = 3600000000"),
            Self::SixHours => ("rolled_states", "at", "breaker", "span = 21600000000"),
            Self::StateDays => ("rolled_states", "at", "breaker", "span = 86400000000"),
            Self::StateWeeks => ("rolled_states", "at", "breaker", "span = 604800000000"),
        }
    }

    /// The place of the last row of the next slice: `?1` and `?2` the place of the last one's, `?3` the cut, `?4` rows.
    pub(super) fn edge(self) -> String {
        let (table, at, key, meant) = self.rows();
        format!(
            "SELECT {at}, {key} FROM (SELECT {at}, {key} FROM {table} WHERE {meant} AND {at} >= ?1 AND {at} < ?3
             AND ({at}, {key}) > (?1, ?2) ORDER BY {at}, {key} LIMIT ?4) ORDER BY {at} DESC, {key} DESC LIMIT 1"
        )
    }

    /// `?1` and `?2` the place of the last slice's last row, `?3` and `?4` of this one's, `?5` the cut; answers the keys of
    /// what went.
    pub(super) fn delete(self) -> String {
        let (table, at, key, meant) = self.rows();
        let slice = format!(
            "{meant} AND {at} >= ?1 AND {at} <= ?3 AND ({at}, {key}) > (?1, ?2) AND ({at}, {key}) <= (?3, ?4) AND {at} < ?5"
        );
        match self.stays() {
            None => format!("DELETE FROM {table} WHERE {slice} RETURNING {key}"),
            Some(stays) => format!(
                "DELETE FROM {table} WHERE {key} IN (SELECT {key} FROM {table} AS row WHERE {slice} AND NOT ({stays}))
                 RETURNING {key}"
            ),
        }
    }

    /// Which rows outlast the cut.
    fn stays(self) -> Option<&'static str> {
        match self {
            Self::Probes | Self::Audit => Some(
                "EXISTS (SELECT 1 FROM incidents WHERE incidents.breaker = row.breaker AND incidents.ended_at IS NULL
                 AND incidents.seq <= row.seq)",
            ),
            Self::Transitions => Some(
                "NOT EXISTS (SELECT 1 FROM transitions AS later INDEXED BY transitions_lane
                     WHERE later.breaker = row.breaker AND later.at >= row.at AND later.at <= ?5 AND later.seq > row.seq)
                 OR EXISTS (SELECT 1 FROM incidents WHERE incidents.seq = (
                         SELECT max(seq) FROM incidents AS one WHERE one.breaker = row.breaker AND one.seq <= row.seq)
                     AND (ended_at IS NULL OR (ended_at >= ?5 AND last_seq >= row.seq)))",
            ),
            _ => None,
        }
    }

    /// What hangs on the numbers that went.
    fn along(self) -> Option<&'static str> {
        match self {
            Self::Transitions => Some("DELETE FROM overrides WHERE seq IN (SELECT value FROM json_each(?))"),
            Self::Incidents => Some("DELETE FROM incident_calls WHERE incident IN (SELECT value FROM json_each(?))"),
            _ => None,
        }
    }

    fn deleted_mark(self) -> Option<&'static str> {
        match self {
            Self::Probes => Some("deleted:probes"),
            Self::Audit => Some("deleted:audit"),
            Self::Transitions => Some("deleted:transitions"),
            _ => None,
        }
    }

    fn kept_mark(self) -> Option<&'static str> {
        match self {
            Self::Minutes => Some(calls::kept_mark(HOUR)),
            Self::Hours => Some(calls::kept_mark(DAY)),
            Self::Transitions => Some("kept:transitions"),
            Self::StateHours | Self::SixHours | Self::StateDays | Self::StateWeeks => Some("kept:states"),
            _ => None,
        }
    }
}
