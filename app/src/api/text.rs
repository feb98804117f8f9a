//! JSON read from text. The library's own codec reads it from bytes; a page's data and the feed are text, and one reader
//! for all three halves what reading costs in wasm.

use leptos::server_fn::{Bytes, ContentType, Decodes, Encodes, Format, FormatType, codec::Post};
use serde::{Serialize, de::DeserializeOwned, de::Error as _};

/// The answer of a function of the board.
pub type JsonText = Post<TextEncoding>;

/// JSON by way of text.
pub struct TextEncoding;

impl ContentType for TextEncoding {
    const CONTENT_TYPE: &'static str = "application/json";
}

impl FormatType for TextEncoding {
    const FORMAT_TYPE: Format = Format::Text;
}

impl<T: Serialize> Encodes<T> for TextEncoding {
    type Error = serde_json::Error;

    fn encode(output: &T) -> Result<Bytes, Self::Error> {
        serde_json::to_vec(output).map(Bytes::from)
    }
}

impl<T: DeserializeOwned> Decodes<T> for TextEncoding {
    type Error = serde_json::Error;

    fn decode(bytes: Bytes) -> Result<T, Self::Error> {
        serde_json::from_str(std::str::from_utf8(&bytes).map_err(serde_json::Error::custom)?)
    }
}
