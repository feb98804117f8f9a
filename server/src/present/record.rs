//! Rows of the record as the board shows them: what is stored, and over it what waits for the store.

use std::collections::HashSet;

use fuseboard_app::wire::event::{Audit, Page, Probe, Transition};

use crate::{
    app::App,
    fault::Fault,
    history::{PageQuery, audit, probes, transitions},
};

/// Changes of state, override and cool-down.
///
/// # Errors
/// The store cannot be read.
pub async fn transitions(app: &App, query: &PageQuery) -> Result<Page<Transition>, Fault> {
    // What waits is read before the store: what is written meanwhile is then in both.
    let waiting = app.journal.unwritten_rows(query);
    let stored = transitions::page(app.db.read(), query).await.map_err(Fault::from)?;
    Ok(together(waiting, stored, query, |row: &Transition| row.seq))
}

/// Probes.
///
/// # Errors
/// The store cannot be read.
pub async fn probes(app: &App, query: &PageQuery) -> Result<Page<Probe>, Fault> {
    let waiting = app.journal.unwritten_rows(query);
    let stored = probes::page(app.db.read(), query).await.map_err(Fault::from)?;
    Ok(together(waiting, stored, query, |row: &Probe| row.seq))
}

/// What operators did.
///
/// # Errors
/// The store cannot be read.
pub async fn audit(app: &App, query: &PageQuery) -> Result<Page<Audit>, Fault> {
    let waiting = app.journal.unwritten_rows(query);
    let stored = audit::page(app.db.read(), query).await.map_err(Fault::from)?;
    Ok(together(waiting, stored, query, |row: &Audit| row.seq))
}

fn together<Row>(mut rows: Vec<Row>, stored: Page<Row>, query: &PageQuery, seq: impl Fn(&Row) -> u64) -> Page<Row> {
    let known: HashSet<u64> = rows.iter().map(&seq).collect();
    rows.extend(stored.rows.into_iter().filter(|row| !known.contains(&seq(row))));
    rows.sort_by_key(&seq);
    if query.after.is_none() {
        rows.reverse();
    }
    let more = rows.len() > query.limit() || stored.next.is_some();
    rows.truncate(query.limit());
    let next = rows.last().map(seq).filter(|_| more);
    Page { rows, next }
}
