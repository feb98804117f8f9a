//! What the layer costs a unary call, beside the bare channel and tower-resilience's layer around the same one: over a
//! socket, where the network decides, and around a service that answers at once, where nothing hides it.

#[expect(dead_code, reason = "the tests and the example use the rest of it")]
#[path = "../examples/tonic_client/accounts.rs"]
mod accounts;

use std::{
    convert::Infallible,
    future::{Ready, poll_fn, ready},
    pin::{Pin, pin},
    task::{Context, Poll},
    thread,
    time::Duration,
};

use accounts::{Accounts, AccountsClient, Ask};
use bytes::Bytes;
use criterion::{BenchmarkGroup, Criterion, criterion_group, criterion_main, measurement::WallTime};
use fuseboard_breaker::tower::BreakerLayer;
use http::{HeaderMap, HeaderValue, Request, Response};
use http_body::{Body, Frame};
use tokio::runtime::{Builder, Runtime};
use tonic::{
    client::GrpcService,
    transport::{Channel, Endpoint},
};
use tower::{Layer, Service, ServiceExt};
use tower_resilience_circuitbreaker::CircuitBreakerLayer;

fn runtime() -> Runtime {
    Builder::new_current_thread().enable_all().build().expect("a runtime")
}

/// The server has a thread of its own, for as long as the process lives.
fn server() -> Channel {
    let (address, known) = std::sync::mpsc::channel();
    thread::spawn(move || {
        runtime().block_on(async {
            let server = Accounts::serve().await.expect("a free port");
            address.send(server.address).expect("the bench waits for it");
            std::future::pending::<()>().await;
        });
    });
    let address = known.recv().expect("it starts");
    Endpoint::from_shared(format!("http://{address}")).expect("an address").connect_lazy()
}

macro_rules! peer {
    () => {
        CircuitBreakerLayer::builder()
            .consecutive_failures(5)
            .wait_duration_in_open(Duration::from_secs(15))
            .build()
            .expect("its own settings are valid")
    };
}

fn over_a_socket(criterion: &mut Criterion) {
    fn bench<T>(group: &mut BenchmarkGroup<'_, WallTime>, runtime: &Runtime, name: &str, channel: T)
    where
        T: GrpcService<tonic::body::Body, Error: Into<Box<dyn std::error::Error + Send + Sync>>>,
        T::ResponseBody:
            Body<Data = Bytes, Error: Into<Box<dyn std::error::Error + Send + Sync>> + Send> + Send + 'static,
    {
        let mut client = AccountsClient::new(channel);
        group.bench_function(name, |bench| {
            bench.iter(|| runtime.block_on(client.get(Ask { name: "ana".into() })).expect("the server is well"));
        });
    }
    let runtime = runtime();
    let _entered = runtime.enter();
    let channel = server();
    let mut group = criterion.benchmark_group("unary call over loopback");
    bench(&mut group, &runtime, "bare channel", channel.clone());
    bench(&mut group, &runtime, "fuseboard", BreakerLayer::grpc("accounts").layer(channel.clone()));
    bench(&mut group, &runtime, "tower-resilience", peer!().layer(channel.clone()));
    bench(&mut group, &runtime, "bare channel, again", channel);
    group.finish();
}

/// One message and good trailers, at once.
#[derive(Debug, Clone, Copy, Default)]
struct Answer {
    sent: u8,
}

impl Body for Answer {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        self.sent += 1;
        Poll::Ready(match self.sent {
            1 => Some(Ok(Frame::data(Bytes::from_static(&[0; 5])))),
            2 => {
                let mut trailers = HeaderMap::with_capacity(1);
                trailers.insert("grpc-status", HeaderValue::from_static("0"));
                Some(Ok(Frame::trailers(trailers)))
            }
            _ => None,
        })
    }
}

#[derive(Debug, Clone, Copy)]
struct AtOnce;

impl Service<Request<()>> for AtOnce {
    type Response = Response<Answer>;
    type Error = Infallible;
    type Future = Ready<Result<Response<Answer>, Infallible>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, _request: Request<()>) -> Self::Future {
        ready(Ok(Response::new(Answer::default())))
    }
}

fn at_once(criterion: &mut Criterion) {
    fn bench<S, B>(group: &mut BenchmarkGroup<'_, WallTime>, name: &str, mut service: S, deadline: bool)
    where
        S: Service<Request<()>, Response = Response<B>>,
        B: Body,
    {
        let runtime = runtime();
        group.bench_function(name, |bench| {
            bench.iter(|| {
                runtime.block_on(async {
                    let mut request = Request::new(());
                    if deadline {
                        request.headers_mut().insert("grpc-timeout", HeaderValue::from_static("10S"));
                    }
                    let Ok(service) = service.ready().await else { panic!("always ready") };
                    let Ok(response) = service.call(request).await else { panic!("it answers") };
                    let mut body = pin!(response.into_body());
                    while poll_fn(|cx| body.as_mut().poll_frame(cx)).await.is_some() {}
                });
            });
        });
    }
    let mut group = criterion.benchmark_group("unary call of a service that answers at once");
    bench(&mut group, "bare", AtOnce, false);
    bench(&mut group, "fuseboard", BreakerLayer::grpc("accounts").layer(AtOnce), false);
    bench(&mut group, "fuseboard, with a deadline", BreakerLayer::grpc("accounts").layer(AtOnce), true);
    bench(&mut group, "tower-resilience", peer!().layer(AtOnce), false);
    group.finish();
}

criterion_group! {
    name = benches;
    config = Criterion::default()
        .warm_up_time(Duration::from_millis(500))
        .measurement_time(Duration::from_secs(3))
        .without_plots();
    targets = at_once, over_a_socket
}
criterion_main!(benches);
