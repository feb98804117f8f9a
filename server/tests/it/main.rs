//! The server as one: one binary of integration tests, a module for each story.

mod api_board;
mod api_breakers;
mod api_feed;
mod api_guard;
mod api_incidents;
mod api_operators;
mod api_ops;
mod api_upkeep;
mod config_example;
mod config_refused;
mod config_sources;
mod gateway_bodies;
mod gateway_passed;
mod gateway_process;
mod gateway_refused;
mod gateway_rewrite;
mod gateway_rewrite_bodies;
mod layers;
mod store_binary;
mod store_file;
mod store_incidents;
mod store_journal;
mod store_lane;
mod store_restart;
mod support;
