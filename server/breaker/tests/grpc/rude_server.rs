//! Servers that speak h2 and break the promises of gRPC, each in one way.

use std::net::SocketAddr;

use bytes::Bytes;
use h2::{Reason, server};
use http::{HeaderMap, Response};
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::{TcpListener, TcpStream},
    task::JoinHandle,
};

/// What it does with every call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rude {
    /// Nothing but trailers, with this status.
    TrailersOnly(&'static str),
    /// An HTTP error, as a proxy sends it.
    Http(u16),
    /// A page of a proxy's, with HTTP's own success.
    Page,
    /// Headers, a message, and then trailers without a status.
    NoStatus,
    /// Resets the stream, before any headers.
    Reset(Reason),
    /// Resets the stream after headers and a message.
    ResetLate(Reason),
    /// Ends the connection with GOAWAY after it took the call.
    GoAway(Reason),
    /// Ends the connection with a GOAWAY that says it has taken no call.
    GoAwayBelow,
    /// Drops the connection after it took the call.
    HangUp,
    /// Takes the call and neither reads nor answers.
    Deaf,
    /// Answers with more than fits in the caller's window.
    Flood,
}

/// One message of no bytes, as gRPC frames it.
const MESSAGE: Bytes = Bytes::from_static(&[0, 0, 0, 0, 0]);

pub(crate) struct RudeServer {
    pub(crate) address: SocketAddr,
    task: JoinHandle<()>,
}

impl Drop for RudeServer {
    fn drop(&mut self) {
        self.task.abort();
    }
}

impl RudeServer {
    pub(crate) async fn serve(rude: Rude) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let address = listener.local_addr().expect("bound");
        let task = tokio::spawn(async move {
            while let Ok((socket, _)) = listener.accept().await {
                match rude {
                    Rude::GoAwayBelow => drop(tokio::spawn(go_away_below(socket))),
                    _ => drop(tokio::spawn(connection(socket, rude))),
                }
            }
        });
        Self { address, task }
    }
}

async fn connection(socket: TcpStream, rude: Rude) {
    let mut connection = server::handshake(socket).await.expect("a client that speaks h2");
    let mut kept = Vec::new();
    while let Some(Ok((request, mut respond))) = connection.accept().await {
        let grpc = || Response::builder().header("content-type", "application/grpc");
        let answer = match rude {
            Rude::TrailersOnly(status) => {
                let answer = grpc().header("grpc-status", status).body(()).expect("a response");
                respond.send_response(answer, true).map(drop)
            }
            Rude::Http(status) => {
                let answer = Response::builder().status(status).body(()).expect("a response");
                respond.send_response(answer, true).map(drop)
            }
            Rude::Page => {
                let answer = Response::builder().header("content-type", "text/html").body(()).expect("a response");
                respond
                    .send_response(answer, false)
                    .and_then(|mut body| body.send_data("<h1>Sign in</h1>".into(), true))
            }
            Rude::NoStatus => {
                respond.send_response(grpc().body(()).expect("a response"), false).and_then(|mut body| {
                    body.send_data(MESSAGE, false)?;
                    body.send_trailers(HeaderMap::from_iter([(
                        "x-odd".parse().expect("a name"),
                        "1".parse().expect("a value"),
                    )]))
                })
            }
            Rude::Reset(reason) => {
                respond.send_reset(reason);
                Ok(())
            }
            Rude::ResetLate(reason) => {
                respond.send_response(grpc().body(()).expect("a response"), false).and_then(|mut body| {
                    body.send_data(MESSAGE, false)?;
                    // Once the message is out: a reset drops what waits to be sent.
                    tokio::spawn(async move {
                        body.reserve_capacity(1);
                        let _ = std::future::poll_fn(|cx| body.poll_capacity(cx)).await;
                        body.send_reset(reason);
                    });
                    Ok(())
                })
            }
            Rude::GoAway(reason) => {
                connection.abrupt_shutdown(reason);
                Ok(())
            }
            Rude::HangUp => return,
            Rude::Flood => respond.send_response(grpc().body(()).expect("a response"), false).and_then(|mut body| {
                let length: u32 = 4 << 20;
                let mut message = vec![0];
                message.extend_from_slice(&length.to_be_bytes());
                message.resize(5 + length as usize, 7);
                body.send_data(message.into(), false)?;
                body.send_trailers(HeaderMap::from_iter([(
                    "grpc-status".parse().expect("a name"),
                    "0".parse().expect("a value"),
                )]))
            }),
            Rude::Deaf | Rude::GoAwayBelow => Ok(()),
        };
        answer.expect("the stream is open");
        // Dropped they would be reset.
        kept.push((request, respond));
    }
}

/// By hand: h2 says of no call it accepted that it did not.
async fn go_away_below(mut socket: TcpStream) {
    const HEADERS: u8 = 1;
    const GO_AWAY: u8 = 7;
    const SETTINGS: [u8; 9] = [0, 0, 0, 4, 0, 0, 0, 0, 0];
    let mut preface = [0; 24];
    if socket.read_exact(&mut preface).await.is_err() {
        return;
    }
    socket.write_all(&SETTINGS).await.expect("the client is there");
    loop {
        let mut head = [0; 9];
        if socket.read_exact(&mut head).await.is_err() {
            return;
        }
        let mut payload = vec![0; u32::from_be_bytes([0, head[0], head[1], head[2]]) as usize];
        socket.read_exact(&mut payload).await.expect("a whole frame");
        if head[3] == HEADERS {
            // Length 8, last stream 0, NO_ERROR.
            socket
                .write_all(&[0, 0, 8, GO_AWAY, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0])
                .await
                .expect("the client is there");
            socket.flush().await.expect("the client is there");
        }
    }
}
