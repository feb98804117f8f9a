//! Character references in an attribute's value. Read are numbers and the names that a link may be hidden behind; any other
//! name stays as it is, which is how it goes out again.

use std::borrow::Cow;

const NAMED: [(&str, char); 14] = [
    ("amp;", '&'),
    ("AMP;", '&'),
    ("quot;", '"'),
    ("apos;", '\''),
    ("lt;", '<'),
    ("gt;", '>'),
    ("colon;", ':'),
    ("sol;", '/'),
    ("bsol;", '\\'),
    ("period;", '.'),
    ("commat;", '@'),
    ("num;", '#'),
    ("quest;", '?'),
    ("equals;", '='),
];

/// The text of a value, and for each of its bytes where in the value what stands for it ends.
pub(super) fn unescape(raw: &str) -> (String, Vec<usize>) {
    let mut text = String::with_capacity(raw.len());
    let mut ends = Vec::with_capacity(raw.len());
    let mut at = 0;
    while let Some(c) = raw[at..].chars().next() {
        let reference = if c == '&' { reference(&raw[at + 1..]) } else { None };
        let (c, length) = reference.map_or((c, c.len_utf8()), |(c, length)| (c, length + 1));
        at += length;
        text.push(c);
        ends.resize(text.len(), at);
    }
    (text, ends)
}

/// The character behind `&`, and how long its reference is.
fn reference(text: &str) -> Option<(char, usize)> {
    let Some(number) = text.strip_prefix('#') else {
        let (name, c) = NAMED.iter().find(|(name, _)| text.starts_with(name))?;
        return Some((*c, name.len()));
    };
    let (digits, radix) = match number.strip_prefix(['x', 'X']) {
        Some(hex) => (hex, 16),
        None => (number, 10),
    };
    let length = digits.bytes().take_while(|byte| char::from(*byte).is_digit(radix)).count();
    let code = u32::from_str_radix(&digits[..length], radix).ok()?;
    let c = char::from_u32(code).filter(|c| *c != '\0')?;
    let end = text.len() - digits.len() + length;
    Some((c, end + usize::from(text[end..].starts_with(';'))))
}

/// A link as it may stand in a value, between quotes or without.
pub(super) fn escape(link: &str) -> Cow<'_, str> {
    if !link.contains(['&', '"', '\'', '<', '>', '`']) {
        return Cow::Borrowed(link);
    }
    let escaped = link.replace('&', "&amp;").replace('"', "&quot;").replace('\'', "&#39;");
    Cow::Owned(escaped.replace('<', "&lt;").replace('>', "&gt;").replace('`', "&#96;"))
}
