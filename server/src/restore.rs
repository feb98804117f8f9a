//! What a restart resumes: every breaker as it was last written (rule 21).
//!
//! The store keeps wall-clock times, since no other survives; the breaker turns what is left of a wait or an override
//! into its own time and never makes either longer than it was.

use std::{collections::HashSet, sync::Arc, time::SystemTime};

use fuseboard_app::wire::event::Transition;
use fuseboard_breaker::{Panel, Policy};

pub use crate::history::breakers::SavedBreaker;
use crate::{
    db::{Db, StoreError},
    history::{
        breakers,
        incidents::{self, Stored},
        transitions,
    },
    stamp::micros,
    tally::Tally,
};

/// What an earlier run left.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Restored {
    /// The breakers, those that matter most first.
    pub breakers: Vec<SavedBreaker>,
    /// The newest transition of each, for [`crate::journal::Start::known`].
    pub newest: Vec<Transition>,
    /// The incidents that last, for [`crate::journal::Start::incidents`].
    pub incidents: Vec<(Stored, Tally)>,
}

/// Reads what an earlier run left, at most `max` breakers of it, as of this run's start.
///
/// # Errors
/// The store refuses.
pub async fn read(db: &Db, max: usize, started: SystemTime) -> Result<Restored, StoreError> {
    let breakers = breakers::saved(db.read(), max).await.map_err(|error| db.error(error))?;
    let newest = transitions::newest_of_each(db.read()).await.map_err(|error| db.error(error))?;
    let incidents = incidents::open_ones(db.read(), micros(started)).await.map_err(|error| db.error(error))?;
    Ok(Restored { breakers, newest, incidents })
}

impl Restored {
    /// The breakers the record holds calls of.
    pub fn called(&self) -> HashSet<Arc<str>> {
        self.breakers.iter().filter(|one| one.called).map(|one| Arc::clone(&one.id)).collect()
    }

    /// Puts every breaker back on the panel. `policy_of` says which policy one has now, and whether it is a configured
    /// upstream's own.
    pub fn put_back(&self, panel: &Panel, mut policy_of: impl FnMut(&SavedBreaker) -> (Policy, bool)) {
        for one in &self.breakers {
            let (policy, configured) = policy_of(one);
            panel.restore(&one.id, policy, one.saved.clone(), configured);
        }
    }
}
