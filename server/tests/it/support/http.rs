//! A client that sends exactly what it is told and shows exactly what came back.

use std::net::SocketAddr;

use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpStream,
};

use super::{host::header, registry::body_of, soon};

/// What came back.
#[derive(Debug, Clone)]
pub(crate) struct Got {
    pub(crate) status: u16,
    pub(crate) head: String,
    pub(crate) body: Vec<u8>,
}

impl Got {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        header(&self.head, name)
    }

    pub(crate) fn json(&self) -> serde_json::Value {
        let body = body_of(self);
        serde_json::from_slice(&body).unwrap_or_else(|error| panic!("{error} in {:?}", String::from_utf8_lossy(&body)))
    }
}

/// One request on a connection of its own, read to the connection's end.
pub(crate) async fn send(to: SocketAddr, request: &str) -> Got {
    let what = format!("the end of the answer to {:?}", request.lines().next().unwrap_or_default());
    let exchange = async {
        let mut stream = TcpStream::connect(to).await.expect("somebody listens");
        stream.write_all(request.as_bytes()).await.expect("sent");
        let mut all = Vec::new();
        // A connection that is reset shows what came before it.
        let _ = stream.read_to_end(&mut all).await;
        all
    };
    parse(&soon(&what, exchange).await)
}

/// GET of a target, with more header lines each ended by CRLF.
pub(crate) async fn get_with(to: SocketAddr, target: &str, more: &str) -> Got {
    send(to, &format!("GET {target} HTTP/1.1\r\nhost: {to}\r\nconnection: close\r\n{more}\r\n")).await
}

pub(crate) async fn get(to: SocketAddr, target: &str) -> Got {
    get_with(to, target, "").await
}

fn parse(all: &[u8]) -> Got {
    let end = all.windows(4).position(|four| four == b"\r\n\r\n");
    let end = end.unwrap_or_else(|| panic!("no head in {:?}", String::from_utf8_lossy(all))) + 4;
    let head = String::from_utf8_lossy(&all[..end]).into_owned();
    let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
    Got { status, head, body: all[end..].to_vec() }
}
