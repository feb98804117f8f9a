//! A tonic server and a tonic client, real ones, whose messages are bytes: nothing has to be generated.

use std::{
    convert::Infallible,
    net::SocketAddr,
    pin::Pin,
    sync::{
        Arc, Mutex,
        atomic::{AtomicU32, AtomicUsize, Ordering},
    },
    task::{Context, Poll},
};

use bytes::{Buf, BufMut, Bytes};
use futures_util::{Stream, StreamExt, stream};
use http::uri::PathAndQuery;
use tokio::net::TcpListener;
use tonic::{
    Code, Request, Response, Status, Streaming,
    body::Body,
    client::Grpc as Client,
    codec::{Codec, DecodeBuf, Decoder, EncodeBuf, Encoder},
    metadata::MetadataMap,
    server::Grpc,
    transport::{Channel, Endpoint, Server},
};
use tower::{Service, service_fn};

use super::soon;

/// Bytes are bytes.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Raw;

impl Codec for Raw {
    type Encode = Bytes;
    type Decode = Bytes;
    type Encoder = Self;
    type Decoder = Self;

    fn encoder(&mut self) -> Self {
        *self
    }

    fn decoder(&mut self) -> Self {
        *self
    }
}

impl Encoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn encode(&mut self, item: Bytes, out: &mut EncodeBuf<'_>) -> Result<(), Status> {
        out.put(item);
        Ok(())
    }
}

impl Decoder for Raw {
    type Item = Bytes;
    type Error = Status;

    fn decode(&mut self, from: &mut DecodeBuf<'_>) -> Result<Option<Bytes>, Status> {
        Ok(Some(from.copy_to_bytes(from.remaining())))
    }
}

/// What came in and what goes out.
#[derive(Default)]
struct Desk {
    calls: AtomicUsize,
    /// Answers with this code instead, if it is not 0.
    fails: AtomicU32,
    metadata: Mutex<Vec<MetadataMap>>,
}

/// A server that answers for any service, by the method's name: `Get` and `Sum` with everything they were sent, `List`
/// with each byte as a message, `Chat` and `Watch` with each message as it comes, `Hang` with nothing.
#[derive(Clone, Default)]
struct Answers(Arc<Desk>);

type Messages = Pin<Box<dyn Stream<Item = Result<Bytes, Status>> + Send>>;

impl Service<http::Request<Body>> for Answers {
    type Response = http::Response<Body>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<http::Response<Body>, Infallible>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<Body>) -> Self::Future {
        let desk = self.0.clone();
        desk.calls.fetch_add(1, Ordering::SeqCst);
        desk.metadata
            .lock()
            .expect("a test that does not panic")
            .push(MetadataMap::from_headers(request.headers().clone()));
        let method = request.uri().path().rsplit('/').next().unwrap_or_default().to_owned();
        let fails = desk.fails.load(Ordering::SeqCst);
        Box::pin(async move {
            let mut grpc = Grpc::new(Raw).max_decoding_message_size(64 << 20).max_encoding_message_size(64 << 20);
            let fault = move || Status::new(Code::from(i32::try_from(fails).unwrap_or(2)), "as told");
            Ok(match method.as_str() {
                _ if fails != 0 => {
                    let failing =
                        service_fn(
                            move |_: Request<Streaming<Bytes>>| async move { Err::<Response<Messages>, _>(fault()) },
                        );
                    grpc.streaming(failing, request).await
                }
                "Get" | "Check" => {
                    let get = service_fn(|request: Request<Bytes>| async move { Ok(echo_metadata(request)) });
                    grpc.unary(get, request).await
                }
                "List" => {
                    let list = service_fn(|request: Request<Bytes>| async move {
                        let each = request.into_inner().into_iter().map(|byte| Ok(Bytes::copy_from_slice(&[byte])));
                        Ok(Response::new(stream::iter(each.collect::<Vec<_>>())))
                    });
                    grpc.server_streaming(list, request).await
                }
                "Sum" => {
                    let sum = service_fn(|request: Request<Streaming<Bytes>>| async move {
                        let mut all = Vec::new();
                        let mut messages = request.into_inner();
                        while let Some(message) = messages.message().await? {
                            all.extend_from_slice(&message);
                        }
                        Ok(Response::new(Bytes::from(all)))
                    });
                    grpc.client_streaming(sum, request).await
                }
                "Chat" | "Watch" => {
                    let chat = service_fn(|request: Request<Streaming<Bytes>>| async move {
                        Ok(Response::new(request.into_inner()))
                    });
                    grpc.streaming(chat, request).await
                }
                _ => std::future::pending().await,
            })
        })
    }
}

/// All metadata whose name begins with `x-` comes back.
fn echo_metadata(request: Request<Bytes>) -> Response<Bytes> {
    let (metadata, _, message) = request.into_parts();
    let mut headers = metadata.into_headers();
    for name in headers.keys().filter(|name| !name.as_str().starts_with("x-")).cloned().collect::<Vec<_>>() {
        headers.remove(name);
    }
    Response::from_parts(MetadataMap::from_headers(headers), message, tonic::Extensions::default())
}

/// A running server; it goes with the value.
pub(crate) struct RpcHost {
    pub(crate) address: SocketAddr,
    desk: Arc<Desk>,
    serving: tokio::task::JoinHandle<()>,
}

impl Drop for RpcHost {
    fn drop(&mut self) {
        self.serving.abort();
    }
}

impl RpcHost {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("an address");
        let answers = Answers::default();
        let desk = answers.0.clone();
        let incoming = stream::unfold(listener, |listener| async move {
            let accepted = listener.accept().await.map(|(stream, _)| stream);
            Some((accepted, listener))
        });
        let serving = tokio::spawn(async move {
            let served = Server::builder().serve_with_incoming(answers, incoming.boxed()).await;
            served.expect("it serves");
        });
        Self { address, desk, serving }
    }

    /// From here on every call gets this code; 0 ends that.
    pub(crate) fn fail_with(&self, code: Code) {
        self.desk.fails.store(u32::try_from(i32::from(code)).expect("a code"), Ordering::SeqCst);
    }

    /// Calls so far.
    pub(crate) fn calls(&self) -> usize {
        self.desk.calls.load(Ordering::SeqCst)
    }

    /// What the last call brought.
    pub(crate) fn metadata(&self) -> MetadataMap {
        self.desk.metadata.lock().expect("a test that does not panic").last().cloned().expect("a call")
    }

    /// An upstream of it.
    pub(crate) fn upstream(&self, name: &str, services: &str) -> String {
        format!(
            "[[upstream]]\nname = \"{name}\"\nurl = \"http://{}\"\nprotocol = \"grpc\"\nservices = {services}\n",
            self.address
        )
    }
}

/// A client of the gateway.
pub(crate) async fn client(to: SocketAddr) -> Client<Channel> {
    let endpoint = Endpoint::from_shared(format!("http://{to}")).expect("an address");
    let channel = soon("a connection", endpoint.connect()).await.expect("somebody listens");
    Client::new(channel).max_decoding_message_size(64 << 20).max_encoding_message_size(64 << 20)
}

/// One message there and one back.
pub(crate) async fn unary(
    client: &mut Client<Channel>,
    path: &'static str,
    request: Request<Bytes>,
) -> Result<Response<Bytes>, Status> {
    soon("a channel", client.ready()).await.expect("it is there");
    soon(path, client.unary(request, PathAndQuery::from_static(path), Raw)).await
}

/// One message there and one back, without more ado.
pub(crate) async fn get(client: &mut Client<Channel>, path: &'static str) -> Result<Response<Bytes>, Status> {
    unary(client, path, Request::new(Bytes::from_static(b"hi"))).await
}
