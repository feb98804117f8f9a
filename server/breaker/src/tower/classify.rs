//! What the calls of a service prove, and what a refused caller gets.

use std::{
    error::Error,
    fmt,
    ops::ControlFlow,
    task::{Context, Poll},
};

use crate::{outcome::Verdict, permit::OwnedPermit, refusal::Refused};

/// Any error, as tower's own middleware has it.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// Judges the calls of one service.
pub trait Classify<Req, Res, Err> {
    /// What callers are answered; the service's own answer, or one that carries the permit on.
    type Response;
    /// What callers get instead when that fails.
    type Error;
    /// One admitted call.
    type Call: Call<Res, Err, Response = Self::Response, Error = Self::Error>;

    /// A call was admitted and is about to be sent. `Break` answers it in the service's place; nothing is sent.
    fn admitted(
        &self,
        request: &Req,
        permit: OwnedPermit,
    ) -> ControlFlow<Result<Self::Response, Self::Error>, Self::Call>;

    /// What the caller of a refused call gets; nothing is sent.
    ///
    /// # Errors
    /// Where a refusal is an error to the service's callers.
    fn refused(&self, refused: Refused) -> Result<Self::Response, Self::Error>;
}

/// One admitted call until it is answered. It holds the permit; dropped before it is answered it may still settle it.
pub trait Call<Res, Err>: Unpin {
    /// As its [`Classify`]'s.
    type Response;
    /// As its [`Classify`]'s.
    type Error;

    /// Where it holds the permit.
    fn permit(&mut self) -> &mut Option<OwnedPermit>;

    /// Asked while the service has no answer: `Ready` ends the call with this one instead.
    fn poll_cut(&mut self, cx: &mut Context<'_>) -> Poll<Result<Self::Response, Self::Error>> {
        let _ = cx;
        Poll::Pending
    }

    /// The service answered or failed.
    ///
    /// # Errors
    /// The service's own.
    fn answered(self, answer: Result<Res, Err>) -> Result<Self::Response, Self::Error>;
}

/// Judges each call by its answer alone. A refused caller gets [`Refused`] as its error.
///
/// The function sees the answer as the service gave it: where that has a body still to come, it says nothing of it.
pub fn judge_by<F, Res, Err>(judge: F) -> JudgeBy<F>
where
    F: Fn(&Result<Res, Err>) -> Verdict + Clone,
{
    JudgeBy(judge)
}

/// See [`judge_by`].
#[derive(Clone, Copy)]
pub struct JudgeBy<F>(F);

impl<F> fmt::Debug for JudgeBy<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("JudgeBy")
    }
}

impl<F, Req, Res, Err> Classify<Req, Res, Err> for JudgeBy<F>
where
    F: Fn(&Result<Res, Err>) -> Verdict + Clone + Unpin,
    Err: Into<BoxError>,
{
    type Response = Res;
    type Error = BoxError;
    type Call = JudgeByCall<F>;

    fn admitted(&self, _request: &Req, permit: OwnedPermit) -> ControlFlow<Result<Res, BoxError>, JudgeByCall<F>> {
        ControlFlow::Continue(JudgeByCall { permit: Some(permit), judge: self.0.clone() })
    }

    fn refused(&self, refused: Refused) -> Result<Res, BoxError> {
        Err(refused.into())
    }
}

/// A call of [`JudgeBy`].
pub struct JudgeByCall<F> {
    permit: Option<OwnedPermit>,
    judge: F,
}

impl<F> fmt::Debug for JudgeByCall<F> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_struct("JudgeByCall").field("permit", &self.permit).finish_non_exhaustive()
    }
}

impl<F, Res, Err> Call<Res, Err> for JudgeByCall<F>
where
    F: Fn(&Result<Res, Err>) -> Verdict + Unpin,
    Err: Into<BoxError>,
{
    type Response = Res;
    type Error = BoxError;

    fn permit(&mut self) -> &mut Option<OwnedPermit> {
        &mut self.permit
    }

    fn answered(mut self, answer: Result<Res, Err>) -> Result<Res, BoxError> {
        if let Some(permit) = self.permit.take() {
            permit.settle((self.judge)(&answer));
        }
        answer.map_err(Into::into)
    }
}
