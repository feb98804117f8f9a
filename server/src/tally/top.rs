//! The commonest of many texts in bounded room.

/// Longer texts are cut.
const LENGTH: usize = 200;

/// Counts texts in a fixed number of places. While there are fewer different texts than places the counts are exact; a
/// new one beyond takes the place of the rarest and its count, so a common one is never lost (the space-saving sketch).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Top {
    places: usize,
    counted: Vec<(Box<str>, u64)>,
}

impl Top {
    /// Room for this many texts.
    pub fn new(places: usize) -> Self {
        Self { places: places.max(1), counted: Vec::new() }
    }

    /// Counts one; an empty text is none.
    pub fn add(&mut self, text: &str) {
        let text = cut(text);
        if text.is_empty() {
            return;
        }
        if let Some((_, count)) = self.counted.iter_mut().find(|(known, _)| **known == *text) {
            *count += 1;
        } else if self.counted.len() < self.places {
            self.counted.push((text.into(), 1));
        } else if let Some(rarest) = self.counted.iter_mut().min_by_key(|(_, count)| *count) {
            *rarest = (text.into(), rarest.1 + 1);
        }
    }

    /// The commonest, most first.
    pub fn most(&self, limit: usize) -> Vec<(&str, u64)> {
        let mut all: Vec<(&str, u64)> = self.counted.iter().map(|(text, count)| (&**text, *count)).collect();
        all.sort_by(|a, b| b.1.cmp(&a.1).then(a.0.cmp(b.0)));
        all.truncate(limit);
        all
    }

    /// As the store keeps it.
    pub fn to_json(&self) -> String {
        serde_json::to_string(&self.most(self.places)).unwrap_or_default()
    }

    /// As the store kept it; what cannot be read is nothing.
    #[must_use]
    pub fn with_json(mut self, text: &str) -> Self {
        let stored: Vec<(Box<str>, u64)> = serde_json::from_str(text).unwrap_or_default();
        self.counted = stored.into_iter().take(self.places).collect();
        self
    }
}

fn cut(text: &str) -> &str {
    let mut end = text.len().min(LENGTH);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    &text[..end]
}
