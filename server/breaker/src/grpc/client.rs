//! The layer for gRPC clients: [`BreakerLayer::grpc`].

use std::{ops::ControlFlow, sync::Arc};

use http::{Request, Response};
use http_body::Body;

use super::{ClientCall, Codes, Logged, refusal};
use crate::{
    clock::SystemClock,
    handle::Breaker,
    permit::OwnedPermit,
    policy::Policy,
    refusal::Refused,
    tower::{BoxError, BreakerLayer, Classify, ResponseBody},
};

impl BreakerLayer<ByTrailers> {
    /// A layer for one gRPC client, with a breaker of this name and the policy [`Policy::grpc`]. Every change of its
    /// state is logged.
    pub fn grpc(id: impl Into<Arc<str>>) -> Self {
        let breaker = Breaker::new(id, Policy::grpc(), Arc::new(SystemClock), Arc::new(Logged::new()));
        Self::new(breaker, ByTrailers::default())
    }

    /// What each code proves about this client's server.
    #[must_use]
    pub fn codes(self, codes: Codes) -> Self {
        Self::new(self.breaker().clone(), ByTrailers::new(codes))
    }
}

/// Judges gRPC calls by their trailers. A refused caller is answered with `UNAVAILABLE`.
#[derive(Debug, Clone, Default)]
pub struct ByTrailers {
    codes: Arc<Codes>,
}

impl ByTrailers {
    /// Judges by these.
    pub fn new(codes: Codes) -> Self {
        Self { codes: Arc::new(codes) }
    }
}

impl<Req, Res, E> Classify<Request<Req>, Response<Res>, E> for ByTrailers
where
    Res: Body<Error: Into<BoxError>>,
    E: Into<BoxError>,
{
    type Response = Response<ResponseBody<Res, ClientCall>>;
    type Error = BoxError;
    type Call = ClientCall;

    fn admitted(
        &self,
        request: &Request<Req>,
        permit: OwnedPermit,
    ) -> ControlFlow<Result<Self::Response, BoxError>, ClientCall> {
        let mut call = ClientCall::new(self.codes.clone(), request, permit);
        match call.is_too_late() {
            Some(answer) => ControlFlow::Break(Ok(answer)),
            None => ControlFlow::Continue(call),
        }
    }

    fn refused(&self, refused: Refused) -> Result<Self::Response, BoxError> {
        Ok(refusal::refused(&refused))
    }
}
