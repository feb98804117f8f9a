//! What the functions ask of the backend, in the order the answers are needed.

use std::sync::Arc;

use leptos::{
    prelude::use_context,
    server_fn::{ServerFn, error::ServerFnUrlError},
};

use super::Act;
use crate::{
    backend::{About, Answer, Backend, BreakerFilter, Refusal, Stretch},
    format::{self, query_value},
    panel::PanelView,
    range::Range,
    story::{KEPT, StoryView},
    wire::{
        breaker::{Breaker, Mode},
        command::{Release, Reset, SetOverride},
        event::Page,
    },
};

/// Pixels a lane is asked for on; drawn wider or narrower, no band is lost.
const WIDTH: u32 = 720;

pub(super) fn backend() -> Result<Arc<dyn Backend>, Refusal> {
    use_context::<Arc<dyn Backend>>()
        .ok_or_else(|| refusal(500, None, "The board has no server behind it. Restart Fuseboard and report this."))
}

pub(super) async fn panel(backend: &dyn Backend, range: &str) -> Result<PanelView, Refusal> {
    // The cursor first: what happens while the rest is read comes again over the feed.
    let about = backend.about().await;
    let list = backend.breakers(BreakerFilter::default()).await?;
    let timeline = backend.timeline(BreakerFilter::default(), last(range, &about)).await.ok();
    Ok(PanelView { about, list, timeline })
}

pub(super) async fn story(backend: &dyn Backend, id: String, range: &str) -> Result<StoryView, Refusal> {
    let about = backend.about().await;
    let breaker = backend.breaker(id.clone()).await.inspect_err(|refusal| {
        if let Some(answer) = use_context::<Arc<dyn Answer>>() {
            answer.status(refusal.status);
        }
    })?;
    let lane = backend.lane(id.clone(), last(range, &about)).await.ok();
    let kept = KEPT as u32;
    let transitions = rows(backend.transitions(id.clone(), kept).await);
    let probes = rows(backend.probes(id.clone(), kept).await);
    let audit = rows(backend.audit(Some(id), kept).await);
    Ok(StoryView { about, breaker, lane, transitions, probes, audit })
}

/// The page is useful without its history; that the store is in trouble is said by [`crate::wire::event::StoreHealth`].
fn rows<Row>(page: Result<Page<Row>, Refusal>) -> Vec<Row> {
    page.map(|page| page.rows).unwrap_or_default()
}

fn last(range: &str, about: &About) -> Stretch {
    let range = Range::parse(range).unwrap_or_else(|| Range::usual(about.watched_ms()));
    let to_ms = about.now.millis();
    Stretch { from_ms: to_ms - range.ms(), to_ms, width: WIDTH }
}

/// An operator's form as it was sent.
#[derive(Clone)]
pub(super) struct Form {
    pub(super) what: String,
    pub(super) id: String,
    pub(super) by: String,
    pub(super) reason: String,
    pub(super) end: String,
    pub(super) end_override: String,
}

/// The most characters a field keeps when its form comes back; the form takes no more.
const TYPED: usize = 500;

impl Form {
    /// The form's own address, filled in as it was sent: whoever is refused types nothing twice.
    fn again(&self, refusal: &Refusal) -> String {
        let Self { what, id, by, reason, end, end_override } = self;
        let mut path = format!("{}?act={}", format::breaker_path(id), query_value(what));
        for (name, typed) in [("by", by), ("reason", reason), ("end", end), ("end_override", end_override)] {
            if !typed.is_empty() {
                let kept: String = typed.chars().take(TYPED).collect();
                path.push_str(&format!("&{name}={}", query_value(&kept)));
            }
        }
        // The page's action reads its refusal from there, the way the library writes it.
        let refused = ServerFnUrlError::new(Act::PATH, refusal.clone()).to_url("http://board/");
        if let Some(refused) = refused.ok().as_ref().and_then(|url| url.query()) {
            path.push_str(&format!("&{refused}"));
        }
        path + "#act"
    }
}

pub(super) async fn act(backend: &dyn Backend, form: Form) -> Result<Breaker, Refusal> {
    let done = done(backend, form.clone()).await;
    if let Some(answer) = use_context::<Arc<dyn Answer>>() {
        match &done {
            Ok((_, path)) => answer.land(path),
            Err(refusal) => answer.refuse(refusal.status, &form.again(refusal)),
        }
    }
    done.map(|(breaker, _)| breaker)
}

/// The breaker afterwards, and the page that says what was done.
async fn done(backend: &dyn Backend, form: Form) -> Result<(Breaker, String), Refusal> {
    let Form { what, id, by, reason, end, end_override } = form;
    let (by, reason) = (by.trim().to_owned(), reason.trim().to_owned());
    if by.is_empty() {
        return Err(refusal(422, Some("by"), "Say who you are; the name goes into the record."));
    }
    if reason.is_empty() {
        return Err(refusal(422, Some("reason"), "Say why; whoever looks at this breaker next will read it."));
    }
    let path = format!("{}?done={what}#act", format::breaker_path(&id));
    let by = Some(by);
    let breaker = match what.as_str() {
        "reset" => backend.reset(id, Reset { reason, end_override: !end_override.is_empty(), by }).await?,
        "release" => backend.release(id, Release { reason, by }).await?,
        "force-open" => backend.set_override(id, held(Mode::ForcedOpen, reason, &end, by)?).await?,
        "force-closed" => backend.set_override(id, held(Mode::ForcedClosed, reason, &end, by)?).await?,
        _ => return Err(refusal(422, Some("what"), "Choose reset, force-open, force-closed or release.")),
    };
    Ok((breaker, path))
}

fn held(mode: Mode, reason: String, end: &str, by: Option<String>) -> Result<SetOverride, Refusal> {
    let (for_ms, until) = match end {
        "15m" => (Some(900_000), None),
        "1h" => (Some(3_600_000), None),
        "4h" => (Some(14_400_000), None),
        "never" => (None, Some(None)),
        _ => return Err(refusal(422, Some("end"), "Choose when the override ends: 15 min, 1 h, 4 h or no end.")),
    };
    Ok(SetOverride { mode, reason, for_ms, until, by })
}

fn refusal(status: u16, field: Option<&str>, detail: &str) -> Refusal {
    Refusal { status, detail: detail.into(), field: field.map(Into::into), applied: false }
}
