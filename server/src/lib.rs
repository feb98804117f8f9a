//! The server: gateway, record, API and board around the breakers. `main` calls [`cli`], which calls [`startup`].
//!
//! Layers, lower never uses higher (`tests/it/layers.rs` holds this): lifecycle → config, metrics, calls, tally, live, listen →
//! telemetry, db → history, auth, gateway → journal, restore → app, fault → present → control → upkeep, backend, export,
//! notify → web → startup → demo, cli → main.

// The board's pages nest as deep as what they show.
#![recursion_limit = "256"]

pub mod app;
pub mod backend;
pub mod calls;
pub mod cli;
pub mod config;
pub mod control;
pub mod db;
pub mod demo;
pub mod export;
pub mod fault;
pub mod findings;
pub mod gateway;
pub mod history;
pub mod journal;
pub mod lifecycle;
pub mod listen;
pub mod live;
pub mod metrics;
pub mod present;
pub mod restore;
pub mod stamp;
pub mod startup;
pub mod tally;
pub mod telemetry;
pub mod undo;
pub mod upkeep;
pub mod web;
