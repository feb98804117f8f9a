//! A tonic client behind a breaker, and a server that fails for a while.
//!
//!     cargo run -p fuseboard-breaker --features grpc --example tonic_client
//!
//! The client calls four times a second. After a moment the server begins to fail every call; five failures later the
//! breaker opens and the server is left alone. When it is well again, the first calls after the wait probe it, and
//! traffic is back.

#[expect(dead_code, reason = "the tests and the bench use the rest of it")]
mod accounts;

use std::{error::Error, sync::Arc, time::Duration};

use accounts::{Accounts, AccountsClient, Ask, Told};
use fuseboard_breaker::{
    Breaker, Policy, PolicySettings, State, SystemClock,
    grpc::{ByTrailers, Logged},
    tower::BreakerLayer,
};
use tokio::time::interval;
use tonic::{Code, transport::Endpoint};
use tower::ServiceBuilder;

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    tracing_subscriber::fmt().without_time().init();
    let server = Accounts::serve().await?;

    // `BreakerLayer::grpc("accounts")` is the usual way; this one waits 3 s instead of 15 and closes on two good calls,
    // so that there is more to see.
    let mut settings = PolicySettings::grpc();
    settings.wait.first = Duration::from_secs(3);
    settings.half_open.successes = 2;
    let breaker = Breaker::new("accounts", Policy::new(settings)?, Arc::new(SystemClock), Arc::new(Logged::new()));
    let layer = BreakerLayer::new(breaker.clone(), ByTrailers::default());

    let channel = Endpoint::from_shared(format!("http://{}", server.address))?.connect_lazy();
    let mut client = AccountsClient::new(ServiceBuilder::new().layer(layer).service(channel));

    let mut ticks = interval(Duration::from_millis(250));
    for call in 1.. {
        ticks.tick().await;
        match call {
            5 => {
                println!("-- the server begins to fail");
                server.tell(Told::Fail(Code::Unavailable));
            }
            16 => {
                println!("-- the server is well again");
                server.tell(Told::Well);
            }
            _ => {}
        }
        match client.get(Ask { name: "ana".into() }).await {
            Ok(account) => println!("{call:>2}  {}", account.name),
            Err(status) => println!("{call:>2}  {:?}: {}", status.code(), status.message()),
        }
        let snapshot = breaker.snapshot();
        if call > 16 && snapshot.state == State::Closed {
            println!("{} calls reached the server, {} were refused", server.calls(), snapshot.counts.refused);
            break;
        }
    }
    Ok(())
}
