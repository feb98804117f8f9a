//! A service as protoc would make it, small enough to read: its messages, a client with the four kinds of call, and a
//! server that can be told how to answer.

use std::{
    convert::Infallible,
    future::Future,
    io,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    task::{Context, Poll},
};

use bytes::Bytes;
use http::uri::PathAndQuery;
use tokio::{net::TcpListener, sync::watch, task::JoinHandle};
use tokio_stream::{Stream, StreamExt, wrappers::TcpListenerStream};
use tonic::{
    Code, Request, Response, Status, Streaming,
    body::Body,
    client::{Grpc, GrpcService},
    server::NamedService,
};
use tonic_prost::ProstCodec;
use tower::{Service, service_fn};

/// Asks for the account of this name.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Ask {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
}

/// An account.
#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(crate) struct Account {
    #[prost(string, tag = "1")]
    pub(crate) name: String,
    #[prost(uint64, tag = "2")]
    pub(crate) number: u64,
}

/// The four kinds of call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    Unary,
    Server,
    Client,
    Bidi,
}

impl Kind {
    pub(crate) const ALL: [Self; 4] = [Self::Unary, Self::Server, Self::Client, Self::Bidi];

    fn path(self) -> &'static str {
        match self {
            Self::Unary => "/accounts.v1.Accounts/Get",
            Self::Server => "/accounts.v1.Accounts/List",
            Self::Client => "/accounts.v1.Accounts/Put",
            Self::Bidi => "/accounts.v1.Accounts/Watch",
        }
    }
}

type Boxed = Box<dyn std::error::Error + Send + Sync>;

/// The client; it does not know what is around its channel.
#[derive(Debug, Clone)]
pub(crate) struct AccountsClient<T>(Grpc<T>);

impl<T> AccountsClient<T>
where
    T: GrpcService<Body, Error: Into<Boxed>>,
    T::ResponseBody: http_body::Body<Data = Bytes, Error: Into<Boxed> + Send> + Send + 'static,
{
    pub(crate) fn new(channel: T) -> Self {
        Self(Grpc::new(channel))
    }

    pub(crate) async fn get(&mut self, ask: impl tonic::IntoRequest<Ask>) -> Result<Account, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static(Kind::Unary.path());
        Ok(self.0.unary(ask.into_request(), path, ProstCodec::default()).await?.into_inner())
    }

    /// A call of any kind, its requests and its answers as streams.
    pub(crate) async fn open(
        &mut self,
        kind: Kind,
        asks: Request<impl Stream<Item = Ask> + Send + 'static>,
    ) -> Result<Streaming<Account>, Status> {
        self.ready().await?;
        let path = PathAndQuery::from_static(kind.path());
        Ok(self.0.streaming(asks, path, ProstCodec::default()).await?.into_inner())
    }

    async fn ready(&mut self) -> Result<(), Status> {
        self.0.ready().await.map_err(|error| Status::from_error(error.into()))
    }
}

/// What the server does with a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Told {
    /// It answers.
    Well,
    /// It answers with this status and nothing else.
    Fail(Code),
    /// It answers with one message, and then with this status.
    FailLate(Code),
    /// It does not answer until it is told otherwise, and then as told.
    Hang,
    /// It answers with one message, and then nothing until it is told otherwise.
    HangLate,
}

/// The running server.
#[derive(Debug)]
pub(crate) struct Accounts {
    pub(crate) address: SocketAddr,
    told: watch::Sender<Told>,
    calls: Arc<AtomicU64>,
    task: JoinHandle<()>,
}

impl Accounts {
    /// Serves on a free port of this machine.
    pub(crate) async fn serve() -> io::Result<Self> {
        let listener = TcpListener::bind("127.0.0.1:0").await?;
        let address = listener.local_addr()?;
        let (told, hears) = watch::channel(Told::Well);
        let calls = Arc::<AtomicU64>::default();
        let service = AccountsServer { told: hears, calls: calls.clone() };
        let task = tokio::spawn(async move {
            let serving = tonic::transport::Server::builder().add_service(service);
            if let Err(error) = serving.serve_with_incoming(TcpListenerStream::new(listener)).await {
                eprintln!("the server ended: {error}");
            }
        });
        Ok(Self { address, told, calls, task })
    }

    pub(crate) fn tell(&self, told: Told) {
        self.told.send_replace(told);
    }

    /// How many calls reached it.
    pub(crate) fn calls(&self) -> u64 {
        self.calls.load(Ordering::SeqCst)
    }
}

impl Drop for Accounts {
    fn drop(&mut self) {
        self.task.abort();
    }
}

#[derive(Clone)]
struct AccountsServer {
    told: watch::Receiver<Told>,
    calls: Arc<AtomicU64>,
}

impl NamedService for AccountsServer {
    const NAME: &'static str = "accounts.v1.Accounts";
}

type Answers = Pin<Box<dyn Stream<Item = Result<Account, Status>> + Send>>;

impl AccountsServer {
    /// On the wire every kind is a stream of requests and a stream of answers.
    async fn answer(mut self, kind: Kind, mut asks: Streaming<Ask>) -> Result<Answers, Status> {
        self.calls.fetch_add(1, Ordering::SeqCst);
        let mut told = *self.told.borrow_and_update();
        while told == Told::Hang {
            told = self.changed().await?;
        }
        let first = tokio_stream::once(Ok(Account { name: "first".into(), number: 1 }));
        match told {
            Told::Well | Told::Hang => {}
            Told::Fail(code) => return Err(Status::new(code, "as told")),
            Told::FailLate(code) => {
                return Ok(Box::pin(first.chain(tokio_stream::once(Err(Status::new(code, "as told"))))));
            }
            Told::HangLate => {
                let rest = async move {
                    match self.changed().await? {
                        Told::Fail(code) | Told::FailLate(code) => Err(Status::new(code, "as told")),
                        _ => Ok(Account { name: "second".into(), number: 2 }),
                    }
                };
                return Ok(Box::pin(first.chain(tokio_stream::iter([rest]).then(|rest| rest))));
            }
        }
        let account = |(number, ask): (usize, Ask)| Account { name: ask.name, number: number as u64 };
        match kind {
            Kind::Bidi => {
                let mut number = 0;
                Ok(Box::pin(asks.map(move |ask| {
                    number += 1;
                    Ok(account((number, ask?)))
                })))
            }
            Kind::Server => {
                let ask = asks.message().await?.unwrap_or_default();
                Ok(Box::pin(tokio_stream::iter((1..=3).map(move |number| Ok(account((number, ask.clone())))))))
            }
            Kind::Unary | Kind::Client => {
                let (mut number, mut last) = (0, Ask::default());
                while let Some(ask) = asks.message().await? {
                    (number, last) = (number + 1, ask);
                }
                Ok(Box::pin(tokio_stream::once(Ok(account((number, last))))))
            }
        }
    }

    async fn changed(&mut self) -> Result<Told, Status> {
        self.told.changed().await.map_err(|_| Status::unavailable("the server is going away"))?;
        Ok(*self.told.borrow_and_update())
    }
}

impl Service<http::Request<Body>> for AccountsServer {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn poll_ready(&mut self, _cx: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let server = self.clone();
        Box::pin(async move {
            let Some(kind) = Kind::ALL.into_iter().find(|kind| kind.path() == request.uri().path()) else {
                return Ok(Status::unimplemented("no such method").into_http());
            };
            let answer = service_fn(move |asks: Request<Streaming<Ask>>| {
                let server = server.clone();
                async move { server.answer(kind, asks.into_inner()).await.map(Response::new) }
            });
            Ok(tonic::server::Grpc::new(ProstCodec::default()).streaming(answer, request).await)
        })
    }
}
