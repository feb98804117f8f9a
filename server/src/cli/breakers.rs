//! `fuseboard breakers`: what the board shows and does, for a terminal and for scripts.

mod table;

use std::time::Duration;

use clap::{Args, Subcommand, builder::PossibleValuesParser};
use fuseboard_app::{
    format::{breaker_path, query_value},
    order,
    wire::{
        action::ProbeResult,
        breaker::{Breaker, BreakerList, Mode},
        command::{Release, Reset, Said, SetOverride},
    },
};
use http::Method;
use serde::de::DeserializeOwned;

use super::{
    Failure, say,
    server::{Answer, Where, plain},
};
use crate::stamp;

#[derive(Debug, Subcommand)]
pub(super) enum Breakers {
    /// List breakers, those in trouble first.
    List(List),
    /// Show one breaker.
    Show(Show),
    /// Close a breaker and forget what led there.
    Reset(ResetNow),
    /// Hold a breaker open: nothing is sent to its host, probes neither.
    ForceOpen(Force),
    /// Hold a breaker closed: everything is sent, whatever the host does.
    ForceClosed(Force),
    /// End an override; the breaker goes on as it stands beneath.
    Release(Act),
    /// Send one probe now; exit 1 when it is bad.
    Probe(ProbeNow),
}

#[derive(Debug, Args)]
pub(super) struct List {
    /// Only those in this state.
    #[arg(long, value_name = "STATE", value_parser = PossibleValuesParser::new(order::WORDS))]
    state: Option<String>,
    /// Only those whose id or upstream contains this.
    #[arg(long, value_name = "TEXT")]
    search: Option<String>,
    #[command(flatten)]
    server: Where,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct Show {
    /// The breaker, as in https:registry.example.
    id: String,
    #[command(flatten)]
    server: Where,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
struct Output {
    /// Print the API's JSON.
    #[arg(long)]
    json: bool,
}

#[derive(Debug, Args)]
struct Asker {
    /// Who asks; stands in the record.
    #[arg(long, value_name = "NAME", env = "USER", hide_env_values = true)]
    by: Option<String>,
}

#[derive(Debug, Args)]
pub(super) struct Act {
    /// The breaker, as in https:registry.example.
    id: String,
    /// Why; stands in the record.
    #[arg(long, value_name = "TEXT")]
    reason: String,
    #[command(flatten)]
    asker: Asker,
    #[command(flatten)]
    server: Where,
    #[command(flatten)]
    output: Output,
}

#[derive(Debug, Args)]
pub(super) struct ResetNow {
    /// Also end an override that stands.
    #[arg(long)]
    end_override: bool,
    #[command(flatten)]
    act: Act,
}

#[derive(Debug, Args)]
pub(super) struct Force {
    /// How long, as in 10m or 1h30m; "never" stands until somebody releases it.
    #[arg(long = "for", value_name = "LENGTH", value_parser = length)]
    length: Length,
    #[command(flatten)]
    act: Act,
}

#[derive(Debug, Args)]
pub(super) struct ProbeNow {
    /// The breaker, as in https:registry.example.
    id: String,
    /// Why; stands in the record.
    #[arg(long, value_name = "TEXT")]
    reason: Option<String>,
    #[command(flatten)]
    asker: Asker,
    #[command(flatten)]
    server: Where,
    #[command(flatten)]
    output: Output,
}

/// How long an override stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Length {
    For(Duration),
    Never,
}

fn length(text: &str) -> Result<Length, String> {
    if text == "never" {
        return Ok(Length::Never);
    }
    let length = humantime::parse_duration(text).ok().filter(|length| length.as_millis() > 0);
    length.map(Length::For).ok_or_else(|| "it takes a length as in 10m or 1h30m, or never".to_owned())
}

impl Breakers {
    pub(super) async fn run(self) -> Result<(), Failure> {
        match self {
            Self::List(list) => list.run().await,
            Self::Show(show) => {
                let answer = show.server.server()?.get(&breaker_path(&show.id)).await?;
                if show.output.json {
                    return say_json(&answer);
                }
                say(&table::story(&read(&answer)?, answer.now_ms))
            }
            Self::Reset(ResetNow { end_override, act }) => {
                let body = |reason, by| Reset { reason, end_override, by };
                act.run("reset", Method::POST, body, |breaker, _| {
                    format!("{} is reset: closed, and what led there is forgotten.", breaker.id)
                })
                .await
            }
            Self::ForceOpen(force) => force.run(Mode::ForcedOpen).await,
            Self::ForceClosed(force) => force.run(Mode::ForcedClosed).await,
            Self::Release(act) => {
                act.run(
                    "release",
                    Method::POST,
                    |reason, by| Release { reason, by },
                    |breaker, now_ms| {
                        format!(
                            "{} is released and stands as it did beneath: {}.",
                            breaker.id,
                            table::standing(breaker, now_ms)
                        )
                    },
                )
                .await
            }
            Self::Probe(probe) => probe.run().await,
        }
    }
}

impl List {
    async fn run(self) -> Result<(), Failure> {
        let Self { state, search, server, output } = self;
        let server = server.server()?;
        let mut query = String::from("/breakers?");
        for (name, value) in [("state", &state), ("q", &search)] {
            if let Some(value) = value {
                query.push_str(&format!("{name}={}&", query_value(value)));
            }
        }
        let answer = server.get(query.trim_end_matches(['?', '&'])).await?;
        if output.json {
            return say_json(&answer);
        }
        say(&table::list(&read::<BreakerList>(&answer)?))
    }
}

impl Act {
    async fn run<Body: serde::Serialize>(
        self,
        verb: &str,
        method: Method,
        body: impl FnOnce(String, Option<String>) -> Body,
        done: impl FnOnce(&Breaker, i64) -> String,
    ) -> Result<(), Failure> {
        let Self { id, reason, asker, server, output } = self;
        let path = format!("{}/{verb}", breaker_path(&id));
        let answer = server.server()?.act(method, &path, &body(reason, asker.by)).await?;
        if output.json {
            return say_json(&answer);
        }
        say(&format!("{}\n", plain(&done(&read(&answer)?, answer.now_ms))))
    }
}

impl Force {
    async fn run(self, mode: Mode) -> Result<(), Failure> {
        let Self { length, act } = self;
        let body = |reason, by| {
            let (for_ms, until) = match length {
                Length::For(length) => (Some(stamp::millis(length)), None),
                Length::Never => (None, Some(None)),
            };
            SetOverride { mode, reason, for_ms, until, by }
        };
        act.run("override", Method::PUT, body, |breaker, _| table::forced(breaker, mode)).await
    }
}

impl ProbeNow {
    async fn run(self) -> Result<(), Failure> {
        let Self { id, reason, asker, server, output } = self;
        let body = Said { reason: reason.unwrap_or_default(), by: asker.by };
        let path = format!("{}/probe", breaker_path(&id));
        let answer = server.server()?.act(Method::POST, &path, &body).await?;
        let found: ProbeResult = read(&answer)?;
        if output.json {
            say_json(&answer)?;
        } else {
            say(&format!("{}: {}\n", plain(&id), plain(&found.detail)))?;
        }
        match found.outcome.as_str() {
            "success" | "alive" => Ok(()),
            _ => Err(Failure::Failed(format!("the probe of {} was not good", plain(&id)))),
        }
    }
}

fn read<T: DeserializeOwned>(answer: &Answer) -> Result<T, Failure> {
    serde_json::from_str(&answer.text).map_err(unreadable)
}

fn unreadable(error: serde_json::Error) -> Failure {
    let own = env!("CARGO_PKG_VERSION");
    Failure::Failed(format!("the server's answer cannot be read by version {own} of this program: {error}"))
}

fn say_json(answer: &Answer) -> Result<(), Failure> {
    say(&format!("{}\n", answer.text.trim_end()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_length_is_said_or_never() {
        assert_eq!(length("10m"), Ok(Length::For(Duration::from_secs(600))));
        assert_eq!(length("1h 30m"), Ok(Length::For(Duration::from_secs(5_400))));
        assert_eq!(length("never"), Ok(Length::Never));
        for bad in ["", "0s", "ten minutes", "-5m", "1ns", "forever"] {
            assert!(length(bad).is_err(), "{bad}");
        }
    }
}
