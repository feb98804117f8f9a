//! A cascade, replayed: fifty clients, each with its own retries, against one server that stalls for a while.
//!
//! The server works on one call at a time, 10 ms each, in the order they came, and does not know whose caller has gone:
//! a hundred calls a second. Each client calls once a second and gives a call 250 ms; what fails it tries again after
//! 100 ms, for ever. Together they ask for half of what the server can do, until it stalls: then every client asks three
//! times a second, for more than it can do, and all it ever works on is calls nobody waits for any more.
//!
//! Time is tokio's and stands still until every task waits, so the same happens in every run. What is asserted are
//! counts.

use std::{
    convert::Infallible,
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use bytes::Bytes;
use fuseboard_breaker::{
    Breaker, Clock, NoSink, Policy, State,
    grpc::ByTrailers,
    tower::{BoxError, BreakerLayer},
};
use http::{Request, Response};
use http_body_util::Empty;
use tokio::{
    sync::{mpsc, oneshot},
    task::JoinSet,
    time::{Instant, sleep, sleep_until, timeout},
};
use tower::{Layer, Service, ServiceExt, service_fn, util::BoxCloneService};

const CLIENTS: usize = 50;
const CAPACITY: u32 = 100;
const THINK: Duration = Duration::from_secs(1);
const DEADLINE: Duration = Duration::from_millis(250);
const RETRY: Duration = Duration::from_millis(100);
const STALL: std::ops::Range<u64> = 10..45;
const SECONDS: usize = 120;

/// The breaker's clock is the simulation's.
struct Virtual;

impl Clock for Virtual {
    fn now(&self) -> std::time::Instant {
        Instant::now().into_std()
    }

    fn wall(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH
    }
}

/// In each second: calls that reached the server, calls answered in time.
#[derive(Clone)]
struct Figures {
    start: Instant,
    seconds: Arc<Mutex<Vec<(u32, u32)>>>,
}

impl Figures {
    fn new() -> Self {
        Self { start: Instant::now(), seconds: Arc::new(Mutex::new(vec![(0, 0); SECONDS + 1])) }
    }

    fn count(&self, count: impl FnOnce(&mut (u32, u32))) {
        let second = usize::try_from(self.start.elapsed().as_secs()).expect("a short run").min(SECONDS);
        count(&mut self.seconds.lock().expect("no test panics while it counts")[second]);
    }
}

type Calls = BoxCloneService<Request<()>, (), BoxError>;

/// The server, and the way to it.
fn server(figures: &Figures) -> (Calls, JoinSet<()>) {
    let (queue, mut calls) = mpsc::unbounded_channel::<oneshot::Sender<()>>();
    let begin = figures.start;
    let mut worker = JoinSet::new();
    worker.spawn(async move {
        while let Some(call) = calls.recv().await {
            if STALL.contains(&begin.elapsed().as_secs()) {
                sleep_until(begin + Duration::from_secs(STALL.end)).await;
            }
            sleep(Duration::from_secs(1) / CAPACITY).await;
            // Nobody may be waiting for it any more; the work was done all the same.
            let _ = call.send(());
        }
    });
    let figures = figures.clone();
    let service = service_fn(move |_: Request<()>| {
        figures.count(|(reached, _)| *reached += 1);
        let (call, answer) = oneshot::channel();
        let sent = queue.send(call);
        async move {
            sent.map_err(|_| "the server is gone")?;
            answer.await.map_err(Into::into)
        }
    });
    (BoxCloneService::new(service), worker)
}

/// A client's channel, bare or behind a breaker of its own.
fn channel(server: Calls, breaker: Option<&Breaker>) -> Calls {
    let Some(breaker) = breaker else { return server };
    let grpc = service_fn(move |request: Request<()>| {
        let mut server = server.clone();
        async move {
            server.call(request).await?;
            Ok::<_, BoxError>(Response::builder().header("grpc-status", "0").body(Empty::<Bytes>::new())?)
        }
    });
    let guarded = BreakerLayer::new(breaker.clone(), ByTrailers::default()).layer(grpc);
    BoxCloneService::new(guarded.map_future(|answer| async {
        match answer.await?.headers().get("grpc-status") {
            Some(status) if status == "0" => Ok(()),
            status => Err(BoxError::from(format!("{status:?}"))),
        }
    }))
}

async fn client(mut channel: Calls, figures: Figures) -> Infallible {
    loop {
        let request = Request::builder().header("grpc-timeout", "250m").body(()).expect("a request");
        let call = async { channel.ready().await?.call(request).await };
        match timeout(DEADLINE, call).await {
            Ok(Ok(())) => {
                figures.count(|(_, answered)| *answered += 1);
                sleep(THINK).await;
            }
            _ => sleep(RETRY).await,
        }
    }
}

/// What each second saw, and the clients' breakers at the end.
async fn replay(guarded: bool) -> (Vec<(u32, u32)>, Vec<Breaker>) {
    let figures = Figures::new();
    let (server, _worker) = server(&figures);
    let breakers: Vec<_> = (0..CLIENTS)
        .map(|number| Breaker::new(format!("accounts-{number}"), Policy::grpc(), Arc::new(Virtual), Arc::new(NoSink)))
        .collect();
    let mut clients = JoinSet::new();
    for (number, breaker) in breakers.iter().enumerate() {
        let channel = channel(server.clone(), guarded.then_some(breaker));
        let figures = figures.clone();
        clients.spawn(async move {
            // Not all at once: they are fifty processes.
            sleep(THINK * u32::try_from(number).expect("few") / u32::try_from(CLIENTS).expect("few")).await;
            match client(channel, figures).await {}
        });
    }
    sleep_until(figures.start + Duration::from_secs(SECONDS as u64)).await;
    clients.shutdown().await;
    let mut seconds = figures.seconds.lock().expect("no test panics while it counts").clone();
    seconds.truncate(SECONDS);
    println!("{}", if guarded { "with the layer" } else { "without it" });
    println!("| seconds | reached the server a second | answered a second |");
    for (at, five) in seconds.chunks(5).enumerate() {
        let sum = five.iter().fold((0, 0), |sum, one| (sum.0 + one.0, sum.1 + one.1));
        println!("| {}–{} | {} | {} |", at * 5, at * 5 + 5, f64::from(sum.0) / 5.0, f64::from(sum.1) / 5.0);
    }
    (seconds, breakers)
}

const BEFORE: std::ops::Range<usize> = 2..10;

#[tokio::test(start_paused = true)]
async fn without_the_layer_the_server_never_recovers() {
    let (seconds, _) = replay(false).await;
    for (second, (reached, answered)) in seconds.iter().enumerate() {
        let (reached, answered) = (*reached, *answered);
        match second {
            second if BEFORE.contains(&second) => assert!((45..=50).contains(&answered), "second {second}: {answered}"),
            12.. => {
                assert_eq!(answered, 0, "second {second}: answered in time");
                assert!(reached > CAPACITY, "second {second}: only {reached} calls reached it");
            }
            _ => {}
        }
    }
}

#[tokio::test(start_paused = true)]
async fn with_the_layer_the_load_falls_to_probes_and_the_server_recovers() {
    let (seconds, breakers) = replay(true).await;
    for (second, (reached, answered)) in seconds.iter().enumerate() {
        let (reached, answered) = (*reached, *answered);
        match second {
            second if BEFORE.contains(&second) || second >= 65 => {
                assert!((45..=50).contains(&answered), "second {second}: {answered} answered");
                assert!(reached.abs_diff(answered) <= 1, "second {second}: {reached} for {answered}");
            }
            _ => {}
        }
    }
    // Three seconds after the stall began every client has seen its five failures; a probe each in every wait after that.
    let reached: u32 = seconds[13..45].iter().map(|(reached, _)| reached).sum();
    assert_eq!(reached, 2 * u32::try_from(CLIENTS).expect("few"), "two waits end within the stall");
    for breaker in breakers {
        let snap = breaker.snapshot();
        assert_eq!((snap.state, snap.in_flight), (State::Closed, 0), "{}", snap.id);
        assert_eq!((snap.counts.failure, snap.opens), (7, 3), "{}: five failures and two bad probes", snap.id);
    }
}
