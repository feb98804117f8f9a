//! A running server, as the commands ask it.

use std::{
    error::Error,
    time::{Duration, SystemTime},
};

use chrono::DateTime;
use clap::Args;
use fuseboard_app::wire::problem::Problem;
use http::{HeaderMap, HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::{Bytes, Incoming};
use hyper_rustls::{ConfigBuilderExt, HttpsConnector, HttpsConnectorBuilder};
use hyper_util::{
    client::legacy::{Client, connect::HttpConnector},
    rt::TokioExecutor,
};
use serde::Serialize;
use tokio::time::timeout;
use url::Url;

use super::Failure;
use crate::stamp;

/// The environment's name for the token; a flag would show it to everybody on the machine.
const TOKEN: &str = "FUSEBOARD_TOKEN";
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(10);
/// How long an answer may take to begin, or to go on. A probe waits for its host.
const SILENCE: Duration = Duration::from_secs(90);
/// The longest answer read whole.
const LONGEST: usize = 256 << 20;

#[derive(Debug, Args)]
pub(super) struct Where {
    /// The server's board and API.
    #[arg(long, value_name = "URL", env = "FUSEBOARD_URL", default_value = "http://127.0.0.1:3000", value_parser = base)]
    url: Url,
}

fn base(text: &str) -> Result<Url, String> {
    let takes = || "it takes an http or https URL, as in http://127.0.0.1:3000".to_owned();
    let url = Url::parse(text).map_err(|_| takes())?;
    let plain = matches!(url.scheme(), "http" | "https") && url.has_host();
    (plain && url.query().is_none() && url.fragment().is_none()).then_some(url).ok_or_else(takes)
}

/// A server and what it takes to ask it.
pub(super) struct Server {
    base: Url,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
    token: Option<HeaderValue>,
}

impl Where {
    pub(super) fn server(self) -> Result<Server, Failure> {
        let mut http = HttpConnector::new();
        http.enforce_http(false);
        http.set_connect_timeout(Some(CONNECT));
        let https = HttpsConnectorBuilder::new().with_tls_config(trusted(self.url.scheme() == "https")?);
        let https = https.https_or_http().enable_http1().wrap_connector(http);
        let client = Client::builder(TokioExecutor::new()).build(https);
        Ok(Server { base: self.url, client, token: token()? })
    }
}

/// What says who asks, if it is set.
fn token() -> Result<Option<HeaderValue>, Failure> {
    let Some(token) = std::env::var(TOKEN).ok().filter(|token| !token.is_empty()) else { return Ok(None) };
    let mut value = HeaderValue::try_from(format!("Bearer {token}"))
        .map_err(|_| Failure::Usage(format!("{TOKEN} holds characters that no token has")))?;
    value.set_sensitive(true);
    Ok(Some(value))
}

/// Whom TLS trusts: whom the system trusts; nobody, where TLS is not asked for.
fn trusted(wanted: bool) -> Result<rustls::ClientConfig, Failure> {
    let failed = |error: &dyn Error| Failure::Failed(format!("cannot speak TLS: {error}"));
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let builder = rustls::ClientConfig::builder_with_provider(provider);
    let builder = builder.with_safe_default_protocol_versions().map_err(|error| failed(&error))?;
    let builder = match wanted {
        true => builder.with_native_roots().map_err(|error| failed(&error))?,
        false => builder.with_root_certificates(rustls::RootCertStore::empty()),
    };
    Ok(builder.with_no_client_auth())
}

/// What a server says.
pub(super) struct Answer {
    /// The body.
    pub(super) text: String,
    /// Its clock when it said so, which what it says is measured by; ours where it names none.
    pub(super) now_ms: i64,
}

impl Server {
    /// Reads something.
    pub(super) async fn get(&self, path: &str) -> Result<Answer, Failure> {
        answer(self.send(Method::GET, path, Bytes::new()).await?).await
    }

    /// Asks for something to be done.
    pub(super) async fn act(&self, method: Method, path: &str, body: &impl Serialize) -> Result<Answer, Failure> {
        let body = serde_json::to_vec(body).map_err(|error| Failure::Failed(error.to_string()))?;
        answer(self.send(method, path, body.into()).await?).await
    }

    /// An answer that is good as far as its head goes.
    pub(super) async fn send(&self, method: Method, path: &str, body: Bytes) -> Result<Response<Incoming>, Failure> {
        let uri = format!("{}/api/v1{path}", self.base.as_str().trim_end_matches('/'));
        let mut request = Request::builder().method(method).uri(&uri);
        request = request.header(header::USER_AGENT, concat!("fuseboard-cli/", env!("CARGO_PKG_VERSION")));
        if !body.is_empty() {
            request = request.header(header::CONTENT_TYPE, "application/json");
        }
        if let Some(token) = &self.token {
            request = request.header(header::AUTHORIZATION, token);
        }
        let request = request.body(Full::new(body)).map_err(|error| Failure::Usage(format!("{uri}: {error}")))?;
        let answer = match timeout(SILENCE, self.client.request(request)).await {
            Err(_) => return Err(self.unreachable(&format!("no answer in {} s", SILENCE.as_secs()))),
            Ok(Err(error)) => return Err(self.unreachable(&innermost(&error))),
            Ok(Ok(answer)) => answer,
        };
        if answer.status().is_success() {
            return Ok(answer);
        }
        let status = answer.status();
        let text = whole(answer).await?;
        Err(refused(status, &text))
    }

    fn unreachable(&self, why: &str) -> Failure {
        Failure::Failed(format!(
            "cannot reach {}: {why}. Is the server running? Another one is named with --url",
            self.base
        ))
    }
}

/// The cause at the bottom says it best.
pub(super) fn innermost(error: &dyn Error) -> String {
    let mut innermost = error;
    while let Some(source) = innermost.source() {
        innermost = source;
    }
    innermost.to_string()
}

async fn answer(answer: Response<Incoming>) -> Result<Answer, Failure> {
    let now_ms = clock(answer.headers()).unwrap_or_else(|| stamp::time(SystemTime::now()).millis());
    Ok(Answer { text: whole(answer).await?, now_ms })
}

fn clock(headers: &HeaderMap) -> Option<i64> {
    let date = headers.get(header::DATE)?.to_str().ok()?;
    Some(DateTime::parse_from_rfc2822(date).ok()?.timestamp_millis())
}

async fn whole(answer: Response<Incoming>) -> Result<String, Failure> {
    let broken = |why: String| Failure::Failed(format!("the server's answer broke off: {why}"));
    let body = timeout(SILENCE, Limited::new(answer.into_body(), LONGEST).collect()).await;
    let body = body.map_err(|_| broken("nothing more came".into()))?;
    let body = body.map_err(|error| broken(error.to_string()))?.to_bytes();
    String::from_utf8(body.into()).map_err(|_| broken("it is no text".into()))
}

/// A problem in words: by the flag where a flag is at fault.
fn refused(status: StatusCode, body: &str) -> Failure {
    let problem = serde_json::from_str::<Problem>(body).unwrap_or_default();
    let detail = match &problem.detail {
        // What a body says is a flag here.
        Some(detail) => plain(detail).replace("say \"end_override\": true", "pass --end-override"),
        None => format!("The server answered {status}."),
    };
    match (status, &problem.field) {
        (StatusCode::UNPROCESSABLE_ENTITY, Some(field)) => {
            let what = detail.strip_prefix(field.as_str()).and_then(|rest| rest.strip_prefix(": ")).unwrap_or(&detail);
            Failure::Usage(format!("{}: {what}", flag(field)))
        }
        (StatusCode::UNAUTHORIZED, _) => Failure::Failed(format!("{detail} Put a token into {TOKEN}.")),
        _ => Failure::Failed(detail),
    }
}

fn flag(field: &str) -> String {
    match field {
        "for_ms" | "until" => "--for".into(),
        "q" => "--search".into(),
        field => format!("--{}", field.replace('_', "-")),
    }
}

/// Text from outside for a terminal: no control character reaches it.
pub(super) fn plain(text: &str) -> String {
    text.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_problem_is_said_by_its_flag() {
        let body = r#"{"type":"about:blank","title":"","status":422,"detail":"for_ms: must be at least 1 ms.","field":"for_ms"}"#;
        let Failure::Usage(said) = refused(StatusCode::UNPROCESSABLE_ENTITY, body) else { panic!("usage") };
        assert_eq!(said, "--for: must be at least 1 ms.");
        let body = r#"{"type":"about:blank","title":"","status":404,"detail":"There is no breaker \"x\".\u001b[31m"}"#;
        let Failure::Failed(said) = refused(StatusCode::NOT_FOUND, body) else { panic!("failed") };
        assert_eq!(said, "There is no breaker \"x\".\u{fffd}[31m");
        let Failure::Failed(said) = refused(StatusCode::BAD_GATEWAY, "<html>") else { panic!("failed") };
        assert_eq!(said, "The server answered 502 Bad Gateway.");
    }

    #[test]
    fn the_servers_clock_is_the_one_that_counts() {
        let at = |date: &str| {
            let headers = [(header::DATE, HeaderValue::from_str(date).expect("a header"))].into_iter().collect();
            clock(&headers)
        };
        assert_eq!(at("Mon, 30 Nov 2026 01:12:07 GMT"), Some(1_796_001_127_000));
        assert_eq!(at("soon"), None);
    }

    #[test]
    fn a_server_is_named_by_a_plain_url() {
        for good in ["http://127.0.0.1:3000", "https://fuse.example/", "http://[::1]:9/"] {
            assert!(base(good).is_ok(), "{good}");
        }
        for bad in ["127.0.0.1:3000", "ftp://a.example", "http://", "http://a.example/?x=1", ""] {
            assert!(base(bad).is_err(), "{bad}");
        }
    }
}
