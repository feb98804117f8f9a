//! The fetch path over real sockets, rule by rule, against hosts that do exactly what a script says. Tests are named after
//! the rule they hold; what a call proves, and what follows from it, is one table.
//!
//! | rule | where |
//! | --- | --- |
//! | 1 to 4, 13, 16 admission, permits, panics, recovery | `recovery`, `clients`, `outcomes` |
//! | 5 leases of large files | `recovery` |
//! | 19, 23, 24, 27, 28 what a failure is | `failures`, `outcomes`, `names`, `tls`, `noise` |
//! | 20 probes | `probes` |
//! | 25 the permit travels with the body | `bodies`, `recovery`, `failures` (the queue), `outcomes` |
//! | 26 clients that leave | `clients`, `outcomes` |
//! | 31 retries | `retries`, and the units of `budget` and `retry` |
//! | 32, 33 origins and redirects | `redirects`, `forwarding`, `tls`, and the units of `origin` and `redirect` |
//! | 34 addresses, loops | `addresses`, `names`, `forwarding`, and the units of `guard` |
//! | 35 what passes | `forwarding`, `bodies`, and the units of `headers` |
//! | 36 coalescing | `coalescing` |
//! | 37 connections closed while idle | `connections`, `tls`, `outcomes` |
//! | 39 secrets | `failures`, and the units of `origin` and `upstream` |

mod addresses;
mod bodies;
mod clients;
mod coalescing;
mod connections;
mod failures;
mod forwarding;
mod grpc;
mod names;
mod noise;
mod outcomes;
mod probes;
mod recovery;
mod redirects;
mod retries;
mod support;
mod tls;
