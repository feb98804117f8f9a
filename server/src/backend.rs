//! What the board asks, answered in-process: the same functions the API's handlers call, bound to the caller.

use std::sync::Arc;

use async_trait::async_trait;
use fuseboard_app::{
    backend::{About, Backend, BreakerFilter, IncidentFilter, Refusal, Stretch},
    format::full_utc,
    wire::{
        action::{ActionAnswer, BulkAction},
        breaker::{Breaker, BreakerList},
        command::{Said, Undo},
        event::{Audit, Page, Probe, Transition},
        incident::{Incident, IncidentDetail},
        settings::{Reloaded, Settings},
        time::Time,
        timeline::{Lane, Moment, Timeline},
    },
};

use crate::{
    app::App,
    control::{self, Actor},
    fault::Fault,
    history::PageQuery,
    present::{self, Ask, Detail, record},
    stamp,
};

/// Makes an actor of the name a form gave; `web/caller` has the only one.
pub type Introduce = fn(Option<&str>) -> Result<Actor, Fault>;

/// The server as one caller sees it.
pub struct Caller {
    app: Arc<App>,
    introduce: Introduce,
}

impl Caller {
    /// For one request.
    pub fn new(app: Arc<App>, introduce: Introduce) -> Self {
        Self { app, introduce }
    }
}

impl Caller {
    /// Why a breaker is not on the panel: nobody ever saw it, or the record says that it was dropped.
    async fn gone(&self, id: &str) -> Refusal {
        let last = record::transitions(&self.app, &newest(Some(id.to_owned()), 1)).await;
        match last.ok().and_then(|page| page.rows.into_iter().next()) {
            Some(row) => {
                // One that was closed left without a row of its own.
                let when = match row.cause.kind.as_str() {
                    "evicted" => format!(" at {}", full_utc(row.at.millis())),
                    _ => String::new(),
                };
                let detail = format!(
                    "{id} was dropped{when} to make room on the panel. Its next call brings it back; its history is among \
                     the incidents and exports."
                );
                Refusal { status: 410, detail, field: None, applied: false }
            }
            None => Fault::unknown(id).into(),
        }
    }
}

#[async_trait]
impl Backend for Caller {
    async fn about(&self) -> About {
        let app = &self.app;
        About {
            cursor: app.journal.cursor(),
            now: stamp::time(app.clock.wall()),
            started: stamp::time(app.started),
            node: app.config.node.clone(),
            version: env!("CARGO_PKG_VERSION").into(),
            demo: app.config.demo,
            gateway_url: app.gateway_url.to_string(),
            store: app.journal.health(),
            findings: app.findings.standing(),
        }
    }

    async fn breakers(&self, filter: BreakerFilter) -> Result<BreakerList, Refusal> {
        Ok(present::list(&self.app, &Ask { filter, ..Ask::default() })?)
    }

    async fn breaker(&self, id: String) -> Result<Breaker, Refusal> {
        match self.app.panel.get(&id) {
            Some(breaker) => Ok(present::breaker(&self.app, &breaker, Detail::Full)),
            None => Err(self.gone(&id).await),
        }
    }

    async fn timeline(&self, filter: BreakerFilter, stretch: Stretch) -> Result<Timeline, Refusal> {
        Ok(present::timeline(&self.app, &Ask { filter, ..Ask::default() }, stretch).await?)
    }

    async fn lane(&self, id: String, stretch: Stretch) -> Result<Lane, Refusal> {
        Ok(present::lane(&self.app, &id, stretch).await?)
    }

    async fn transitions(&self, id: String, limit: u32) -> Result<Page<Transition>, Refusal> {
        Ok(record::transitions(&self.app, &newest(Some(id), limit)).await?)
    }

    async fn probes(&self, id: String, limit: u32) -> Result<Page<Probe>, Refusal> {
        Ok(record::probes(&self.app, &newest(Some(id), limit)).await?)
    }

    async fn audit(&self, id: Option<String>, before: Option<u64>, limit: u32) -> Result<Page<Audit>, Refusal> {
        Ok(record::audit(&self.app, &PageQuery { before, ..newest(id, limit) }).await?)
    }

    async fn incidents(&self, filter: IncidentFilter) -> Result<Page<Incident>, Refusal> {
        Ok(present::incidents::list(&self.app, &filter).await?)
    }

    async fn incident(&self, id: u64) -> Result<IncidentDetail, Refusal> {
        Ok(present::incidents::one(&self.app, id).await?)
    }

    async fn moment(&self, id: String, from: Time, to: Time) -> Result<Moment, Refusal> {
        if self.app.panel.get(&id).is_none() {
            return Err(Fault::unknown(&id).into());
        }
        let before = PageQuery { to: Some(to), ..newest(Some(id), FEW) };
        let changes = record::transitions(&self.app, &before).await?;
        let probes = record::probes(&self.app, &PageQuery { from: Some(from), ..before }).await?;
        let within = changes.rows.iter().take_while(|row| row.at >= from).count();
        let more = probes.next.is_some() || (within == FEW as usize && changes.next.is_some());
        let mut transitions = changes.rows;
        // Where nothing changed the last change before says how it came to this.
        transitions.truncate(within.max(1));
        Ok(Moment { transitions, probes: probes.rows, more })
    }

    async fn act(&self, action: BulkAction) -> Result<ActionAnswer, Refusal> {
        let actor = (self.introduce)(action.by.as_deref())?;
        let mut answer = control::act(&self.app, &actor, &action).await?;
        for one in &mut answer.results {
            // What a body says is a tick here.
            one.detail = one.detail.replace("say \"end_override\": true", "tick that it is to be ended too");
        }
        Ok(answer)
    }

    async fn undo(&self, command: Undo) -> Result<ActionAnswer, Refusal> {
        let actor = (self.introduce)(command.by.as_deref())?;
        Ok(control::undo(&self.app, &actor, &command).await?)
    }

    async fn settings(&self) -> Result<Settings, Refusal> {
        Ok(present::settings::settings(&self.app))
    }

    async fn reload(&self, command: Said) -> Result<Reloaded, Refusal> {
        let actor = (self.introduce)(command.by.as_deref())?;
        Ok(control::reload(&self.app, &actor, &command).await?)
    }
}

/// Rows of each kind around a point in time, of which the board shows those nearest to it.
const FEW: u32 = 40;

fn newest(breaker: Option<String>, limit: u32) -> PageQuery {
    PageQuery { breaker, limit: Some(limit), ..PageQuery::default() }
}
