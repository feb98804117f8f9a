//! The body of a response, with its permit aboard.
use std::{
    pin::Pin,
    task::{Context, Poll},
};

use bytes::Bytes;
use http_body::Frame;

use crate::error::BodyError;

/// The body of a response, with its permit aboard.
#[derive(Debug, Default)]
pub struct Body(());

impl http_body::Body for Body {
    type Data = Bytes;
    type Error = BodyError;

    fn poll_frame(self: Pin<&mut Self>, _cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, BodyError>>> {
        Poll::Ready(None)
    }
}
