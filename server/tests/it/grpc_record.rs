//! What the record and the API say of gRPC calls: codes by their names, messages, protocol and services.

use fuseboard_app::wire::{
    breaker::{Breaker, BreakerList},
    event::{Page, Probe, Transition},
};
use http::{Method, StatusCode};
use serde_json::json;
use tonic::Code;

use crate::support::{
    desk::Desk,
    rpc::{RpcHost, client, get},
    soon,
    switch::Switch,
};

const GET: &str = "/accounts.v1.Accounts/Get";
/// No wait, so that the next call is a probe, and one of them decides.
const HASTY: &str = "[policy.grpc]\nwait = { first = \"1ms\", max = \"1ms\" }\n\
                     half_open = { probes = 1, successes = 1, lease = \"40s\" }\n";

#[tokio::test]
async fn codes_stand_by_name_in_transitions_and_probes() {
    let host = RpcHost::start().await;
    let app = Desk::start(&format!("{HASTY}{}", host.upstream("accounts", "[\"accounts.v1.*\"]"))).await;
    let mut client = client(app.gateway()).await;
    host.fail_with(Code::Unavailable);
    for _ in 0..5 {
        get(&mut client, GET).await.expect_err("as told");
    }
    let due = async {
        while !app.read::<Breaker>("/api/v1/breakers/accounts").await.probe_due {
            tokio::task::yield_now().await;
        }
    };
    soon("the end of the wait", due).await;
    host.fail_with(Code::DataLoss);
    get(&mut client, GET).await.expect_err("as told");
    app.stored().await;

    let rows: Page<Transition> = app.read("/api/v1/transitions?breaker=accounts").await;
    let [failed, _, tripped] = &rows.rows[..] else { panic!("{rows:?}") };
    assert_eq!((failed.cause.kind.as_str(), &failed.cause.detail["code"]), ("probe_failed", &json!("DATA_LOSS")));
    assert_eq!((tripped.cause.kind.as_str(), &tripped.cause.detail["code"]), ("tripped", &json!("UNAVAILABLE")));
    let call = &tripped.cause.detail["evidence"][4];
    let seen = (&call["code"], &call["status"], &call["path"], &call["sent"], &call["received"]);
    assert_eq!(seen, (&json!("UNAVAILABLE"), &json!(14), &json!(GET), &json!(1), &json!(0)));

    let rows: Page<Probe> = app.read("/api/v1/probes?breaker=accounts").await;
    let probe = rows.rows.first().expect("a probe");
    assert_eq!((probe.code.as_deref(), probe.status), (Some("DATA_LOSS"), Some(15)));
    assert_eq!((probe.sent, probe.received, probe.path.as_deref()), (Some(1), Some(0), Some(GET)));
}

#[tokio::test]
async fn the_list_is_filtered_by_protocol_upstream_and_service() {
    let (host, npm) = (RpcHost::start().await, Switch::start().await);
    let text = host.upstream("accounts", "[\"accounts.v1.*\", \"audit.Log\"]") + &npm.upstream("npm");
    let app = Desk::start(&text).await;
    let ids = async |query: &str| -> Vec<String> {
        let list: BreakerList = app.read(&format!("/api/v1/breakers?sort=id&{query}")).await;
        list.breakers.into_iter().map(|one| one.id).collect()
    };
    assert_eq!(ids("protocol=grpc").await, ["accounts"]);
    assert_eq!(ids("protocol=http").await, [npm.breaker()]);
    assert_eq!(ids("service=accounts.v1.Accounts").await, ["accounts"]);
    assert_eq!(ids("service=audit.Logs").await, [""; 0]);
    assert_eq!(ids("upstream=npm").await, [npm.breaker()]);
    let accounts: Breaker = app.read("/api/v1/breakers/accounts").await;
    assert_eq!((accounts.protocol.as_str(), accounts.services.len()), ("grpc", 2));
    let wrong = app.send(app.admin(), Method::GET, "/api/v1/breakers?protocol=soap", &[], "").await;
    assert_eq!(wrong.status, StatusCode::UNPROCESSABLE_ENTITY);
}

#[tokio::test]
async fn a_breaker_keyed_by_origin_says_grpc_in_its_id() {
    let host = RpcHost::start().await;
    let app = Desk::start(&format!("{}key = \"origin\"\n", host.upstream("accounts", "[\"*\"]"))).await;
    get(&mut client(app.gateway()).await, GET).await.expect("an answer");
    let id = format!("grpc:{}", host.address);
    let shown: Breaker = app.read(&format!("/api/v1/breakers/{id}")).await;
    assert_eq!(
        (shown.counts.success, shown.policy.as_str(), shown.upstreams),
        (1, "grpc", vec!["accounts".to_owned()])
    );
}
