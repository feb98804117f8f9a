//! Rows of the record in the order of their numbers, a batch at a time, into whatever shape is asked for.

use fuseboard_app::wire::{
    event::{Audit, Page, Probe, Transition},
    time::Time,
};
use serde::Serialize;

use super::{About, Tally, columns::Columns, out::Out};
use crate::{
    app::App,
    fault::Fault,
    history::{PageQuery, audit, gaps::Missing, probes, transitions},
};

/// Rows read in one go. A trip carries its evidence, some kilobytes.
pub(super) const BATCH: u32 = 500;

/// A kind of row.
pub(super) trait Record: Columns + Serialize + Send + Sync + Sized {
    /// Whether something stood already when the range began, and is told first.
    const STOOD: bool = false;

    fn seq(&self) -> u64;

    /// The next rows behind this number, in order; none when there are none left.
    fn batch(app: &App, about: &About, after: u64) -> impl Future<Output = Result<Vec<Self>, Fault>> + Send;

    /// What stood at `from`, by breaker, the next behind this one.
    fn stood(
        _app: &App,
        _about: &About,
        _from: Time,
        _after: &str,
    ) -> impl Future<Output = Result<Vec<(String, Self)>, Fault>> + Send {
        async { Ok(Vec::new()) }
    }
}

/// A way to write rows down.
pub(super) trait Shape: Send {
    /// Before everything.
    fn open<R: Record>(&mut self, about: &About, out: &mut Out) -> Result<(), Fault>;
    /// A row from before `from`.
    fn stood<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault>;
    /// A row of the range.
    fn row<R: Record>(&mut self, row: &R, out: &mut Out) -> Result<(), Fault>;
    /// Numbers missing between two rows; what says so at its beginning need not say it again.
    fn gap<R: Record>(&mut self, _about: &About, _gap: &Missing, _out: &mut Out) -> Result<(), Fault> {
        Ok(())
    }
    /// After everything.
    fn close(&mut self, tally: &Tally, out: &mut Out) -> Result<(), Fault>;
}

/// Writes one kind of row.
pub(super) async fn write<R: Record>(
    app: &App,
    about: &About,
    shape: &mut impl Shape,
    out: &mut Out,
) -> Result<(), Fault> {
    let mut tally = Tally::default();
    shape.open::<R>(about, out)?;
    if let (true, Some(from)) = (R::STOOD, about.from) {
        let mut after = String::new();
        loop {
            let batch = R::stood(app, about, from, &after).await?;
            for (_, row) in &batch {
                shape.stood(row, out)?;
                tally.in_force_at_from += 1;
            }
            out.breathe().await;
            let Some((last, _)) = batch.into_iter().next_back() else { break };
            after = last;
        }
    }
    let (mut after, mut gaps) = (0, about.gaps.iter().peekable());
    loop {
        let batch = R::batch(app, about, after).await?;
        for row in &batch {
            while let Some(gap) = gaps.next_if(|gap| gap.first < row.seq()) {
                shape.gap::<R>(about, gap, out)?;
            }
            shape.row(row, out)?;
            tally.rows += 1;
            tally.last_seq = Some(row.seq());
        }
        out.breathe().await;
        let Some(last) = batch.last() else { break };
        after = last.seq();
    }
    for gap in gaps {
        shape.gap::<R>(about, gap, out)?;
    }
    shape.close(&tally, out)
}

impl About {
    /// The range, behind a number.
    fn behind(&self, after: u64) -> PageQuery {
        PageQuery {
            breaker: self.breaker.clone(),
            from: self.from,
            to: self.to,
            before: None,
            after: Some(after),
            until: Some(self.up_to_seq),
            limit: Some(BATCH),
        }
    }
}

fn rows<R>(page: Result<Page<R>, sqlx::Error>) -> Result<Vec<R>, Fault> {
    page.map(|page| page.rows).map_err(Fault::from)
}

impl Record for Transition {
    const STOOD: bool = true;

    fn seq(&self) -> u64 {
        self.seq
    }

    async fn batch(app: &App, about: &About, after: u64) -> Result<Vec<Self>, Fault> {
        rows(transitions::page(app.db.read(), &about.behind(after)).await)
    }

    async fn stood(app: &App, about: &About, from: Time, after: &str) -> Result<Vec<(String, Self)>, Fault> {
        let rows = transitions::in_force(app.db.read(), about.breaker.as_deref(), from, after, BATCH).await;
        Ok(rows.map_err(Fault::from)?.into_iter().map(|row| (row.breaker.clone(), row)).collect())
    }
}

impl Record for Probe {
    fn seq(&self) -> u64 {
        self.seq
    }

    async fn batch(app: &App, about: &About, after: u64) -> Result<Vec<Self>, Fault> {
        rows(probes::page(app.db.read(), &about.behind(after)).await)
    }
}

impl Record for Audit {
    fn seq(&self) -> u64 {
        self.seq
    }

    async fn batch(app: &App, about: &About, after: u64) -> Result<Vec<Self>, Fault> {
        rows(audit::page(app.db.read(), &about.behind(after)).await)
    }
}
