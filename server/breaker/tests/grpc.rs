//! The layer for gRPC clients, over sockets: against tonic's own server and client, against servers that speak h2 and
//! break every promise, and under hyper's client. Only the breaker's clock is the tests' own.

#[path = "../examples/tonic_client/accounts.rs"]
mod accounts;
#[path = "grpc/cascade.rs"]
mod cascade;
#[path = "grpc/deadlines.rs"]
mod deadlines;
#[path = "grpc/hyper_client.rs"]
mod hyper_client;
#[path = "grpc/kinds.rs"]
mod kinds;
#[path = "grpc/letting_go.rs"]
mod letting_go;
#[path = "grpc/rig.rs"]
mod rig;
#[path = "grpc/rude.rs"]
mod rude;
#[path = "grpc/rude_server.rs"]
mod rude_server;
