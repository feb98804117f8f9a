//! The request story. `ANY /{upstream}/{path}?{query}`: the first segment names the upstream, the rest goes to its URL
//! with its bytes as received, bodies stream both ways. Breakers, redirects, time-outs and verdicts are the fetcher's;
//! what it refuses or fails is put in words by [`reject`]. gRPC is routed by service name, which is [`grpc`]'s story. A host's own answer passes through as it is.

mod begun;
mod browser;
mod framing;
mod grpc;
mod linger;
mod reject;
mod rewrite;
mod route;

use std::{
    convert::Infallible,
    future::{Future, poll_fn},
    pin::pin,
    sync::Arc,
    task::Poll,
    time::Duration,
};

use arc_swap::ArcSwap;
use bytes::Bytes;
use fuseboard_fetch::{Fetcher, Protocol};
use futures_util::future::OptionFuture;
use http::{HeaderValue, Method, Request, Response, Version, header};
use http_body_util::{Either, Full};
use hyper::{body::Incoming, service::service_fn};
use tokio::net::TcpListener;
use url::Url;

use self::{begun::Begun, linger::Lingering, rewrite::Passing};
use crate::{
    config::upstreams::Upstreams,
    lifecycle::{Lifecycle, aside},
    listen::{self, Patience},
};

/// What a call works with.
pub struct Gateway {
    /// What calls the hosts.
    pub fetcher: Fetcher,
    /// What is configured.
    pub upstreams: Arc<ArcSwap<Upstreams>>,
    /// When to end.
    pub lifecycle: Lifecycle,
    /// What clients put in front of `/{upstream}`.
    pub own: Url,
    /// The name configured for it, if one is.
    pub public: Option<Url>,
    /// What links to the board start with.
    pub board: Url,
}

/// How long a client may leave unread what is written to it, where no upstream says so.
const STALL: Duration = Duration::from_secs(75);

/// Serves until the soft step begins.
pub async fn serve(gateway: Arc<Gateway>, listener: TcpListener) {
    let (lifecycle, upstreams) = (gateway.lifecycle.clone(), gateway.upstreams.clone());
    let patience = move || {
        let longest = upstreams.load().iter().map(|entry| entry.upstream.timeouts.client_idle).max();
        let stall = longest.unwrap_or(STALL);
        // What a client is in the midst of taking is worth the whole drain.
        Patience { stall, parting: stall }
    };
    let service = service_fn(move |request| {
        let gateway = gateway.clone();
        async move { handle(&gateway, request).await }
    });
    listen::serve(lifecycle, listener, patience, service).await;
}

/// A host's answer as it streams, or a short one of our own.
type Answer = Response<Either<Begun<Passing>, Full<Bytes>>>;

/// One call.
async fn handle(gateway: &Gateway, request: Request<Incoming>) -> Result<Answer, Infallible> {
    let (head, body) = request.into_parts();
    let (text, grpc) = (reject::wants_text(&head.headers), grpc::is_asked(&head.headers));
    // At the end an HTTP/1.1 connection asks once more for its one answer. Those of h2 are tasks of their own.
    let own_task = head.version == Version::HTTP_2;
    let mut over = pin!(OptionFuture::from(own_task.then(|| aside(gateway.lifecycle.over()))));
    let body = Lingering::new(body, head.version, &head.headers);
    let request = Request::from_parts(head, body);
    let mut call = pin!(call(gateway, request));
    let answered = poll_fn(|cx| {
        let polled = call.as_mut().poll(cx);
        let woken = polled.is_pending() && over.as_mut().poll(cx).is_ready();
        if woken && gateway.lifecycle.is_over() {
            return Poll::Ready(Err(if grpc { grpc::cut_off() } else { reject::cut_off(&gateway.board) }));
        }
        polled
    });
    match answered.await {
        Ok(answer) => Ok(answer.map(Either::Left)),
        Err(own) => {
            let own = if text { reject::in_words(own) } else { own };
            Ok(own.map(Either::Right))
        }
    }
}

async fn call(
    gateway: &Gateway,
    mut request: Request<Lingering<Incoming>>,
) -> Result<Response<Begun<Passing>>, reject::Own> {
    let board = &gateway.board;
    if grpc::is_asked(request.headers()) {
        return grpc::call(gateway, request).await.map(|answer| answer.map(Passing::AsItIs).map(Begun::unseen));
    }
    if gateway.lifecycle.is_stopping() {
        return Err(reject::shutting_down(board));
    }
    if let Some((status, why)) = framing::fault(request.version(), request.headers()) {
        return Err(reject::malformed(board, status, why));
    }
    // `*` and a tunnel's authority have no path; an absolute URI is taken by its path.
    let Some(path) = request.uri().path_and_query().filter(|path| path.as_str().starts_with('/')) else {
        return Err(reject::no_path(board));
    };
    let asked = route::asked(path.as_str());
    if asked.upstream.is_empty() && !asked.rest.starts_with('/') {
        return Err(front_page(gateway));
    }
    let upstreams = gateway.upstreams.load();
    let Some(entry) = upstreams.get(asked.name()) else {
        if grpc::is_web(request.headers()) {
            return Err(reject::grpc_web(board));
        }
        return Err(reject::unknown_upstream(board, asked.upstream, &upstreams.names()));
    };
    if entry.upstream.protocol == Protocol::Grpc {
        return Err(reject::speaks_grpc(board, asked.upstream));
    }
    if request.method() == Method::CONNECT {
        return Err(reject::no_path(board));
    }
    // A host that answers TRACE shows the client the headers configured for the host alone. Some know it by its old name,
    // and some do not mind the case.
    if ["TRACE", "TRACK"].iter().any(|echo| request.method().as_str().eq_ignore_ascii_case(echo)) {
        return Err(reject::echo(board));
    }
    if route::has_dot_segment(asked.rest) {
        return Err(reject::dot_segment(board));
    }
    if !entry.upstream.headers.is_empty() {
        browser::check(&request, gateway.public.as_ref()).map_err(|found| found.reject(board, asked.upstream))?;
    }
    let target = match asked.files() {
        None => &entry.target,
        Some(files) => match entry.rewriting.files(files) {
            Some(files) => &files.target,
            None => return Err(reject::unknown_files(board, entry, files)),
        },
    };
    let Some(uri) = route::target(target, asked.rest) else {
        return Err(reject::dot_segment(board));
    };
    // A call outlives a reload; its upstream stays as it was.
    let entry = entry.clone();
    drop(upstreams);
    let path = std::mem::replace(request.uri_mut(), uri);
    let answer = if entry.rewriting.is_on() {
        let path = path.path_and_query().map_or("/", |path| path.as_str());
        rewrite::forward(gateway, &entry, route::asked(path), request).await
    } else {
        gateway.fetcher.forward(&entry.upstream, request).await.map(|answer| answer.map(Passing::AsItIs))
    };
    let (head, body) = answer.map_err(|error| reject::failed(board, &entry, &error))?.into_parts();
    let waits = matches!(body, Passing::Changed(_));
    let begun = Begun::new(body, waits).await.map_err(|error| reject::broken(board, &entry, &error))?;
    Ok(Response::from_parts(head, begun))
}

/// What this is, for whoever opens the gateway itself.
fn front_page(gateway: &Gateway) -> reject::Own {
    let upstreams = gateway.upstreams.load();
    let names = upstreams.names();
    let names = if names.is_empty() { "none yet".to_owned() } else { names.join(", ") };
    let text = format!(
        "This is a Fuseboard gateway: ask for {own}{{upstream}}/{{path}}.\nUpstreams: {names}.\nBoard: {board}\n",
        own = gateway.own,
        board = gateway.board,
    );
    let mut response = Response::new(Full::new(Bytes::from(text)));
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}
