//! `GET /breakers?state=&q=&protocol=&upstream=&service=&sort=&limit=&after=`: the panel's list, worst first unless
//! `sort=id`.

use axum::{Json, extract::State};
use fuseboard_app::{backend::BreakerFilter, order, wire::breaker::BreakerList};

use super::super::{input::Query, problem::Answer, state::Admin};
use crate::present::{self, Ask};

/// What breakers guard.
pub const PROTOCOLS: [&str; 2] = ["http", "grpc"];
/// What a list may be sorted by.
pub const SORTS: [&str; 2] = ["worst", "id"];
/// The largest page.
const LIMIT_MAX: u64 = 10_000;

/// For the description alone: the query is read name by name.
#[derive(utoipa::IntoParams)]
#[into_params(parameter_in = Query)]
#[expect(dead_code, reason = "described, never made")]
pub(in super::super) struct List {
    /// In this state, in a word.
    #[param(min_length = 1)]
    state: Option<String>,
    /// Text that the id, an upstream's name or a service of it contains.
    #[param(min_length = 1)]
    q: Option<String>,
    /// Of hosts that speak this.
    #[param(min_length = 1)]
    protocol: Option<String>,
    /// The name of an upstream it guards.
    #[param(min_length = 1)]
    upstream: Option<String>,
    /// A gRPC service that goes there, as in `accounts.v1.Accounts`.
    #[param(min_length = 1)]
    service: Option<String>,
    /// `worst` (the default) or `id`; pages of the latter stay exact while breakers change.
    #[param(min_length = 1)]
    sort: Option<String>,
    /// At most this many.
    #[param(minimum = 1, maximum = 10_000)]
    limit: Option<u64>,
    /// Those behind this one: `next` of the page before.
    #[param(min_length = 1)]
    after: Option<String>,
}

/// Breakers, worst first.
#[utoipa::path(
    get,
    path = "/api/v1/breakers",
    operation_id = "list_breakers",
    tag = "breakers",
    params(List),
    responses((status = 200, description = "The breakers asked for, worst first unless sorted by id", body = BreakerList)),
)]
pub async fn handle(State(admin): State<Admin>, query: Query) -> Answer<Json<BreakerList>> {
    query.only(&["state", "q", "protocol", "upstream", "service", "sort", "limit", "after"])?;
    Ok(Json(present::list(&admin, &ask(&query)?)?))
}

/// Which breakers; shared with the timeline, whose lanes stand in the same order.
pub(in super::super) fn ask(query: &Query) -> Answer<Ask> {
    Ok(Ask {
        filter: BreakerFilter {
            state: query.word("state", &order::WORDS)?.map(str::to_owned),
            q: query.text("q").map(str::to_owned),
            protocol: query.word("protocol", &PROTOCOLS)?.map(str::to_owned),
            upstream: query.text("upstream").map(str::to_owned),
            service: query.text("service").map(str::to_owned),
        },
        by_id: query.word("sort", &SORTS)? == Some("id"),
        limit: query.number("limit", 1..=LIMIT_MAX)?.and_then(|limit| usize::try_from(limit).ok()),
        after: query.text("after").map(str::to_owned),
    })
}
