//! Everything the admin listener answers, on one screen. What stands before every route is at the end of [`admin`].

pub mod api;
pub mod caller;
pub mod events;
pub mod input;
pub mod openapi;
pub mod ops;
pub mod problem;
pub mod state;
pub mod ui;

use std::sync::Arc;

use axum::{
    Router, middleware,
    routing::{get, post, put},
};
use tower_http::{CompressionLevel, catch_panic::CatchPanicLayer, compression::CompressionLayer};

use self::{
    api::{actions, breakers, config, export, incidents, overrides, record, timeline, upstreams},
    state::Admin,
};
use crate::app::App;

/// Board, API and operations.
pub fn admin(app: Arc<App>) -> Router {
    let admin = Admin::new(app.clone());
    let api = Router::new()
        .route("/breakers", get(breakers::list::handle))
        .route("/breakers/{id}", get(breakers::show::handle))
        .route("/breakers/{id}/timeline", get(timeline::one::handle))
        .route("/breakers/{id}/reset", post(breakers::reset::handle))
        .route("/breakers/{id}/override", put(overrides::set::handle))
        .route("/breakers/{id}/release", post(overrides::release::handle))
        .route("/breakers/{id}/probe", post(breakers::probe::handle))
        .route("/actions", post(actions::act::handle))
        .route("/undo", post(actions::undo::handle))
        .route("/timeline", get(timeline::many::handle))
        .route("/transitions", get(record::transitions::handle))
        .route("/probes", get(record::probes::handle))
        .route("/audit", get(record::audit::handle))
        .route("/incidents", get(incidents::list::handle))
        .route("/incidents/{id}", get(incidents::show::handle))
        .route("/export", get(export::handle))
        .route("/upstreams", get(upstreams::list::handle))
        .route("/config", get(config::show::handle))
        .route("/reload", post(config::reload::handle))
        .route("/events", get(events::open))
        .fallback(problem::not_found);
    operations()
        .nest("/api/v1", api)
        .route("/openapi.json", get(openapi::show))
        .merge(ui::pages(&admin))
        .fallback(ui::elsewhere)
        .method_not_allowed_fallback(problem::wrong_method)
        .layer(middleware::from_fn_with_state(app, caller::guard))
        .layer(CatchPanicLayer::custom(problem::panicked))
        .layer(middleware::map_response(ui::harden))
        // A page of a thousand breakers is a tenth of it compressed. The feed is not: each event has to go out at once.
        // A little above the layer's own level: what a board loads first is bounded in size.
        .layer(CompressionLayer::new().quality(CompressionLevel::Precise(6)))
        .with_state(admin)
}

/// The operations alone, for a listener that only watchers reach.
pub fn ops(app: Arc<App>) -> Router {
    operations()
        .fallback(problem::not_found)
        .method_not_allowed_fallback(problem::wrong_method)
        .layer(CatchPanicLayer::custom(problem::panicked))
        .with_state(Admin::new(app))
}

fn operations() -> Router<Admin> {
    Router::new()
        .route("/livez", get(ops::livez))
        .route("/readyz", get(ops::readyz))
        .route("/health", get(ops::health))
        .route("/metrics", get(ops::metrics))
}
