//! Links in JSON as it streams by: strings that are values and links as a whole. Keys, numbers and every other string, the
//! hashes above all, pass byte for byte, and so does what is no JSON at all. Of the text no more is held than one link.

use super::{
    links::Links,
    scan::{LONGEST, Scan},
};

/// Nested deeper than this, nothing is touched any more.
const DEEPEST: usize = 1024;

/// The scanner.
pub(super) struct Json {
    links: Links,
    /// The key whose value may be a relative link.
    relative: Option<&'static [u8]>,
    state: State,
    /// Open containers; true for objects.
    open: Vec<bool>,
    /// The next string is a key.
    key_next: bool,
    /// The last key was `relative`.
    relative_next: bool,
    /// The string so far, without its quotes.
    held: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Between,
    /// In a string that is held; whether a backslash stands before.
    Held {
        escaped: bool,
    },
    /// In a string too long for a link.
    Long {
        escaped: bool,
    },
    /// Not understood.
    Lost,
}

impl Json {
    pub(super) fn new(links: Links, relative: Option<&'static [u8]>) -> Self {
        Self {
            links,
            relative,
            state: State::Between,
            open: Vec::new(),
            key_next: false,
            relative_next: false,
            held: Vec::new(),
        }
    }

    fn between(&mut self, byte: u8) {
        let in_object = || self.open.last().copied().unwrap_or(false);
        match byte {
            b'"' => self.state = State::Held { escaped: false },
            b'{' | b'[' if self.open.len() == DEEPEST => self.state = State::Lost,
            b'{' | b'[' => {
                self.open.push(byte == b'{');
                self.key_next = byte == b'{';
            }
            b'}' | b']' => {
                self.open.pop();
                self.key_next = false;
            }
            b',' => self.key_next = in_object(),
            b':' => self.key_next = false,
            _ => {}
        }
    }

    /// The string has ended.
    fn string(&mut self, out: &mut Vec<u8>) {
        if self.key_next {
            self.relative_next = self.relative.is_some_and(|key| key == self.held);
        } else if let Some(written) = self.link() {
            self.held.clear();
            out.extend_from_slice(&written);
        }
        out.append(&mut self.held);
    }

    fn link(&self) -> Option<Vec<u8>> {
        if !self.relative_next && !matches!(self.held.first(), Some(b'h' | b'H' | b'\\')) {
            return None;
        }
        let (text, ends) = unescape(&self.held)?;
        let splice = if self.relative_next { self.links.reference(&text) } else { self.links.absolute(&text) }?;
        let kept = match splice.cut {
            0 => 0,
            cut => *ends.get(cut - 1)?,
        };
        let with = splice.with.replace('\\', "\\\\").replace('"', "\\\"");
        Some([with.as_bytes(), &self.held[kept..]].concat())
    }
}

impl Scan for Json {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let mut rest = input;
        while let Some(&byte) = rest.first() {
            match self.state {
                State::Between => {
                    let end = rest.iter().position(|byte| *byte == b'"').map_or(rest.len(), |at| at + 1);
                    let mut read = 0;
                    while read < end && self.state == State::Between {
                        self.between(rest[read]);
                        read += 1;
                    }
                    out.extend_from_slice(&rest[..read]);
                    rest = &rest[read..];
                }
                State::Held { escaped: true } => {
                    self.held.push(byte);
                    self.state = State::Held { escaped: false };
                    rest = &rest[1..];
                }
                State::Long { escaped: true } => {
                    out.push(byte);
                    self.state = State::Long { escaped: false };
                    rest = &rest[1..];
                }
                State::Held { escaped: false } => {
                    let room = LONGEST - self.held.len().min(LONGEST);
                    let window = &rest[..rest.len().min(room + 1)];
                    let end = window.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                    match end.map(|end| (end, window[end])) {
                        Some((end, b'"')) => {
                            self.held.extend_from_slice(&rest[..end]);
                            self.string(out);
                            out.push(b'"');
                            self.state = State::Between;
                            rest = &rest[end + 1..];
                        }
                        Some((end, _)) => {
                            self.held.extend_from_slice(&rest[..=end]);
                            self.state = State::Held { escaped: true };
                            rest = &rest[end + 1..];
                        }
                        None => {
                            self.held.extend_from_slice(window);
                            rest = &rest[window.len()..];
                        }
                    }
                    if self.held.len() > LONGEST
                        && let State::Held { escaped } = self.state
                    {
                        // No key that matters, and no link, is as long.
                        self.relative_next &= !self.key_next;
                        out.append(&mut self.held);
                        self.state = State::Long { escaped };
                    }
                }
                State::Long { escaped: false } => {
                    let end = rest.iter().position(|byte| matches!(byte, b'"' | b'\\'));
                    let (read, state) = match end {
                        Some(end) if rest[end] == b'"' => (end + 1, State::Between),
                        Some(end) => (end + 1, State::Long { escaped: true }),
                        None => (rest.len(), self.state),
                    };
                    out.extend_from_slice(&rest[..read]);
                    self.state = state;
                    rest = &rest[read..];
                }
                State::Lost => {
                    out.extend_from_slice(rest);
                    return;
                }
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }
}

/// The text of a string, and for each of its bytes where in the string what stands for it ends. `None` when it is no string.
fn unescape(held: &[u8]) -> Option<(String, Vec<usize>)> {
    let held = std::str::from_utf8(held).ok()?;
    let mut text = String::with_capacity(held.len());
    let mut ends = Vec::with_capacity(held.len());
    let mut at = 0;
    while let Some(c) = held[at..].chars().next() {
        let (c, length) = if c == '\\' { escape(&held[at..])? } else { (c, c.len_utf8()) };
        at += length;
        text.push(c);
        ends.resize(text.len(), at);
    }
    Some((text, ends))
}

/// The character an escape stands for, and how long the escape is.
fn escape(text: &str) -> Option<(char, usize)> {
    let unit = |at: usize| {
        let digits = text.get(at..at + 4).filter(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()));
        digits.and_then(|digits| u32::from_str_radix(digits, 16).ok())
    };
    let plain = |c: char| Some((c, 2));
    match text.as_bytes().get(1)? {
        b'"' => plain('"'),
        b'\\' => plain('\\'),
        b'/' => plain('/'),
        b'b' => plain('\u{8}'),
        b'f' => plain('\u{c}'),
        b'n' => plain('\n'),
        b'r' => plain('\r'),
        b't' => plain('\t'),
        b'u' => match unit(2)? {
            high @ 0xd800..=0xdbff => {
                let low = text.get(6..8).filter(|low| *low == "\\u").and_then(|_| unit(8))?;
                let low = (0xdc00..=0xdfff).contains(&low).then(|| low - 0xdc00)?;
                Some((char::from_u32(0x10000 + ((high - 0xd800) << 10) + low)?, 12))
            }
            one => Some((char::from_u32(one)?, 6)),
        },
        _ => None,
    }
}

#[cfg(test)]
mod tests;
