//! The demo's hosts: real servers on loopback ports of their own.

use std::{
    convert::Infallible,
    io,
    net::{Ipv4Addr, SocketAddr},
    time::{Duration, Instant},
};

use bytes::Bytes;
use futures_util::stream;
use http::{Response, StatusCode, header};
use http_body_util::{Either, Full, StreamBody};
use hyper::{body::Frame, server::conn::http1, service::service_fn};
use hyper_util::rt::TokioIo;
use tokio::net::{TcpListener, TcpSocket, TcpStream};

use super::{
    rpc,
    script::{Behind, Part, Reply},
};
use crate::lifecycle::Lifecycle;

/// One host's port.
pub(super) struct Host {
    address: SocketAddr,
    /// What stands there.
    behind: &'static Behind,
    port: Port,
}

enum Port {
    Open(TcpListener),
    /// Held without listening, so that connections are refused and nobody else takes it.
    Shut(TcpSocket),
}

impl Host {
    pub(super) fn bind(part: &'static Part) -> io::Result<Self> {
        let socket = TcpSocket::new_v4()?;
        socket.bind((Ipv4Addr::LOCALHOST, 0).into())?;
        let address = socket.local_addr()?;
        let port = match part.behind {
            Behind::Nobody => Port::Shut(socket),
            Behind::Http(_) | Behind::Grpc { .. } => Port::Open(socket.listen(1024)?),
        };
        Ok(Self { address, behind: &part.behind, port })
    }

    pub(super) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves for ever.
    pub(super) async fn run(self, epoch: Instant) {
        let listener = match self.port {
            Port::Open(listener) => listener,
            Port::Shut(socket) => {
                std::future::pending::<()>().await;
                return drop(socket);
            }
        };
        loop {
            let Ok((stream, _)) = listener.accept().await else { continue };
            match self.behind {
                Behind::Http(answers) => drop(tokio::spawn(connection(stream, epoch, *answers))),
                Behind::Grpc { answers, .. } => drop(tokio::spawn(rpc::connection(stream, epoch, *answers))),
                Behind::Nobody => {}
            }
        }
    }
}

/// Ends a task of the demo with the soft step.
pub(super) async fn until_stopped(lifecycle: Lifecycle, work: impl Future<Output = ()>) {
    tokio::select! {
        () = work => {}
        () = lifecycle.soft() => {}
    }
}

async fn connection(stream: TcpStream, epoch: Instant, answers: fn(u64) -> Reply) {
    let service = service_fn(move |_| answer(answers(epoch.elapsed().as_secs())));
    // A body that breaks off ends the connection with an error: that is the point of it.
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), service).await;
}

type Cut = StreamBody<stream::Iter<std::array::IntoIter<Result<Frame<Bytes>, io::Error>, 2>>>;

async fn answer(reply: Reply) -> Result<Response<Either<Full<Bytes>, Cut>>, Infallible> {
    let (status, millis) = match reply {
        Reply::Good(millis) => (200, millis),
        Reply::Status(status, millis) => (status, millis),
        Reply::Cut => (200, 0),
        Reply::TooMany(_) => (429, 0),
    };
    tokio::time::sleep(Duration::from_millis(millis)).await;
    let mut response = Response::new(Either::Left(Full::new(Bytes::from_static(b"This is a host of the demo.\n"))));
    *response.status_mut() = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    match reply {
        Reply::Cut => {
            let broken = [
                Ok(Frame::data(Bytes::from_static(&[b'x'; 300]))),
                Err(io::Error::new(io::ErrorKind::ConnectionAborted, "the demo cuts this body")),
            ];
            response.headers_mut().insert(header::CONTENT_LENGTH, 1000.into());
            *response.body_mut() = Either::Right(StreamBody::new(stream::iter(broken)));
        }
        Reply::TooMany(seconds) => drop(response.headers_mut().insert(header::RETRY_AFTER, seconds.into())),
        Reply::Good(_) | Reply::Status(..) => {}
    }
    Ok(response)
}
