//! What a permit carries.

use std::{mem::replace, sync::Arc, time::Instant};

use super::FLAGS;
use crate::machine::ProbeMark;

/// No word the machine writes.
const NOTHING: u64 = u64::MAX;

/// Two words that stay in registers on the short way.
#[derive(Debug)]
pub(crate) struct Pass {
    /// The word it was admitted by; `NOTHING` once it has been given back.
    word: u64,
    more: Option<Box<More>>,
}

#[derive(Debug)]
struct More {
    started: Instant,
    probe: Option<Arc<ProbeMark>>,
}

impl Pass {
    #[inline]
    pub(super) fn quick(word: u64) -> Self {
        Self { word, more: None }
    }

    pub(super) fn with(word: u64, started: Instant, probe: Option<Arc<ProbeMark>>) -> Self {
        Self { word, more: Some(Box::new(More { started, probe })) }
    }

    pub(super) fn into_parts(self) -> (Option<Instant>, Option<Arc<ProbeMark>>) {
        self.more.map_or((None, None), |more| (Some(more.started), more.probe))
    }

    #[inline]
    pub(super) fn word(&self) -> u64 {
        self.word
    }

    const GONE: Self = Self { word: NOTHING, more: None };

    /// Takes it out of a permit; `None` when that was done before.
    #[inline]
    pub(crate) fn take(&mut self) -> Option<Self> {
        let pass = replace(self, Self::GONE);
        if pass.word == NOTHING { None } else { Some(pass) }
    }

    #[inline]
    pub(crate) fn generation(&self) -> u64 {
        self.word >> FLAGS
    }

    #[inline]
    pub(crate) fn is_probe(&self) -> bool {
        self.probe().is_some()
    }

    #[cfg(feature = "grpc")]
    pub(super) fn started(&self) -> Option<Instant> {
        Some(self.more.as_ref()?.started)
    }

    #[inline]
    pub(super) fn probe(&self) -> Option<&Arc<ProbeMark>> {
        self.more.as_ref()?.probe.as_ref()
    }
}
