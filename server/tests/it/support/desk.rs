//! An operator's desk: the whole server over real sockets, and requests to it as an operator, a client or a browser
//! sends them.

use std::{net::SocketAddr, path::PathBuf, sync::Arc};

use axum::body::Bytes;
use fuseboard::{app::App, startup::Running};
use fuseboard_breaker::SystemClock;
use http::{HeaderMap, Method, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::{
    server::{self, Place},
    soon,
    sse::Feed,
};

/// Five failures trip, and no wait ends while a test runs.
const QUICK: &str = r#"
[policy.quick]
trip = [{ failures = 5, within = "1m" }]
wait = { first = "1h", factor = 1.0, max = "1h", jitter = 0.0 }
half_open = { probes = 1, successes = 1, lease = "40s" }
"#;

/// A running server and somebody who asks it.
pub(crate) struct Desk {
    running: Option<Running>,
    place: Place,
    client: Client<HttpConnector, Full<Bytes>>,
}

/// What it answered.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: String,
}

impl Answer {
    pub(crate) fn json<T: DeserializeOwned>(&self) -> T {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error} in {}", self.body))
    }

    pub(crate) fn value(&self) -> Value {
        self.json()
    }

    /// Status and the field at fault, of a problem.
    pub(crate) fn problem(&self) -> (u16, Option<String>) {
        assert_eq!(
            self.headers.get(header::CONTENT_TYPE).expect("a type"),
            "application/problem+json",
            "{}",
            self.body
        );
        let problem = self.value();
        assert_eq!(problem["status"], self.status.as_u16(), "{}", self.body);
        assert!(problem["detail"].as_str().is_some_and(|detail| !detail.is_empty()), "{}", self.body);
        (self.status.as_u16(), problem["field"].as_str().map(str::to_owned))
    }
}

impl Desk {
    /// With these upstreams and whatever else the text says; the policy `quick` waits an hour.
    pub(crate) async fn start(upstreams: &str) -> Self {
        let client = Client::builder(TokioExecutor::new()).build_http();
        let place = Place::new(format!("node = \"test\"\n{QUICK}{upstreams}"), Arc::new(SystemClock));
        Self { running: Some(place.start().await), place, client }
    }

    /// Writes what a reload or the next start reads, as [`Desk::start`] takes it.
    pub(crate) fn write(&self, upstreams: &str) {
        self.place.write(&format!("node = \"test\"\n{QUICK}{upstreams}"));
    }

    /// Writes it, and has it read.
    pub(crate) async fn reload(&self, upstreams: &str) -> Answer {
        self.write(upstreams);
        self.act(Method::POST, "/api/v1/reload", serde_json::json!({"by": "ana", "reason": "new mirror"})).await
    }

    /// Stops softly.
    pub(crate) async fn stop(&mut self) {
        server::stop(self.running.take().expect("it runs")).await;
    }

    /// Stops softly and starts again on the same store.
    pub(crate) async fn restart(&mut self) {
        self.stop().await;
        self.running = Some(self.place.start().await);
    }

    /// Stops softly, has something done to the store, and starts again on it.
    pub(crate) async fn while_stopped(&mut self, work: impl AsyncFnOnce(PathBuf)) {
        self.stop().await;
        work(self.store()).await;
        self.running = Some(self.place.start().await);
    }

    /// Waits until everything that happened is in the store.
    pub(crate) async fn stored(&self) {
        soon("the record's writing", self.app().journal.flush()).await;
    }

    fn running(&self) -> &Running {
        self.running.as_ref().expect("it runs")
    }

    pub(crate) fn app(&self) -> &Arc<App> {
        &self.running().app
    }

    /// Has the watchdog look twice, as it takes for what may be a matter of a moment.
    pub(crate) async fn look(&self) -> Vec<fuseboard_app::wire::event::Finding> {
        let mut watchdog = self.running().watchdog.lock().await;
        watchdog.round(self.app()).await;
        watchdog.round(self.app()).await;
        self.app().findings.standing()
    }

    pub(crate) fn admin(&self) -> SocketAddr {
        self.running().admin_addr
    }

    pub(crate) fn gateway(&self) -> SocketAddr {
        self.running().gateway_addr
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.place.store()
    }

    /// Any request to any listener.
    pub(crate) async fn send(
        &self,
        to: SocketAddr,
        method: Method,
        path: &str,
        headers: &[(&str, &str)],
        body: &str,
    ) -> Answer {
        let what = format!("an answer to {method} {path}");
        let mut request = Request::builder().method(method).uri(format!("http://{to}{path}"));
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Full::from(body.to_owned())).expect("a request");
        soon(&what, async {
            let (head, body) = self.client.request(request).await.expect("an answer").into_parts();
            let body = body.collect().await.expect("a body").to_bytes();
            let body = String::from_utf8_lossy(&body).into_owned();
            Answer { status: head.status, headers: head.headers, body }
        })
        .await
    }

    pub(crate) async fn get(&self, path: &str) -> Answer {
        self.send(self.admin(), Method::GET, path, &[], "").await
    }

    /// A JSON body to the API.
    pub(crate) async fn act(&self, method: Method, path: &str, body: Value) -> Answer {
        let kind = [("content-type", "application/json")];
        self.send(self.admin(), method, path, &kind, &body.to_string()).await
    }

    /// A read that must succeed.
    pub(crate) async fn read<T: DeserializeOwned>(&self, path: &str) -> T {
        let answer = self.get(path).await;
        assert_eq!(answer.status, StatusCode::OK, "{path}: {}", answer.body);
        answer.json()
    }

    /// A client's call through the gateway.
    pub(crate) async fn call(&self, path: &str) -> Answer {
        self.send(self.gateway(), Method::GET, path, &[], "").await
    }

    /// The live feed.
    pub(crate) async fn feed(&self, path: &str, last_event_id: Option<&str>) -> Feed {
        Feed::open(self.admin(), path, last_event_id).await
    }
}
