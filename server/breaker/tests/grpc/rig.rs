//! A tonic client behind a breaker whose clock the test moves, and what its observer saw.

use std::{
    future::Future,
    net::SocketAddr,
    sync::{Arc, Mutex},
    time::Duration,
};

use fuseboard_breaker::{
    Breaker, Event, EventSink, ManualClock, Policy, PolicySettings, Snapshot, State,
    grpc::{ByTrailers, Codes, Logged},
    tower::{BreakerLayer, BreakerService},
};
use tokio::time::timeout;
use tokio_stream::StreamExt;
use tonic::{
    Request, Status,
    transport::{Channel, Endpoint},
};
use tower::Layer;

use crate::accounts::{Account, AccountsClient, Ask, Kind};

/// What `BreakerLayer::grpc` waits.
pub(crate) const WAIT: Duration = Duration::from_secs(15);

/// No wait of a test is longer.
const PATIENCE: Duration = Duration::from_secs(20);

/// Waits, but not for ever; says for what.
pub(crate) async fn within<T>(what: &str, wanted: impl Future<Output = T>) -> T {
    match timeout(PATIENCE, wanted).await {
        Ok(came) => came,
        Err(_) => panic!("{what} did not come within {PATIENCE:?}"),
    }
}

/// Waits until it holds; each look lets other tasks go on.
pub(crate) async fn until(what: &str, mut holds: impl FnMut() -> bool) {
    within(what, async {
        while !holds() {
            tokio::task::yield_now().await;
        }
    })
    .await;
}

#[derive(Clone, Default)]
pub(crate) struct Seen(Arc<Mutex<Vec<Event>>>);

impl EventSink for Seen {
    fn record(&self, event: Event) {
        self.0.lock().expect("no test panics while it records").push(event);
    }
}

impl Seen {
    pub(crate) fn events(&self) -> Vec<Event> {
        self.0.lock().expect("no test panics while it records").clone()
    }

    /// Why it changed, one word for each time.
    pub(crate) fn causes(&self) -> Vec<&'static str> {
        let row = |event| match event {
            Event::Transition(row) => Some(row.cause.as_str()),
            Event::Probe(_) => None,
        };
        self.events().into_iter().filter_map(row).collect()
    }
}

pub(crate) type Client = AccountsClient<BreakerService<Channel, ByTrailers>>;

pub(crate) struct Rig {
    pub(crate) clock: Arc<ManualClock>,
    pub(crate) seen: Seen,
    pub(crate) layer: BreakerLayer<ByTrailers>,
    pub(crate) client: Client,
}

impl Rig {
    pub(crate) fn new(server: SocketAddr) -> Self {
        Self::with(server, PolicySettings::grpc(), Codes::default())
    }

    pub(crate) fn with(server: SocketAddr, settings: PolicySettings, codes: Codes) -> Self {
        let (clock, seen) = (Arc::new(ManualClock::default()), Seen::default());
        let policy = Policy::new(settings).expect("it can recover");
        let breaker = Breaker::new("accounts", policy, clock.clone(), Arc::new(Logged::and(seen.clone())));
        let layer = BreakerLayer::new(breaker, ByTrailers::new(codes));
        let channel = Endpoint::from_shared(format!("http://{server}")).expect("an address").connect_lazy();
        let client = AccountsClient::new(layer.layer(channel));
        Self { clock, seen, layer, client }
    }

    pub(crate) fn breaker(&self) -> &Breaker {
        self.layer.breaker()
    }

    pub(crate) fn snap(&self) -> Snapshot {
        self.breaker().snapshot()
    }

    pub(crate) fn state(&self) -> State {
        self.snap().state
    }

    /// One whole call: everything it was answered, and how it ended.
    pub(crate) async fn call(&self, kind: Kind) -> (Vec<Account>, Result<(), Status>) {
        self.call_with(kind, |_| {}).await
    }

    pub(crate) async fn call_with(
        &self,
        kind: Kind,
        set: impl FnOnce(&mut Request<()>),
    ) -> (Vec<Account>, Result<(), Status>) {
        let mut client = self.client.clone();
        let asks = match kind {
            Kind::Unary | Kind::Server => vec!["ana"],
            Kind::Client | Kind::Bidi => vec!["ana", "ben"],
        };
        let mut request = Request::new(());
        set(&mut request);
        let asks = tokio_stream::iter(asks.into_iter().map(|name| Ask { name: name.into() }));
        let whole = async {
            let mut answers = match client.open(kind, request.map(|()| asks)).await {
                Ok(answers) => answers,
                Err(status) => return (Vec::new(), Err(status)),
            };
            let mut came = Vec::new();
            loop {
                match answers.next().await {
                    Some(Ok(account)) => came.push(account),
                    Some(Err(status)) => return (came, Err(status)),
                    None => return (came, Ok(())),
                }
            }
        };
        within("the end of a call", whole).await
    }

    /// Every permit is back, and in half-open all of them can be had again.
    pub(crate) fn assert_no_permit_leaked(&self) {
        let snap = self.snap();
        assert_eq!((snap.in_flight, snap.half_open.in_flight), (0, 0), "{snap:?}");
    }
}
