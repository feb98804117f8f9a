//! [`BreakerLayer`].

use tower_layer::Layer;

use super::BreakerService;
use crate::handle::Breaker;

/// Puts a breaker in front of services. Every service it wraps, and every clone of one, shares the one breaker.
#[derive(Debug, Clone)]
pub struct BreakerLayer<C> {
    breaker: Breaker,
    classify: C,
}

impl<C> BreakerLayer<C> {
    /// This breaker, and how calls are judged.
    pub fn new(breaker: Breaker, classify: C) -> Self {
        Self { breaker, classify }
    }

    /// The breaker: to look at it, to reset it, to hold it open.
    pub fn breaker(&self) -> &Breaker {
        &self.breaker
    }
}

impl<S, C: Clone> Layer<S> for BreakerLayer<C> {
    type Service = BreakerService<S, C>;

    fn layer(&self, inner: S) -> Self::Service {
        BreakerService::new(inner, self.breaker.clone(), self.classify.clone())
    }
}
