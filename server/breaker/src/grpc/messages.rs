//! Messages counted as they pass: each is a byte for its compression, four for its length, and that many more.

/// Counts the messages of one direction, however the bytes are cut.
///
/// ```
/// use fuseboard_breaker::grpc::Messages;
///
/// let mut messages = Messages::default();
/// messages.pass(&[0, 0, 0, 0, 2, b'h']);
/// assert_eq!((messages.whole(), messages.is_partial()), (0, true));
/// messages.pass(b"i");
/// assert_eq!((messages.whole(), messages.is_partial()), (1, false));
/// ```
#[derive(Debug, Default)]
pub struct Messages {
    whole: u64,
    /// The prefix of the message that is passing, as far as it is there.
    prefix: [u8; 5],
    filled: usize,
    /// What is still to come of the message.
    left: usize,
}

impl Messages {
    /// How many passed whole.
    pub fn whole(&self) -> u64 {
        self.whole
    }

    /// Whether one has begun and is not whole yet.
    pub fn is_partial(&self) -> bool {
        self.filled > 0
    }

    /// More bytes.
    pub fn pass(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            if self.filled < self.prefix.len() {
                let take = bytes.len().min(self.prefix.len() - self.filled);
                self.prefix[self.filled..self.filled + take].copy_from_slice(&bytes[..take]);
                self.filled += take;
                bytes = &bytes[take..];
                if self.filled < self.prefix.len() {
                    return;
                }
                let [_, a, b, c, d] = self.prefix;
                self.left = u32::from_be_bytes([a, b, c, d]) as usize;
            }
            let take = bytes.len().min(self.left);
            self.left -= take;
            bytes = &bytes[take..];
            if self.left == 0 {
                self.whole += 1;
                self.filled = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize) -> Vec<u8> {
        let mut bytes = vec![0];
        bytes.extend(u32::try_from(length).unwrap().to_be_bytes());
        bytes.extend(vec![7; length]);
        bytes
    }

    #[test]
    fn messages_are_counted_however_they_are_cut() {
        let all: Vec<u8> = [0, 1, 300, 0, 5].into_iter().flat_map(message).collect();
        for cut in 1..=all.len() {
            let mut messages = Messages::default();
            for piece in all.chunks(cut) {
                messages.pass(piece);
            }
            assert_eq!(messages.whole(), 5, "cut every {cut}");
        }
    }

    #[test]
    fn one_that_is_not_whole_is_not_counted() {
        let mut messages = Messages::default();
        messages.pass(&message(3)[..7]);
        assert_eq!((messages.whole(), messages.is_partial()), (0, true));
        messages.pass(&message(3)[7..]);
        assert_eq!((messages.whole(), messages.is_partial()), (1, false));
    }
}
