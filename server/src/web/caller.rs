//! Who may come in, and who they are. The only maker of an [`Actor`].
//!
//! - A `Host` that is no loopback literal, not `localhost` and not the host of `admin.public_url` is answered 421, so
//!   that a foreign name pointed at this machine (DNS rebinding) gets nothing, not even a page.
//! - A request that could change something and says it comes from another origin is answered 403.
//! - A body is read before anything is done with it; one that is too large or does not come is refused here.
//! - Until somebody signs in, a name is only what the request says: `unverified: ana`.

use std::{convert::Infallible, net::IpAddr, str::FromStr, sync::Arc, time::Duration};

use axum::{
    body::Body,
    extract::{FromRequestParts, Request, State},
    http::{HeaderMap, Method, StatusCode, Uri, header, request::Parts, uri::Authority},
    middleware::Next,
    response::{IntoResponse, Response},
};
use http_body_util::{BodyExt, LengthLimitError, Limited};
use tokio::time::timeout;
use url::{Position, Url};

use super::problem::{Answer, Problem};
use crate::{app::App, control::Actor, fault::Fault};

/// The largest request body taken here: an action is a few lines.
pub const BODY_MAX: usize = 64 * 1024;

/// How long it may take to arrive.
const BODY_FOR: Duration = Duration::from_secs(10);

/// The door of the API a request came through. It is what the request says of itself, as the name is, and decides nothing.
#[derive(Debug, Clone, Copy)]
pub struct Door(&'static str);

impl Door {
    /// Whoever asks.
    ///
    /// # Errors
    /// The name cannot be one.
    pub fn actor(self, by: Option<&str>) -> Result<Actor, Fault> {
        Actor::unverified(by, self.0)
    }
}

impl<S: Send + Sync> FromRequestParts<S> for Door {
    type Rejection = Infallible;

    async fn from_request_parts(parts: &mut Parts, _state: &S) -> Result<Self, Infallible> {
        let agent = parts.headers.get(header::USER_AGENT).and_then(|agent| agent.to_str().ok());
        let terminal = agent.is_some_and(|agent| agent.starts_with("fuseboard-cli/"));
        Ok(Self(if terminal { "cli" } else { "api" }))
    }
}

/// Somebody at the board.
///
/// # Errors
/// The name cannot be one.
pub fn at_board(by: Option<&str>) -> Result<Actor, Fault> {
    Actor::unverified(by, "board")
}

/// Stands before every admin route.
pub async fn guard(State(app): State<Arc<App>>, request: Request, next: Next) -> Response {
    let admitted = match admit(&app.admin_url, request) {
        Ok(request) if reads(request.method()) => Ok(request),
        Ok(request) => tokio::select! {
            biased;
            whole = whole(request, BODY_FOR) => whole,
            () = app.lifecycle.soft() => Err(Problem::new(
                StatusCode::SERVICE_UNAVAILABLE,
                "The server is shutting down and the body had not arrived. Nothing was done. Send it again.",
            )),
        },
        Err(problem) => Err(problem),
    };
    match admitted {
        Ok(request) => next.run(request).await,
        Err(problem) => problem.into_response(),
    }
}

fn reads(method: &Method) -> bool {
    matches!(*method, Method::GET | Method::HEAD | Method::OPTIONS)
}

/// With its body read, so that nothing behind waits for one that does not come, and no shutdown does.
async fn whole(request: Request, patience: Duration) -> Answer<Request> {
    let (head, body) = request.into_parts();
    match timeout(patience, Limited::new(body, BODY_MAX).collect()).await {
        Ok(Ok(body)) => Ok(Request::from_parts(head, Body::from(body.to_bytes()))),
        Ok(Err(error)) if error.is::<LengthLimitError>() => Err(too_large()),
        Ok(Err(_)) => Err(Problem::new(StatusCode::BAD_REQUEST, "The body ended early.")),
        Err(_) => Err(Problem::new(
            StatusCode::REQUEST_TIMEOUT,
            format!("The body did not arrive within {} s. Send it again.", patience.as_secs()),
        )),
    }
}

fn admit(public: &Url, request: Request) -> Answer<Request> {
    let host = host(request.uri(), request.headers());
    let Some(host) = host.filter(|host| expected(host, public)) else {
        return Err(Problem::new(
            StatusCode::MISDIRECTED_REQUEST,
            "This server does not answer to that Host. Use 127.0.0.1, [::1], localhost or the host of \
             admin.public_url.",
        ));
    };
    if reads(request.method()) {
        return Ok(request);
    }
    if from_elsewhere(request.headers(), &host, public) {
        return Err(Problem::new(
            StatusCode::FORBIDDEN,
            "A page of another origin may not change anything here. Open the board itself.",
        ));
    }
    if length(request.headers()).is_some_and(|length| length > BODY_MAX as u64) {
        return Err(too_large());
    }
    Ok(request)
}

/// The body is larger than [`BODY_MAX`].
fn too_large() -> Problem {
    Problem::new(StatusCode::PAYLOAD_TOO_LARGE, format!("The body is larger than {BODY_MAX} bytes."))
}

fn length(headers: &HeaderMap) -> Option<u64> {
    headers.get(header::CONTENT_LENGTH)?.to_str().ok()?.parse().ok()
}

/// HTTP/2 says it in the URI, HTTP/1.1 in the header.
fn host(uri: &Uri, headers: &HeaderMap) -> Option<Authority> {
    if let Some(authority) = uri.authority() {
        return Some(authority.clone());
    }
    let mut all = headers.get_all(header::HOST).iter();
    let (one, None) = (all.next()?, all.next()) else { return None };
    Authority::from_str(one.to_str().ok()?).ok()
}

fn expected(host: &Authority, public: &Url) -> bool {
    let name = host.host();
    let literal = name.strip_prefix('[').and_then(|name| name.strip_suffix(']')).unwrap_or(name);
    literal.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
        || name.eq_ignore_ascii_case("localhost")
        || public.host_str().is_some_and(|public| public.eq_ignore_ascii_case(name))
}

/// Browsers name the page's origin on everything that is not a plain read; what names none is no browser.
fn from_elsewhere(headers: &HeaderMap, host: &Authority, public: &Url) -> bool {
    let site = headers.get("sec-fetch-site").map(|site| site.as_bytes());
    if site.is_some_and(|site| !matches!(site, b"same-origin" | b"none")) {
        return true;
    }
    headers.get_all(header::ORIGIN).iter().any(|origin| {
        let origin = origin.to_str().ok().and_then(|origin| Url::parse(origin).ok());
        !origin.is_some_and(|origin| same(&origin, host) || origin.origin() == public.origin())
    })
}

/// The scheme is left out: a proxy in front may speak TLS for us.
fn same(origin: &Url, host: &Authority) -> bool {
    let place = Position::BeforeHost..Position::AfterPort;
    Url::parse(&format!("{}://{host}", origin.scheme())).is_ok_and(|host| host[place.clone()] == origin[place])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn status(method: &str, headers: &[(&str, &str)]) -> u16 {
        let public = Url::parse("https://fuse.example").expect("a url");
        let mut request = axum::http::Request::builder().method(method).uri("/");
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(Body::empty()).expect("a request");
        admit(&public, request).map_or_else(|problem| problem.wire().status, |_| 200)
    }

    #[test]
    fn only_names_of_this_server_are_answered() {
        let ours = ["127.0.0.1:3000", "127.8.9.1", "[::1]:3000", "localhost:9", "LOCALHOST", "Fuse.Example:443"];
        for host in ours {
            assert_eq!(status("GET", &[("host", host)]), 200, "{host}");
        }
        let foreign = ["evil.example", "10.0.0.1:3000", "localhost.evil.example", "fuse.example.evil", "[::2]", "a b"];
        for host in foreign {
            assert_eq!(status("GET", &[("host", host)]), 421, "{host}");
        }
        assert_eq!(status("GET", &[]), 421);
        assert_eq!(status("GET", &[("host", "localhost"), ("host", "evil.example")]), 421);
    }

    #[test]
    fn another_origin_changes_nothing() {
        let post = |headers: &[(&str, &str)]| status("POST", &[&[("host", "127.0.0.1:3000")], headers].concat());
        assert_eq!(post(&[]), 200);
        assert_eq!(post(&[("origin", "http://127.0.0.1:3000"), ("sec-fetch-site", "same-origin")]), 200);
        assert_eq!(post(&[("origin", "https://fuse.example")]), 200);
        assert_eq!(post(&[("sec-fetch-site", "none")]), 200);
        for origin in
            ["http://evil.example", "null", "http://127.0.0.1:3001", "http://127.0.0.1", "http://fuse.example", ""]
        {
            assert_eq!(post(&[("origin", origin)]), 403, "{origin}");
        }
        for site in ["cross-site", "same-site", "strange"] {
            assert_eq!(post(&[("sec-fetch-site", site)]), 403, "{site}");
        }
        assert_eq!(status("GET", &[("host", "localhost"), ("origin", "http://evil.example")]), 200);
        assert_eq!(status("PUT", &[("host", "localhost"), ("origin", "http://localhost")]), 200);
    }

    #[test]
    fn a_body_is_bounded() {
        assert_eq!(status("PUT", &[("host", "localhost"), ("content-length", "65536")]), 200);
        assert_eq!(status("PUT", &[("host", "localhost"), ("content-length", "65537")]), 413);
    }

    async fn read(body: Body, patience: Duration) -> u16 {
        let request = Request::post("/").body(body).expect("a request");
        let whole = whole(request, patience).await;
        match whole {
            Err(problem) => problem.wire().status,
            Ok(request) => {
                let body = request.into_body().collect().await.expect("it is here").to_bytes();
                assert_eq!(&body[..], b"{}");
                200
            }
        }
    }

    #[tokio::test]
    async fn a_body_is_here_before_anything_is_done_with_it() {
        use futures_util::stream;

        const LONG: Duration = Duration::from_secs(60);
        let silent = stream::pending::<Result<&[u8], std::io::Error>>();
        let large = stream::repeat_with(|| Ok::<_, std::io::Error>(vec![b' '; 1_024]));
        let broken = stream::iter([Ok(&b"{"[..]), Err(std::io::Error::other("gone"))]);
        assert_eq!(read(Body::from("{}"), LONG).await, 200);
        assert_eq!(read(Body::from_stream(silent), Duration::from_millis(1)).await, 408);
        assert_eq!(read(Body::from_stream(large), LONG).await, 413);
        assert_eq!(read(Body::from_stream(broken), LONG).await, 400);
    }
}
