//! A reader of the live feed, as strict as a browser.

use std::net::SocketAddr;

use axum::body::Bytes;
use fuseboard_app::wire::event::FeedEvent;
use http::{Request, StatusCode};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper_util::{client::legacy::Client, rt::TokioExecutor};

use super::soon;

/// One open stream.
pub(crate) struct Feed {
    body: Incoming,
    text: String,
}

/// One event.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Frame {
    pub(crate) id: Option<String>,
    pub(crate) event: FeedEvent,
}

impl Feed {
    pub(crate) async fn open(at: SocketAddr, path: &str, last_event_id: Option<&str>) -> Self {
        let mut request = Request::get(format!("http://{at}{path}")).header("accept", "text/event-stream");
        if let Some(id) = last_event_id {
            request = request.header("last-event-id", id);
        }
        let client = Client::builder(TokioExecutor::new()).build_http();
        let request = request.body(Empty::<Bytes>::new()).expect("a request");
        let answer = soon("the feed's head", client.request(request)).await.expect("an answer");
        assert_eq!(answer.status(), StatusCode::OK);
        assert_eq!(answer.headers()["content-type"], "text/event-stream");
        Self { body: answer.into_body(), text: String::new() }
    }

    /// The next event; `None` when the stream has ended.
    pub(crate) async fn next(&mut self) -> Option<Frame> {
        loop {
            if let Some((frame, rest)) = self.text.split_once("\n\n") {
                let (frame, rest) = (frame.to_owned(), rest.to_owned());
                self.text = rest;
                return Some(read(&frame));
            }
            let data = soon("the feed's next event", self.body.frame()).await?;
            let data = data.expect("the stream ends in order").into_data().expect("data");
            self.text.push_str(std::str::from_utf8(&data).expect("text"));
        }
    }

    /// The next event that is not the heartbeat.
    pub(crate) async fn fact(&mut self) -> Frame {
        let fact = async {
            loop {
                let frame = self.next().await.expect("the stream is open");
                if !matches!(frame.event, FeedEvent::Stats(_)) {
                    return frame;
                }
                assert_eq!(frame.id, None, "a heartbeat moves no cursor");
            }
        };
        soon("a fact in the feed", fact).await
    }

    /// Reads until an event is what is waited for. The heartbeat goes on for ever, so the whole has a deadline.
    pub(crate) async fn until<T>(&mut self, what: &str, wanted: impl Fn(&FeedEvent) -> Option<T>) -> T {
        let found = async {
            loop {
                let frame = self.next().await.expect("the stream is open");
                if let Some(found) = wanted(&frame.event) {
                    return found;
                }
            }
        };
        soon(what, found).await
    }

    /// Reads to its end, which comes with the server's; until then nothing but heartbeats may come.
    pub(crate) async fn ends(mut self) {
        let end = async {
            while let Some(frame) = self.next().await {
                assert!(matches!(frame.event, FeedEvent::Stats(_)), "{frame:?}");
            }
        };
        soon("the feed's end", end).await;
    }

    /// Reads until a transition with this cause.
    pub(crate) async fn cause(&mut self, kind: &str) -> fuseboard_app::wire::event::Transition {
        self.until(&format!("{kind} in the feed"), |event| match event {
            FeedEvent::Transition(event) if event.row.cause.kind == kind => Some(event.row.clone()),
            _ => None,
        })
        .await
    }
}

fn read(frame: &str) -> Frame {
    let (mut id, mut name, mut data) = (None, None, None);
    for line in frame.lines() {
        match line.split_once(": ").expect("a field") {
            ("id", value) => id = Some(value.to_owned()),
            ("event", value) => name = Some(value),
            ("data", value) => data = Some(value),
            (other, _) => panic!("unknown field {other}"),
        }
    }
    let event = FeedEvent::parse(name.expect("a name"), data.expect("data")).expect("what its name promises");
    Frame { id, event: event.expect("a known name") }
}
