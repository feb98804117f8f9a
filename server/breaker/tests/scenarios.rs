//! The rules of the breaker as tests, on a clock that moves only when told to. A test's name begins with the rule it
//! holds; thresholds are tried one below, exactly, and one above.

#[path = "scenarios/harness.rs"]
mod harness;

#[path = "scenarios/admission.rs"]
mod admission;
#[path = "scenarios/configuration.rs"]
mod configuration;
#[path = "scenarios/cooldown.rs"]
mod cooldown;
#[path = "scenarios/counting.rs"]
mod counting;
#[path = "scenarios/generations.rs"]
mod generations;
#[path = "scenarios/half_open.rs"]
mod half_open;
#[path = "scenarios/lease.rs"]
mod lease;
#[path = "scenarios/overrides.rs"]
mod overrides;
#[path = "scenarios/panel.rs"]
mod panel;
#[path = "scenarios/policy_change.rs"]
mod policy_change;
#[path = "scenarios/probe_now.rs"]
mod probe_now;
#[path = "scenarios/rates.rs"]
mod rates;
#[path = "scenarios/reading.rs"]
mod reading;
#[path = "scenarios/record.rs"]
mod record;
#[path = "scenarios/recovery.rs"]
mod recovery;
#[path = "scenarios/reset.rs"]
mod reset;
#[path = "scenarios/restart.rs"]
mod restart;
#[path = "scenarios/threads.rs"]
mod threads;
#[path = "scenarios/waiting.rs"]
mod waiting;
