//! The health check that every gRPC server may answer: one question, one number back.

use bytes::Bytes;

/// Where it is asked.
pub(crate) const CHECK: &str = "/grpc.health.v1.Health/Check";
/// An answer is a few bytes long; more of it is not looked at.
const MOST: usize = 64;

/// `HealthCheckRequest { service }` with its prefix; the server as a whole when it is empty.
pub(crate) fn question(service: &str) -> Bytes {
    let mut message = Vec::with_capacity(service.len() + 3);
    if !service.is_empty() {
        message.push(0x0A);
        let mut length = service.len();
        while length >= 0x80 {
            message.push((length & 0x7F) as u8 | 0x80);
            length >>= 7;
        }
        message.push(length as u8);
        message.extend_from_slice(service.as_bytes());
    }
    let mut framed = vec![0];
    framed.extend(u32::try_from(message.len()).unwrap_or(u32::MAX).to_be_bytes());
    framed.extend(message);
    framed.into()
}

/// The answer as it comes in.
#[derive(Debug, Default)]
pub(crate) struct Answer(Vec<u8>);

impl Answer {
    /// More bytes.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        let room = MOST.saturating_sub(self.0.len());
        self.0.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }

    /// What `HealthCheckResponse` says, unless it is that it serves.
    pub(crate) fn not_serving(&self) -> Option<&'static str> {
        // The prefix, then field 1 as a number; a zero is left out.
        match self.0.get(5..) {
            Some([0x08, 1, ..]) => None,
            Some([0x08, 2, ..]) => Some("NOT_SERVING"),
            Some([0x08, 3, ..]) => Some("SERVICE_UNKNOWN"),
            _ => Some("UNKNOWN"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_question_is_what_protobuf_makes_of_it() {
        assert_eq!(question(""), [0, 0, 0, 0, 0].as_slice());
        assert_eq!(question("a.B"), [0, 0, 0, 0, 5, 0x0A, 3, b'a', b'.', b'B'].as_slice());
        let long = question(&"x".repeat(300));
        assert_eq!(long[..8], [0, 0, 0, 1, 0x2F, 0x0A, 0xAC, 0x02]);
    }

    #[test]
    fn the_answer_is_read_however_it_is_cut() {
        let said = |pieces: &[&[u8]]| {
            let mut answer = Answer::default();
            pieces.iter().for_each(|piece| answer.pass(piece));
            answer.not_serving()
        };
        assert_eq!(said(&[&[0, 0, 0], &[0, 2, 8], &[1]]), None);
        assert_eq!(said(&[&[0, 0, 0, 0, 2, 8, 2]]), Some("NOT_SERVING"));
        assert_eq!(said(&[&[0, 0, 0, 0, 2, 8, 3]]), Some("SERVICE_UNKNOWN"));
        assert_eq!(said(&[&[0, 0, 0, 0, 0]]), Some("UNKNOWN"));
        assert_eq!(said(&[]), Some("UNKNOWN"));
    }
}
