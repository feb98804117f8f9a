//! A connection to a host: its name resolved, every address judged by the guard, TCP to a judged address and no other,
//! TLS. One limit covers all three, and an error says which of them it was.

use std::{
    io,
    net::{IpAddr, SocketAddr},
    sync::{Arc, OnceLock},
    time::Duration,
};

use fuseboard_breaker::Phase;
use futures_util::stream::{FuturesUnordered, StreamExt};
use rustls::{ClientConfig, RootCertStore, pki_types::ServerName};
use tokio::{
    net::TcpStream,
    time::{Instant, timeout_at},
};
use tokio_rustls::{TlsConnector, client::TlsStream};

use super::resolve::Resolve;
use crate::{
    classify::{connect_trouble, in_words, tls_trouble},
    error::{Guard, Trouble},
    guard::prohibited,
    origin::{Place, Target},
};

/// Why there is no connection.
#[derive(Debug)]
pub(crate) enum ConnectError {
    /// One of our own guards.
    Guard(Guard),
    /// The host, or the way to it.
    Failed { phase: Phase, error: String, trouble: Trouble },
}

pub(crate) enum Stream {
    Plain(TcpStream),
    Tls { stream: Box<TlsStream<TcpStream>>, h2: bool },
}

/// How TLS is spoken: native roots, and whatever the operator trusts beside them. Roots are read on first use.
pub(crate) struct Tls {
    extra: RootCertStore,
    config: OnceLock<Arc<ClientConfig>>,
    h2_alone: OnceLock<Arc<ClientConfig>>,
}

impl Tls {
    pub(crate) fn new(extra: RootCertStore) -> Self {
        Self { extra, config: OnceLock::new(), h2_alone: OnceLock::new() }
    }

    /// For gRPC only h2 is offered: a host that speaks nothing but HTTP/1.1 says so in the handshake.
    fn connector(&self, h2_only: bool) -> TlsConnector {
        let config = self.config();
        let config = if h2_only {
            self.h2_alone.get_or_init(|| {
                let mut config = ClientConfig::clone(config);
                config.alpn_protocols = vec![b"h2".to_vec()];
                Arc::new(config)
            })
        } else {
            config
        };
        TlsConnector::from(Arc::clone(config))
    }

    fn config(&self) -> &Arc<ClientConfig> {
        self.config.get_or_init(|| {
            let mut roots = self.extra.clone();
            let native = rustls_native_certs::load_native_certs();
            for error in &native.errors {
                tracing::warn!(%error, "a trusted certificate could not be read");
            }
            roots.add_parsable_certificates(native.certs);
            if roots.is_empty() {
                tracing::error!("no trusted certificates found, every https host will fail; install ca-certificates or set SSL_CERT_FILE");
            }
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
            // Only a provider without any cipher suite could fail here; the default one then says the same in words.
            let builder = builder.unwrap_or_else(|_| ClientConfig::builder());
            let mut config = builder.with_root_certificates(roots).with_no_client_auth();
            config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
            Arc::new(config)
        })
    }
}

/// Every address a host may be connected at, all of them judged.
pub(crate) type Resolved = Result<Vec<SocketAddr>, ConnectError>;

/// Connects within `limit`, to what was `resolved` before or is now.
pub(crate) async fn connect(
    target: &Target,
    names: &dyn Resolve,
    (tls, h2_only): (&Tls, bool),
    limit: Duration,
    resolved: Option<Resolved>,
) -> Result<Stream, ConnectError> {
    let deadline = Instant::now() + limit;
    let addresses = match resolved {
        Some(resolved) => resolved?,
        None => resolve(target, names, limit).await?,
    };
    let tcp = timeout_at(deadline, race(&addresses))
        .await
        .map_err(|_| too_late(Phase::Connect, limit))?
        .map_err(|error| failed(Phase::Connect, error.to_string(), connect_trouble(&error)))?;
    // Only a hint for small writes; a socket without it works as well.
    let _ = tcp.set_nodelay(true);
    if !target.https {
        return Ok(Stream::Plain(tcp));
    }
    let name = match &target.host {
        Place::Name(name) => ServerName::try_from(name.trim_end_matches('.').to_owned())
            .map_err(|error| failed(Phase::Tls, error.to_string(), Trouble::Other))?,
        Place::Address(address) => ServerName::from(*address),
    };
    let stream = timeout_at(deadline, tls.connector(h2_only).connect(name, tcp))
        .await
        .map_err(|_| too_late(Phase::Tls, limit))?
        .map_err(|error| failed(Phase::Tls, spelled_out(in_words(&error)), tls_trouble(&error)))?;
    let h2 = stream.get_ref().1.alpn_protocol() == Some(b"h2");
    Ok(Stream::Tls { stream: Box::new(stream), h2 })
}

/// What is wrong with a certificate comes as the verifier's identifier, `UnknownIssuer` or `Other(OtherError(Expired))`.
fn spelled_out(error: String) -> String {
    const ABOUT: &str = "invalid peer certificate: ";
    let Some(what) = error.strip_prefix(ABOUT) else { return error };
    let name = what.rsplit('(').next().unwrap_or_default().trim_end_matches(')');
    if !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) || what.contains(' ') {
        return error;
    }
    let mut words = String::from(ABOUT);
    match name {
        "CaUsedAsEndEntity" => words.push_str("it is an authority's own and no server's"),
        "UnknownIssuer" => words.push_str("its issuer is unknown here"),
        _ => {
            for (at, letter) in name.char_indices() {
                if letter.is_ascii_uppercase() && at > 0 {
                    words.push(' ');
                }
                words.push(letter.to_ascii_lowercase());
            }
        }
    }
    words
}

fn failed(phase: Phase, error: String, trouble: Trouble) -> ConnectError {
    ConnectError::Failed { phase, error, trouble }
}

fn too_late(phase: Phase, limit: Duration) -> ConnectError {
    let what = match phase {
        Phase::Dns => "its name was not resolved",
        Phase::Connect => "it did not accept a connection",
        _ => "the TLS handshake was not finished",
    };
    failed(phase, format!("{what} within {limit:?}"), Trouble::Timeout)
}

/// Every address the host may be reached at; one that is prohibited prohibits the host, or a name with two answers
/// could choose between them by our retries.
pub(crate) async fn resolve(target: &Target, names: &dyn Resolve, limit: Duration) -> Resolved {
    let (host, addresses) = match &target.host {
        Place::Address(address) => (address.to_string(), vec![SocketAddr::new(*address, target.port)]),
        Place::Name(name) => {
            let found = timeout_at(Instant::now() + limit, names.resolve(Arc::clone(name), target.port)).await;
            let found = found.map_err(|_| too_late(Phase::Dns, limit))?.map_err(|error| {
                failed(Phase::Dns, format!("its name could not be resolved: {error}"), Trouble::Other)
            })?;
            (name.to_string(), found)
        }
    };
    if addresses.is_empty() {
        return Err(failed(Phase::Dns, "its name leads to no address".to_owned(), Trouble::Other));
    }
    if !target.inside {
        for address in &addresses {
            let address: IpAddr = address.ip();
            if let Some(kind) = prohibited(address) {
                return Err(ConnectError::Guard(Guard::ProhibitedAddress { from: None, host, address, kind }));
            }
        }
    }
    Ok(addresses)
}

/// The head start of each address over the next.
const HEAD_START: Duration = Duration::from_millis(250);

/// The first address to accept, each tried a little after the one before or as soon as that one failed.
async fn race(addresses: &[SocketAddr]) -> io::Result<TcpStream> {
    if let [one] = addresses {
        return TcpStream::connect(*one).await;
    }
    let mut attempts = FuturesUnordered::new();
    let mut rest = interleaved(addresses).into_iter();
    let mut last = io::Error::other("no address");
    loop {
        if let Some(next) = rest.next() {
            attempts.push(TcpStream::connect(next));
            match timeout_at(Instant::now() + HEAD_START, attempts.next()).await {
                Ok(Some(Ok(stream))) => return Ok(stream),
                Ok(Some(Err(error))) => last = error,
                Ok(None) | Err(_) => {}
            }
            continue;
        }
        match attempts.next().await {
            Some(Ok(stream)) => return Ok(stream),
            Some(Err(error)) => last = error,
            None => return Err(last),
        }
    }
}

/// The resolver's order, families taking turns.
fn interleaved(addresses: &[SocketAddr]) -> Vec<SocketAddr> {
    let (mut first, mut second): (Vec<_>, Vec<_>) =
        addresses.iter().partition(|address| address.is_ipv6() == addresses[0].is_ipv6());
    first.reverse();
    second.reverse();
    let mut out = Vec::with_capacity(addresses.len());
    while let Some(address) = first.pop() {
        out.push(address);
        out.extend(second.pop());
    }
    second.reverse();
    out.extend(second);
    out
}

#[cfg(test)]
mod tests {
    use rustls::{CertificateError, Error, OtherError};

    use super::*;

    #[test]
    fn what_is_wrong_with_a_certificate_is_said_in_words() {
        let said = |error: CertificateError| spelled_out(Error::InvalidCertificate(error).to_string());
        let other = |name: &str| CertificateError::Other(OtherError(Arc::new(NamedOnly(name.to_owned()))));
        assert_eq!(said(CertificateError::UnknownIssuer), "invalid peer certificate: its issuer is unknown here");
        assert_eq!(said(CertificateError::BadSignature), "invalid peer certificate: bad signature");
        assert_eq!(
            said(other("CaUsedAsEndEntity")),
            "invalid peer certificate: it is an authority's own and no server's"
        );
        assert_eq!(said(other("PathLenConstraintViolated")), "invalid peer certificate: path len constraint violated");
        for plain in ["invalid peer certificate: certificate expired: at noon", "received fatal alert: BadCertificate"]
        {
            assert_eq!(spelled_out(plain.to_owned()), plain);
        }
    }

    /// An error that, as the verifier's do, says nothing but its name.
    struct NamedOnly(String);

    impl std::fmt::Debug for NamedOnly {
        fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str(&self.0)
        }
    }

    impl std::fmt::Display for NamedOnly {
        fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
            out.write_str(&self.0)
        }
    }

    impl std::error::Error for NamedOnly {}
}
