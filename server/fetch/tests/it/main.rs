//! The fetch path over real sockets, rule by rule, against hosts that do exactly what a script says.

mod addresses;
mod bodies;
mod clients;
mod connections;
mod failures;
mod forwarding;
mod grpc;
mod probes;
mod recovery;
mod redirects;
mod support;
mod tls;
