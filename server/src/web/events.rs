//! `GET /api/v1/events`: the live feed as server-sent events.
//!
//! - The first event is `hello`, or `resync` when the reader's cursor can no longer be served.
//! - `Last-Event-ID` wins over `?after=`, since the browser sends it by itself when it comes back.
//! - Every 2 s `stats` brings the numbers that moved; it is worked out once for all streams, and only while there are any.
//! - A stream ends when the process stops, so that open boards do not hold up a shutdown.

use std::{
    collections::HashMap,
    convert::Infallible,
    fmt::Write,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering::SeqCst},
    },
    time::Duration,
};

use axum::{
    body::{Body, Bytes},
    extract::State,
    http::{HeaderMap, HeaderValue, header},
    response::{IntoResponse, Response},
};
use fuseboard_app::wire::event::{BreakerStats, Stats};
use futures_util::stream;
use tokio::{sync::Notify, time::MissedTickBehavior};

use super::{
    input::Query,
    problem::{Answer, Problem},
    state::Admin,
};
use crate::{
    app::App,
    live::{Cursor, Sent, Subscription},
    present, stamp,
};

/// How often `stats` goes out.
const BEAT: Duration = Duration::from_secs(2);

/// The live feed as server-sent events.
#[utoipa::path(
    get,
    path = "/api/v1/events",
    operation_id = "follow_events",
    tag = "record",
    params(
        ("after" = Option<String>, Query, description = "A cursor, `<boot>-<seq>`: goes on behind it"),
        ("last-event-id" = Option<String>, Header, description = "The same, as browsers send it; it wins"),
    ),
    responses((
        status = 200,
        description = "Server-sent events `hello`, `transition`, `probe`, `audit`, `stats`, `resync`; it does not end",
        body = String,
        content_type = "text/event-stream",
    )),
)]
pub async fn open(State(admin): State<Admin>, query: Query, headers: HeaderMap) -> Answer<Response> {
    query.only(&["after"])?;
    let asked = query.text("after").map(str::parse::<Cursor>).transpose();
    // A reader that has seen nothing yet may say so with an empty one.
    let last = headers.get("last-event-id").filter(|last| !last.as_bytes().trim_ascii().is_empty());
    let after = match last {
        // What is no cursor of ours cannot be served: a resync says so.
        Some(last) => Some(last.to_str().ok().and_then(|last| last.parse().ok()).unwrap_or(Cursor { boot: 0, seq: 0 })),
        None => asked.map_err(|error| Problem::field("after", format_args!("is {error}")))?,
    };
    let reader =
        Reader { _counted: Counted::new(admin.beat()), feed: admin.live.subscribe(after), app: admin.app().clone() };
    let frames = stream::unfold(reader, |mut reader| async move {
        let next = tokio::select! {
            next = reader.feed.next() => next,
            () = reader.app.lifecycle.soft() => None,
        };
        next.map(|sent| (Ok::<_, Infallible>(frame(&sent)), reader))
    });
    let mut response = Body::from_stream(frames).into_response();
    let out = response.headers_mut();
    out.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/event-stream"));
    out.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    // A proxy that gathers the stream would make it late.
    out.insert("x-accel-buffering", HeaderValue::from_static("no"));
    Ok(response)
}

struct Reader {
    feed: Subscription,
    app: Arc<App>,
    _counted: Counted,
}

/// The data is JSON on one line, so it needs no splitting.
fn frame(sent: &Sent) -> Bytes {
    let mut text = String::with_capacity(sent.data.len() + 64);
    if let Some(id) = &sent.id {
        let _ = writeln!(text, "id: {id}");
    }
    let _ = write!(text, "event: {}\ndata: {}\n\n", sent.name, sent.data);
    text.into()
}

/// The heartbeat of all streams.
#[derive(Debug, Default)]
pub struct Beat {
    readers: AtomicUsize,
    /// Somebody came since the last round: it has every breaker once.
    fresh: AtomicBool,
    came: Notify,
}

impl Beat {
    pub(super) fn start(app: &Arc<App>) -> Arc<Self> {
        let beat = Arc::new(Self::default());
        let (beating, running) = (beat.clone(), app.clone());
        app.lifecycle.spawn(async move {
            tokio::select! {
                () = beating.run(&running) => {}
                () = running.lifecycle.soft() => {}
            }
        });
        beat
    }

    async fn run(&self, app: &App) {
        let mut sent = HashMap::new();
        let mut tick = tokio::time::interval(BEAT);
        tick.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tick.tick().await;
            if self.readers.load(SeqCst) == 0 {
                sent.clear();
                self.came.notified().await;
                tick.reset();
                continue;
            }
            let full = self.fresh.swap(false, SeqCst);
            app.live.publish_stats(Stats {
                now: stamp::time(app.clock.wall()),
                breakers: moved(app, &mut sent, full),
                store: app.journal.health(),
                findings: app.findings.standing(),
            });
        }
    }
}

/// The numbers that moved since the last round, or all of them.
fn moved(app: &App, sent: &mut HashMap<String, BreakerStats>, full: bool) -> Vec<BreakerStats> {
    let all = app.panel.breakers();
    let mut now = HashMap::with_capacity(all.len());
    let mut moved = Vec::new();
    for breaker in &all {
        let stats = present::stats(app, breaker);
        if full || sent.get(&stats.id) != Some(&stats) {
            moved.push(stats.clone());
        }
        now.insert(stats.id.clone(), stats);
    }
    *sent = now;
    moved
}

struct Counted(Arc<Beat>);

impl Counted {
    fn new(beat: &Arc<Beat>) -> Self {
        beat.fresh.store(true, SeqCst);
        beat.readers.fetch_add(1, SeqCst);
        beat.came.notify_one();
        Self(beat.clone())
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.readers.fetch_sub(1, SeqCst);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_frame_is_what_a_browser_reads() {
        let with = Sent { name: "probe", id: Some("3-7".into()), data: "{}".into() };
        assert_eq!(frame(&with), "id: 3-7\nevent: probe\ndata: {}\n\n");
        let without = Sent { name: "stats", id: None, data: "{}".into() };
        assert_eq!(frame(&without), "event: stats\ndata: {}\n\n");
    }

    #[test]
    fn streams_are_counted_while_they_last() {
        let beat = Arc::new(Beat::default());
        let (one, two) = (Counted::new(&beat), Counted::new(&beat));
        assert_eq!(beat.readers.load(SeqCst), 2);
        drop((one, two));
        assert_eq!(beat.readers.load(SeqCst), 0);
        assert!(beat.fresh.load(SeqCst), "the next round is a full one");
    }
}
