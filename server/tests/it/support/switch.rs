//! A host that is switched from one answer to another.

use std::{
    net::SocketAddr,
    sync::{
        Arc,
        atomic::{AtomicU16, AtomicUsize, Ordering::SeqCst},
    },
};

use axum::{Router, http::StatusCode};
use tokio::{net::TcpListener, task::JoinHandle};

/// One host; gone when dropped.
pub(crate) struct Switch {
    pub(crate) at: SocketAddr,
    status: Arc<AtomicU16>,
    seen: Arc<AtomicUsize>,
    task: JoinHandle<()>,
}

impl Switch {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.expect("a port");
        let at = listener.local_addr().expect("an address");
        let (status, seen) = (Arc::new(AtomicU16::new(200)), Arc::new(AtomicUsize::new(0)));
        let (says, counts) = (status.clone(), seen.clone());
        let router = Router::new().fallback(move || {
            counts.fetch_add(1, SeqCst);
            let status = StatusCode::from_u16(says.load(SeqCst)).expect("a status");
            async move { (status, "body") }
        });
        let task = tokio::spawn(async move {
            axum::serve(listener, router).await.expect("it serves");
        });
        Self { at, status, seen, task }
    }

    /// What it answers from here on.
    pub(crate) fn says(&self, status: u16) {
        self.status.store(status, SeqCst);
    }

    /// Requests that reached it.
    pub(crate) fn seen(&self) -> usize {
        self.seen.load(SeqCst)
    }

    /// Its breaker.
    pub(crate) fn breaker(&self) -> String {
        format!("http:{}", self.at)
    }

    /// As an upstream with the policy `quick`.
    pub(crate) fn upstream(&self, name: &str) -> String {
        format!("[[upstream]]\nname = \"{name}\"\nurl = \"http://{}\"\npolicy = \"quick\"\n", self.at)
    }
}

impl Drop for Switch {
    fn drop(&mut self) {
        self.task.abort();
    }
}
