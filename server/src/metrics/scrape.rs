//! One scrape: the names of the metrics and where each value comes from.

use std::{collections::HashMap, fmt, sync::Arc, time::UNIX_EPOCH};

use fuseboard_breaker::{Mode, Snapshot};
use prometheus_client::{
    collector::Collector,
    encoding::{DescriptorEncoder, EncodeCounterValue, EncodeGaugeValue, EncodeLabelSet, NoLabelSet},
    metrics::MetricType,
};

use super::{BOUNDS, Counters, Process, STATES};

/// Everything one scrape says.
#[derive(Debug)]
pub(super) struct Scrape {
    pub(super) snapshots: Vec<Snapshot>,
    pub(super) seconds: HashMap<Arc<str>, [f64; 3]>,
    pub(super) transitions: Counters<(fuseboard_breaker::State, fuseboard_breaker::State, &'static str)>,
    pub(super) probes: Counters<&'static str>,
    pub(super) refused: HashMap<Arc<str>, Vec<(Arc<str>, u64)>>,
    pub(super) buckets: [u64; BOUNDS.len() + 1],
    pub(super) sum: f64,
    pub(super) process: Process,
}

impl Collector for Scrape {
    fn encode(&self, mut to: DescriptorEncoder<'_>) -> fmt::Result {
        self.states(&mut to)?;
        self.counts(&mut to)?;
        self.facts(&mut to)?;
        self.process(&mut to)
    }
}

impl Scrape {
    fn states(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let each = || self.snapshots.iter();
        gauges(
            to,
            "fuseboard_breaker_state",
            "1 for the automatic state a breaker is in, 0 for the others",
            each().flat_map(|one| STATES.map(|state| (labels(one, "state", state.as_str()), bit(one.state == state)))),
        )?;
        let modes = [Mode::ForcedOpen, Mode::ForcedClosed];
        gauges(
            to,
            "fuseboard_breaker_override",
            "1 for the override in force, 0 for the other",
            each().flat_map(|one| {
                let held = one.held.as_ref().map(|held| held.mode);
                modes.map(|mode| (labels(one, "mode", mode.as_str()), bit(held == Some(mode))))
            }),
        )?;
        counters(
            to,
            "fuseboard_breaker_state_seconds_total",
            "Seconds a breaker was watched in each state",
            each().flat_map(|one| {
                let seconds = self.seconds.get(&one.id).copied().unwrap_or_default();
                STATES.map(|state| (labels(one, "state", state.as_str()), seconds[super::index(state)]))
            }),
        )?;
        gauges(
            to,
            "fuseboard_next_probe_timestamp_seconds",
            "When an open breaker's wait ends, in seconds since 1970",
            each().filter_map(|one| {
                let at = one.next_probe_at?.duration_since(UNIX_EPOCH).ok()?;
                Some(([("breaker", one.id.to_string())], at.as_secs_f64()))
            }),
        )
    }

    fn counts(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters(
            to,
            "fuseboard_calls_total",
            "Calls by outcome",
            self.snapshots.iter().flat_map(|one| {
                let counts = one.counts;
                [
                    ("success", counts.success),
                    ("failure", counts.failure),
                    ("alive", counts.alive),
                    ("ignored", counts.ignored),
                    ("cancelled", counts.cancelled),
                    ("late", counts.late),
                ]
                .map(|(outcome, count)| (labels(one, "outcome", outcome), count))
            }),
        )?;
        counters(
            to,
            "fuseboard_refused_total",
            "Calls failed fast, by reason",
            self.refused.iter().flat_map(|(breaker, reasons)| {
                reasons
                    .iter()
                    .map(|(reason, count)| ([("breaker", breaker.to_string()), ("reason", reason.to_string())], *count))
            }),
        )?;
        let buckets: Vec<_> = BOUNDS.into_iter().chain([f64::INFINITY]).zip(self.buckets).collect();
        to.encode_descriptor(
            "fuseboard_call_duration_seconds",
            "Time to the response's head",
            None,
            MetricType::Histogram,
        )?
        .encode_histogram::<NoLabelSet>(self.sum, self.buckets.iter().sum(), &buckets, None)
    }

    fn facts(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        counters(
            to,
            "fuseboard_breaker_transitions_total",
            "Changes of state, override or cool-down",
            self.transitions.iter().flat_map(|(breaker, kinds)| {
                kinds.iter().map(|((from, end, cause), count)| {
                    let labels = [
                        ("breaker", breaker.to_string()),
                        ("from", from.as_str().into()),
                        ("to", end.as_str().into()),
                        ("cause", (*cause).into()),
                    ];
                    (labels, *count)
                })
            }),
        )?;
        counters(
            to,
            "fuseboard_probes_total",
            "Probes by outcome",
            self.probes.iter().flat_map(|(breaker, outcomes)| {
                outcomes.iter().map(|(outcome, count)| {
                    ([("breaker", breaker.to_string()), ("outcome", (*outcome).into())], *count)
                })
            }),
        )
    }

    fn process(&self, to: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let process = &self.process;
        let none = || NO_LABELS;
        gauges(to, "fuseboard_journal_depth", "Facts waiting to be written", [(none(), gauge(process.journal_depth))])?;
        counters(
            to,
            "fuseboard_journal_dropped_total",
            "Facts given up because the journal was full",
            [(none(), process.journal_dropped)],
        )?;
        gauges(to, "fuseboard_store_bytes", "Size of the store's files", [(none(), gauge(process.store_bytes))])?;
        gauges(
            to,
            "fuseboard_watchdog_findings",
            "Broken invariants the watchdog sees now, by kind",
            process.findings.iter().map(|(kind, count)| ([("kind", (*kind).to_owned())], gauge(*count))),
        )?;
        let build = [("node", process.node.clone()), ("version", process.version.clone())];
        gauges(to, "fuseboard_build_info", "Always 1; the labels say what runs", [(build, 1_i64)])
    }
}

const NO_LABELS: [(&str, String); 0] = [];

fn labels(snapshot: &Snapshot, name: &'static str, word: &str) -> [(&'static str, String); 2] {
    [("breaker", snapshot.id.to_string()), (name, word.to_owned())]
}

fn bit(is: bool) -> i64 {
    i64::from(is)
}

fn gauge(value: u64) -> i64 {
    i64::try_from(value).unwrap_or(i64::MAX)
}

fn gauges<L: EncodeLabelSet, V: EncodeGaugeValue>(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: impl IntoIterator<Item = (L, V)>,
) -> fmt::Result {
    let mut metric = to.encode_descriptor(name, help, None, MetricType::Gauge)?;
    for (labels, value) in rows {
        metric.encode_family(&labels)?.encode_gauge(&value)?;
    }
    Ok(())
}

fn counters<L: EncodeLabelSet, V: EncodeCounterValue>(
    to: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    rows: impl IntoIterator<Item = (L, V)>,
) -> fmt::Result {
    // The encoder puts the suffix back.
    let name = name.strip_suffix("_total").unwrap_or(name);
    let mut metric = to.encode_descriptor(name, help, None, MetricType::Counter)?;
    for (labels, value) in rows {
        metric.encode_family(&labels)?.encode_counter::<NoLabelSet, _, u64>(&value, None)?;
    }
    Ok(())
}
