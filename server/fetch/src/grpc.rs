//! gRPC as it looks on the wire: a request that can be begun anew as long as nobody has seen it, messages counted as
//! they pass, the status in the trailers, and what all that says about the host.
//!
//! What is ours to say to a gRPC client is said as a [`Status`]: a response that is nothing but trailers, or the trailers
//! of a response that has begun.

mod exchange;
pub(crate) mod health;
mod status;

pub(crate) use exchange::Exchange;
pub use status::Status;

/// The service of a gRPC path: `accounts.v1.Accounts` of `/accounts.v1.Accounts/Get`. `None` when it is no such path.
pub fn service(path: &str) -> Option<&str> {
    let (service, method) = path.strip_prefix('/')?.split_once('/')?;
    let whole = !service.is_empty() && !method.is_empty() && !method.contains(['/', '?']);
    whole.then_some(service)
}
