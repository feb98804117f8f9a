//! A listener that speaks TLS, with whatever certificate a test wants.

use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair};
use rustls::{
    ServerConfig,
    pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer},
};
use tokio::net::{TcpListener, TcpStream};
use tokio_rustls::{TlsAcceptor, server::TlsStream};

use super::Bench;

pub(crate) struct Secure {
    pub(crate) listener: TcpListener,
    acceptor: TlsAcceptor,
    pem: String,
}

impl Secure {
    /// With a certificate for its own address.
    pub(crate) async fn new(protocol: &[u8]) -> Self {
        Self::with(protocol, "127.0.0.1", |_| {}).await
    }

    /// With a certificate for this name, changed at will.
    pub(crate) async fn with(protocol: &[u8], name: &str, change: impl FnOnce(&mut CertificateParams)) -> Self {
        let signing_key = KeyPair::generate().unwrap();
        let mut params = CertificateParams::new(vec![name.to_owned()]).unwrap();
        change(&mut params);
        let cert = params.self_signed(&signing_key).unwrap();
        let key = PrivateKeyDer::from(PrivatePkcs8KeyDer::from(signing_key.serialize_der()));
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let mut config = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(vec![cert.der().clone()], key)
            .unwrap();
        config.alpn_protocols = vec![protocol.to_vec()];
        Self {
            listener: TcpListener::bind("127.0.0.1:0").await.unwrap(),
            acceptor: TlsAcceptor::from(Arc::new(config)),
            pem: cert.pem(),
        }
    }

    pub(crate) fn url(&self) -> String {
        format!("https://{}/", self.listener.local_addr().unwrap())
    }

    pub(crate) async fn accept(&self) -> Option<TlsStream<TcpStream>> {
        let (socket, _) = self.listener.accept().await.ok()?;
        self.acceptor.accept(socket).await.ok()
    }

    /// A bench that trusts its certificate.
    pub(crate) fn bench(&self) -> Bench {
        Bench::with(|builder| builder.trust_pem(self.pem.as_bytes()).unwrap())
    }
}
