//! The demo's clients and its operator, both over HTTP like anybody else's.

use std::{
    error::Error,
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use bytes::Bytes;
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde_json::json;
use tokio::{
    sync::Semaphore,
    time::{MissedTickBehavior, interval, sleep},
};

use super::{
    rpc,
    script::{Behind, Calls, OVERRIDES, Part},
};

type Http = Client<HttpConnector, Full<Bytes>>;
pub(super) type Failed = Box<dyn Error + Send + Sync>;

#[derive(Clone)]
enum Caller {
    Http(Http),
    Grpc(rpc::Caller),
}

/// Calls under way at a time, for each upstream: clients of a slow host pile up, but not for ever.
const AT_A_TIME: usize = 12;
/// When the operator acts: late enough that the breakers have been closed and called first.
const ACTS_AFTER: Duration = Duration::from_secs(8);

/// The clients of one upstream.
pub(super) async fn calls(part: &'static Part, gateway: SocketAddr, epoch: Instant) {
    let (pause, many) = match part.calls {
        Calls::Never => return,
        Calls::Once(many) => (Duration::from_millis(300), Some(many)),
        Calls::Every(pause) => (pause, None),
    };
    let caller = match part.behind {
        Behind::Grpc { .. } => Caller::Grpc(rpc::Caller::new()),
        Behind::Http(_) | Behind::Nobody => Caller::Http(Client::builder(TokioExecutor::new()).build_http()),
    };
    let room = Arc::new(Semaphore::new(AT_A_TIME));
    let turn = AtomicUsize::new(0);
    let mut pace = interval(pause);
    pace.set_missed_tick_behavior(MissedTickBehavior::Skip);
    while many.is_none_or(|many| (turn.load(Ordering::Relaxed) as u64) < u64::from(many)) {
        pace.tick().await;
        let Ok(room) = room.clone().acquire_owned().await else { return };
        let path = part.asks[turn.fetch_add(1, Ordering::Relaxed) % part.asks.len()];
        let caller = caller.clone();
        tokio::spawn(async move {
            let called = match &caller {
                Caller::Http(http) => get(http, &format!("http://{gateway}/{}{path}", part.name)).await,
                Caller::Grpc(grpc) => grpc.call(gateway, path).await,
            };
            // Refusals and failures are what the demo is about.
            if let Err(error) = called {
                tracing::debug!(after = ?epoch.elapsed(), "a call of the demo failed: {error}");
            }
            drop(room);
        });
    }
}

async fn get(http: &Http, uri: &str) -> Result<(), Failed> {
    let request = Request::get(uri).header(header::USER_AGENT, "fuseboard-demo").body(Full::default())?;
    let mut body = http.request(request).await?.into_body();
    while let Some(frame) = body.frame().await {
        frame?;
    }
    Ok(())
}

/// The operator: holds one host open and one closed, each with a reason and an end.
pub(super) async fn operator(admin: SocketAddr) {
    let http: Http = Client::builder(TokioExecutor::new()).build_http();
    sleep(ACTS_AFTER).await;
    for (upstream, mode, reason, minutes) in OVERRIDES {
        let wish = json!({ "mode": mode, "reason": reason, "for_ms": minutes * 60_000, "by": "demo" });
        match put(&http, &format!("http://{admin}/api/v1/breakers/{upstream}/override"), wish.to_string()).await {
            Ok(status) if status < 300 => {}
            Ok(status) => tracing::warn!("the demo's operator could not hold {upstream}: the API answered {status}"),
            Err(error) => tracing::warn!("the demo's operator could not hold {upstream}: {error}"),
        }
    }
}

async fn put(http: &Http, uri: &str, body: String) -> Result<u16, Failed> {
    let request = Request::builder().method(Method::PUT).uri(uri).header(header::CONTENT_TYPE, "application/json");
    let response = http.request(request.body(Full::from(body))?).await?;
    let status = response.status().as_u16();
    response.into_body().collect().await?;
    Ok(status)
}
