//! Clients that leave before the host has looked at their calls. A host on the h2 library ends a connection on which more
//! than twenty calls were taken back that early: neither those beside them nor the host's breaker may pay for that.

use std::sync::Arc;

use bytes::Bytes;
use fuseboard_fetch::Upstream;
use futures_util::future::join_all;
use h2::server::SendResponse;
use http::Response;
use tokio::{
    io::{AsyncReadExt, join},
    net::{TcpListener, TcpStream},
    sync::watch,
};

use super::ended;
use crate::support::{
    Bench,
    bench::upstream,
    host::Gate,
    rpc::{message, status, unary},
    soon,
};

const HEADERS: u8 = 1;
const RST_STREAM: u8 = 3;

/// What came over all connections of a host that has not looked at any of it.
type Came = Arc<watch::Sender<Vec<u8>>>;

/// Takes in frames and looks at none of them before the gate opens; then answers every call.
async fn serve(mut socket: TcpStream, came: Came, gate: Gate) {
    let mut bytes = Vec::new();
    let mut at = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".len();
    loop {
        tokio::select! {
            read = socket.read_buf(&mut bytes) => if !matches!(read, Ok(1..)) { return },
            () = gate.opened() => break,
        }
        while let Some(&[high, mid, low, kind, ..]) = bytes.get(at..at + 9) {
            at += 9 + (usize::from(high) << 16 | usize::from(mid) << 8 | usize::from(low));
            came.send_modify(|came| came.push(kind));
        }
    }
    let (read, write) = socket.split();
    let all = join(bytes.as_slice().chain(read), write);
    let mut connection = h2::server::handshake(all).await.unwrap();
    while let Some(Ok((_, respond))) = connection.accept().await {
        answer(respond);
    }
}

fn answer(mut respond: SendResponse<Bytes>) {
    let head = Response::builder().header("content-type", "application/grpc").body(()).unwrap();
    // Whoever left wants no answer.
    let Ok(mut send) = respond.send_response(head, false) else { return };
    let _ = send.send_data(message(b"hello"), false).and_then(|()| send.send_trailers(status(0)));
}

/// Waits until so many frames of this kind have come.
async fn frames(came: &Came, kind: u8, count: usize) {
    let enough = |came: &Vec<u8>| came.iter().filter(|frame| **frame == kind).count() >= count;
    soon("the frames", came.subscribe().wait_for(enough)).await.unwrap();
}

#[tokio::test]
async fn calls_taken_back_before_the_host_looked_at_them_harm_no_other() {
    const LEAVERS: usize = 50;
    let bench = Bench::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("grpc://{}", listener.local_addr().unwrap());
    let (came, gate) = (Came::default(), Gate::new());
    let (coming, looking) = (came.clone(), gate.clone());
    tokio::spawn(async move {
        while let Ok((socket, _)) = listener.accept().await {
            tokio::spawn(serve(socket, coming.clone(), looking.clone()));
        }
    });
    let mut accounts = Upstream::plain("accounts", &url).unwrap();
    accounts.timeouts = upstream("http://h.example", |_| {}).timeouts;
    let accounts = Arc::new(accounts);

    let mut stays = Box::pin(bench.fetcher.forward(&accounts, unary("/a.A/Stay")));
    tokio::select! {
        answer = stays.as_mut() => panic!("{answer:?}"),
        () = frames(&came, HEADERS, 1) => {}
    }
    let leave = join_all((0..LEAVERS).map(|_| bench.fetcher.forward(&accounts, unary("/a.A/Leave"))));
    tokio::select! {
        answers = leave => panic!("{answers:?}"),
        () = frames(&came, HEADERS, 1 + LEAVERS) => {}
    }
    tokio::select! {
        answer = stays.as_mut() => panic!("{answer:?}"),
        () = frames(&came, RST_STREAM, LEAVERS) => {}
    }
    gate.open();
    let answer = soon("the answer", stays).await.unwrap();
    assert_eq!(ended(answer).await.0.as_deref(), Some("0"));
    let counts = bench.breaker("accounts").snapshot().counts;
    assert_eq!((counts.success, counts.failure, counts.ignored), (1, 0, LEAVERS as u64));
}
