//! What a transport's error says of the end of a call.

use std::{error::Error, io};

use super::End;
use crate::outcome::Phase;

/// `phase`: what the call was waiting for.
pub(super) fn end(error: &(dyn Error + 'static), phase: Phase) -> End {
    let mut next = Some(error);
    while let Some(error) = next {
        if let Some(h2) = error.downcast_ref::<h2::Error>() {
            return by_h2(h2, phase);
        }
        if error.downcast_ref::<hyper::Error>().is_some_and(hyper::Error::is_canceled) {
            return End::NotProcessed;
        }
        if let Some(io) = error.downcast_ref::<io::Error>() {
            use io::ErrorKind::{AddrNotAvailable, ConnectionRefused, HostUnreachable, NetworkUnreachable};
            match io.kind() {
                AddrNotAvailable | ConnectionRefused | HostUnreachable | NetworkUnreachable => {
                    return End::Broken(Phase::Connect);
                }
                _ => {}
            }
        }
        // One that wraps another names that one's causes as its own, and so leaves it out.
        next = match error.downcast_ref::<io::Error>().and_then(io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    End::Broken(phase)
}

fn by_h2(error: &h2::Error, phase: Phase) -> End {
    use h2::Reason;
    match error.reason() {
        // Reset by our side, for a request that broke on its way out; the server had no say.
        Some(_) if error.is_reset() && !error.is_remote() && !error.is_library() => End::Cancelled,
        Some(Reason::REFUSED_STREAM) if error.is_remote() => End::NotProcessed,
        Some(Reason::NO_ERROR) if error.is_remote() && error.is_go_away() => End::NotProcessed,
        Some(Reason::CANCEL | Reason::NO_ERROR) if error.is_remote() && error.is_reset() => End::NoStatus,
        _ => End::Broken(phase),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_h2_says_is_found_below_other_errors() {
        let refused = io::Error::other(io::Error::from(io::ErrorKind::ConnectionRefused));
        assert_eq!(end(&refused, Phase::Head), End::Broken(Phase::Connect));
        let reset = io::Error::from(io::ErrorKind::ConnectionReset);
        assert_eq!(end(&reset, Phase::Body), End::Broken(Phase::Body));
        // Made here, it is the reason of a reset by nobody in particular.
        let own = io::Error::other(h2::Error::from(h2::Reason::INTERNAL_ERROR));
        assert_eq!(end(&own, Phase::Body), End::Broken(Phase::Body));
    }
}
