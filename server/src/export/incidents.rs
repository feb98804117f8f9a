//! Incidents for a file: those that overlap the range, and each with everything known of it.

use fuseboard_app::{
    backend::IncidentFilter,
    wire::{
        event::Probe,
        incident::{Incident, IncidentDetail},
        time::Time,
        timeline::{Lane, Timeline},
    },
};

use super::{
    About,
    out::Out,
    report::Totals,
    rows::{BATCH, Record},
};
use crate::{
    app::App,
    fault::Fault,
    history::{
        PageQuery, calls,
        lane::{self, Window},
        probes,
    },
    present,
};

/// Incidents read whole in one go: each may bring a thousand rows along.
const DETAILS: u32 = 20;

/// Pixels lanes are computed for.
pub(super) const WIDTH: u32 = 960;

/// Gives each incident of the range, a batch at a time, in the order they began; what is written goes out in between.
pub(super) async fn each(
    app: &App,
    about: &About,
    out: &mut Out,
    mut give: impl FnMut(&Incident, &mut Out),
) -> Result<(), Fault> {
    let mut after = 0;
    loop {
        let batch = page(app, about, after, BATCH).await?;
        let Some(last) = batch.last() else { return Ok(()) };
        after = last.id;
        for one in &batch {
            give(one, out);
        }
        out.breathe().await;
    }
}

/// What the incidents of the range come to.
pub(super) async fn totals(app: &App, about: &About, out: &mut Out) -> Result<Totals, Fault> {
    let mut totals = Totals::default();
    each(app, about, out, |one, _| totals.add(one)).await?;
    Ok(totals)
}

/// Incidents that overlap the range, the next behind this one.
pub(super) async fn page(app: &App, about: &About, after: u64, limit: u32) -> Result<Vec<Incident>, Fault> {
    let filter = IncidentFilter {
        breaker: about.breaker.clone(),
        q: about.only.q.clone(),
        upstream: about.only.upstream.clone(),
        from: about.from,
        to: about.to,
        open: about.only.open,
        after: Some(after),
        limit: Some(limit),
        ..IncidentFilter::default()
    };
    let mut rows = present::incidents::list(app, &filter).await?.rows;
    rows.retain(|one| one.id <= about.up_to_seq);
    // What lasts goes on while the file is written; the file is as of one moment.
    for one in rows.iter_mut().filter(|one| one.end.is_none()) {
        let so_far = about.made_at.millis().saturating_sub(one.start.millis());
        one.down_ms = one.down_ms.min(u64::try_from(so_far).unwrap_or(0));
    }
    Ok(rows)
}

/// One incident with its evidence; none once retention has taken it.
pub(super) async fn detail(app: &App, id: u64) -> Result<Option<IncidentDetail>, Fault> {
    match present::incidents::one(app, id).await {
        Ok(detail) => Ok(Some(detail)),
        Err(Fault::UnknownIncident { .. }) => Ok(None),
        Err(fault) => Err(fault),
    }
}

impl Record for IncidentDetail {
    fn seq(&self) -> u64 {
        self.incident.id
    }

    async fn batch(app: &App, about: &About, after: u64) -> Result<Vec<Self>, Fault> {
        let mut batch = Vec::new();
        for one in page(app, about, after, DETAILS).await? {
            batch.push(match detail(app, one.id).await? {
                Some(detail) => detail,
                // Retention took its rows a moment ago.
                None => IncidentDetail {
                    incident: one,
                    transitions: vec![],
                    more_transitions: 0,
                    waits: vec![],
                    refused_paths: vec![],
                    refused_agents: vec![],
                },
            });
        }
        Ok(batch)
    }
}

/// The probes sent in a stretch of time, oldest first, at most a page of them.
pub(super) async fn probes_of(app: &App, breaker: &str, from: Time, to: Time) -> Result<Vec<Probe>, Fault> {
    let query = PageQuery {
        breaker: Some(breaker.to_owned()),
        from: Some(from),
        to: Some(to),
        after: Some(0),
        limit: Some(BATCH),
        ..PageQuery::default()
    };
    let page = probes::page(app.db.read(), &query).await;
    Ok(page.map_err(Fault::from)?.rows)
}

/// One breaker's lane with its calls and probes.
pub(super) async fn lane_of(app: &App, about: &About, breaker: &str, from: Time, to: Time) -> Result<Lane, Fault> {
    let window = window(app, about, from, to);
    let unwritten = app.journal.unwritten();
    let read = async {
        let mut lane = lane::lane(app.db.read(), breaker, &window, &unwritten).await?;
        let ends = (lane.from, lane.to);
        lane.calls = Some(calls::series(app.db.read(), breaker, ends, 120).await?);
        lane.probes = Some(probes::marks(app.db.read(), breaker, ends, WIDTH).await?);
        Ok::<_, sqlx::Error>(lane)
    };
    read.await.map_err(Fault::from)
}

/// Many lanes on one axis.
pub(super) async fn lanes_of(
    app: &App,
    about: &About,
    breakers: &[String],
    from: Time,
    to: Time,
) -> Result<Timeline, Fault> {
    let unwritten = app.journal.unwritten();
    let lanes = lane::lanes(app.db.read(), breakers, &window(app, about, from, to), &unwritten).await;
    lanes.map_err(Fault::from)
}

fn window(app: &App, about: &About, from: Time, to: Time) -> Window {
    Window { from, to, width: WIDTH, now: about.made_at, boot: app.live.cursor().boot }
}
