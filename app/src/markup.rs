//! HTML as text, for what there is much of. Rows and lanes are written by one function for the server's page and for the
//! browser, which puts in place only what differs: a row of Leptos' own costs twenty effects, and there may be thousands.
//! Everything from outside goes through [`escaped`].

use std::fmt::{self, Display, Write};

/// Text as HTML text or as an attribute's value in double quotes.
pub struct Escaped<'a>(&'a str);

/// See [`Escaped`].
pub fn escaped(text: &str) -> Escaped<'_> {
    Escaped(text)
}

impl Display for Escaped<'_> {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut rest = self.0;
        while let Some(at) = rest.find(['&', '<', '>', '"', '\'']) {
            out.write_str(&rest[..at])?;
            out.write_str(match rest.as_bytes()[at] {
                b'&' => "&amp;",
                b'<' => "&lt;",
                b'>' => "&gt;",
                b'"' => "&quot;",
                _ => "&#39;",
            })?;
            rest = &rest[at + 1..];
        }
        out.write_str(rest)
    }
}

/// A length as a share of the axis, with the digits it needs: `12.5%`.
pub fn percent(out: &mut String, share: f64) {
    let thousandths = (share * 100_000.0).round() as i64;
    let _ = write!(out, "{}", thousandths / 1_000);
    let fraction = thousandths.rem_euclid(1_000);
    if fraction != 0 {
        let _ = write!(out, ".{}", format!("{fraction:03}").trim_end_matches('0'));
    }
    out.push('%');
}

/// JSON that may stand in a page's data block: nothing in it can end the block.
pub fn json_block(json: &str) -> String {
    json.replace('<', "\\u003c")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_from_outside_stays_text() {
        assert_eq!(escaped(r#"<b title="x">'&'"#).to_string(), "&lt;b title=&quot;x&quot;&gt;&#39;&amp;&#39;");
        assert_eq!(escaped("käse").to_string(), "käse");
        assert_eq!(json_block(r#"{"reason":"</script><b>"}"#), r#"{"reason":"\u003c/script>\u003cb>"}"#);
    }

    #[test]
    fn a_share_has_the_digits_it_needs() {
        let said = |share| {
            let mut out = String::new();
            percent(&mut out, share);
            out
        };
        assert_eq!([0.0, 0.125, 1.0, 0.000_01, 0.333_333].map(said), ["0%", "12.5%", "100%", "0.001%", "33.333%"]);
    }
}
