//! Links in HTML as it streams by: `href` and `src` of start tags, as the HTML standard's tokenizer finds them. Text,
//! comments, scripts and every other attribute pass byte for byte. Of the page no more is held than one link.

use super::{
    entities::{escape, unescape},
    links::Links,
    scan::{LONGEST, Scan},
};

/// Names are compared up to this length; those that matter are shorter.
const NAME: usize = 16;

/// Elements whose content is text whatever it looks like, up to their end tag.
const RAW: [&[u8]; 8] = [b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes"];

/// The scanner.
pub(super) struct Html {
    links: Links,
    state: State,
    /// The tag's name, in lower case.
    tag: Vec<u8>,
    /// Whether it is an end tag.
    end: bool,
    /// The attribute's name, in lower case.
    attribute: Vec<u8>,
    /// The attribute's value so far, where it may be a link.
    held: Vec<u8>,
    /// A `<base>` was seen; only the first counts.
    based: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Text,
    /// After `<`, and after `</`.
    Open,
    EndOpen,
    /// After `<!`, with the dashes so far.
    Declaration {
        dashes: usize,
    },
    /// Whatever else begins with `<!`, `<?` or `</`; ends at `>`.
    Bogus,
    /// With the dashes that stand before; 3 and 4 are the start and a dash at it, where `>` ends a comment too.
    Comment {
        dashes: usize,
        bang: bool,
    },
    TagName,
    BeforeName,
    Name,
    AfterName,
    BeforeValue,
    /// In a value; the quote is 0 where there is none.
    Value {
        quote: u8,
        link: bool,
    },
    /// In the content of the element `tag` names, with so much of its end tag matched.
    Raw {
        matched: usize,
    },
    /// After `<plaintext>` nothing is markup.
    Plain,
}

impl Html {
    pub(super) fn new(links: Links) -> Self {
        Self {
            links,
            state: State::Text,
            tag: Vec::new(),
            end: false,
            attribute: Vec::new(),
            held: Vec::new(),
            based: false,
        }
    }

    /// One byte that is not copied in bulk.
    fn step(&mut self, byte: u8, out: &mut Vec<u8>) {
        if let State::Value { quote, link: true } = self.state {
            return self.value(byte, quote, out);
        }
        out.push(byte);
        self.state = match self.state {
            State::Text if byte == b'<' => State::Open,
            State::Open => match byte {
                b'!' => State::Declaration { dashes: 0 },
                b'/' => State::EndOpen,
                b'?' => State::Bogus,
                b'<' => State::Open,
                _ if byte.is_ascii_alphabetic() => self.begin(byte, false),
                _ => State::Text,
            },
            State::EndOpen => match byte {
                b'>' => State::Text,
                _ if byte.is_ascii_alphabetic() => self.begin(byte, true),
                _ => State::Bogus,
            },
            State::Declaration { dashes } => match byte {
                b'-' if dashes == 1 => State::Comment { dashes: 3, bang: false },
                b'-' => State::Declaration { dashes: 1 },
                b'>' => State::Text,
                _ => State::Bogus,
            },
            State::Bogus if byte == b'>' => State::Text,
            State::Comment { dashes, bang } => match byte {
                b'-' if bang => State::Comment { dashes: 1, bang: false },
                b'-' => State::Comment { dashes: [1, 2, 2, 4, 2][dashes.min(4)], bang: false },
                b'>' if dashes >= 2 => State::Text,
                b'!' if dashes == 2 && !bang => State::Comment { dashes, bang: true },
                _ => State::Comment { dashes: 0, bang: false },
            },
            State::TagName => match byte {
                b'>' => self.close(),
                b'/' => State::BeforeName,
                _ if byte.is_ascii_whitespace() => State::BeforeName,
                _ => {
                    push_name(&mut self.tag, byte);
                    State::TagName
                }
            },
            State::BeforeName | State::AfterName => match byte {
                b'>' => self.close(),
                b'/' => State::BeforeName,
                b'=' if self.state == State::AfterName => State::BeforeValue,
                _ if byte.is_ascii_whitespace() => self.state,
                _ => {
                    self.attribute.clear();
                    push_name(&mut self.attribute, byte);
                    State::Name
                }
            },
            State::Name => match byte {
                b'>' => self.close(),
                b'/' => State::BeforeName,
                b'=' => State::BeforeValue,
                _ if byte.is_ascii_whitespace() => State::AfterName,
                _ => {
                    push_name(&mut self.attribute, byte);
                    State::Name
                }
            },
            State::BeforeValue => match byte {
                b'>' => self.close(),
                b'"' | b'\'' => State::Value { quote: byte, link: self.is_link() },
                _ if byte.is_ascii_whitespace() => State::BeforeValue,
                _ if self.is_link() => {
                    // Held like the rest of the value.
                    out.pop();
                    self.held.push(byte);
                    State::Value { quote: 0, link: true }
                }
                _ => State::Value { quote: 0, link: false },
            },
            State::Value { quote: 0, .. } if byte == b'>' => self.close(),
            State::Value { quote: 0, .. } if byte.is_ascii_whitespace() => State::BeforeName,
            State::Value { quote, .. } if quote != 0 && byte == quote => State::BeforeName,
            State::Raw { matched } => self.raw(byte, matched),
            same => same,
        };
    }

    fn begin(&mut self, byte: u8, end: bool) -> State {
        self.tag.clear();
        push_name(&mut self.tag, byte);
        self.end = end;
        State::TagName
    }

    /// The tag has ended.
    fn close(&mut self) -> State {
        if self.end {
            return State::Text;
        }
        match &*self.tag {
            b"plaintext" => State::Plain,
            tag if RAW.contains(&tag) => State::Raw { matched: 0 },
            _ => State::Text,
        }
    }

    fn is_link(&self) -> bool {
        !self.end && matches!(&*self.attribute, b"href" | b"src")
    }

    fn value(&mut self, byte: u8, quote: u8, out: &mut Vec<u8>) {
        let ended = if quote == 0 { byte == b'>' || byte.is_ascii_whitespace() } else { byte == quote };
        if !ended {
            self.held.push(byte);
            if self.held.len() > LONGEST {
                out.append(&mut self.held);
                self.state = State::Value { quote, link: false };
            }
            return;
        }
        self.link(out);
        out.push(byte);
        self.state = if quote == 0 && byte == b'>' { self.close() } else { State::BeforeName };
    }

    /// The link has ended.
    fn link(&mut self, out: &mut Vec<u8>) {
        let found = std::str::from_utf8(&self.held).ok().and_then(|raw| {
            let (text, ends) = unescape(raw);
            let splice = self.links.reference(&text);
            if self.tag == b"base" && self.attribute == b"href" && !std::mem::replace(&mut self.based, true) {
                self.links.rebase(&text);
            }
            let splice = splice?;
            let kept = if splice.cut == 0 { 0 } else { *ends.get(splice.cut - 1)? };
            Some([escape(&splice.with).as_bytes(), &self.held[kept..]].concat())
        });
        match found {
            Some(written) => out.extend_from_slice(&written),
            None => out.extend_from_slice(&self.held),
        }
        self.held.clear();
    }

    /// Waits for `</tag` and what ends a name.
    fn raw(&mut self, byte: u8, matched: usize) -> State {
        let expected = match matched {
            0 => Some(b'<'),
            1 => Some(b'/'),
            at => self.tag.get(at - 2).copied(),
        };
        match expected {
            Some(expected) if byte.to_ascii_lowercase() == expected => State::Raw { matched: matched + 1 },
            None if matches!(byte, b'>' | b'/') || byte.is_ascii_whitespace() => {
                self.end = true;
                if byte == b'>' { State::Text } else { State::BeforeName }
            }
            _ if byte == b'<' => State::Raw { matched: 1 },
            _ => State::Raw { matched: 0 },
        }
    }
}

/// Names longer than any that matters stay longer than any that matters.
fn push_name(name: &mut Vec<u8>, byte: u8) {
    if name.len() <= NAME {
        name.push(byte.to_ascii_lowercase());
    }
}

impl Scan for Html {
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>) {
        let mut rest = input;
        while let Some(&byte) = rest.first() {
            // Most of a page is one of these.
            let bulk = match self.state {
                State::Text | State::Raw { matched: 0 } => rest.iter().position(|byte| *byte == b'<'),
                State::Plain => None,
                _ => Some(0),
            };
            match bulk {
                Some(0) => {
                    self.step(byte, out);
                    rest = &rest[1..];
                }
                bulk => {
                    let (copied, after) = rest.split_at(bulk.unwrap_or(rest.len()));
                    out.extend_from_slice(copied);
                    rest = after;
                }
            }
        }
    }

    fn finish(&mut self, out: &mut Vec<u8>) {
        out.append(&mut self.held);
    }
}

#[cfg(test)]
mod tests;
