//! Counts in fixed logarithmic buckets: eight per doubling, so a value read back is within 7 % of what went in.
//! Histograms merge by adding, whoever wrote them and whenever; percentiles are only ever computed from them.

use std::time::Duration;

/// Sub-buckets per doubling, as a power of two.
const PRECISION: u32 = 3;
const PER_DOUBLING: u64 = 1 << PRECISION;
/// The first byte of the stored form, should the buckets ever change.
const FORMAT: u8 = 1;

/// Latencies as counts; only buckets that were hit take space.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Histogram {
    /// Sorted by bucket.
    counts: Vec<(u16, u64)>,
}

impl Histogram {
    /// Counts one latency.
    pub fn add(&mut self, latency: Duration) {
        self.add_many(bucket(u64::try_from(latency.as_micros()).unwrap_or(u64::MAX)), 1);
    }

    /// Adds everything another one counted.
    pub fn merge(&mut self, other: &Self) {
        for &(bucket, count) in &other.counts {
            self.add_many(bucket, count);
        }
    }

    /// The latency that the share `quantile` of calls stayed below, in ms; `None` without data.
    pub fn quantile_ms(&self, quantile: f64) -> Option<f64> {
        let total: u64 = self.counts.iter().map(|(_, count)| count).sum();
        if total == 0 {
            return None;
        }
        let rank = ((total as f64 * quantile).ceil() as u64).clamp(1, total);
        let mut seen = 0;
        let hit = self.counts.iter().find(|(_, count)| {
            seen += count;
            seen >= rank
        })?;
        Some(middle_micros(hit.0) / 1_000.0)
    }

    /// Whether nothing was counted.
    pub fn is_empty(&self) -> bool {
        self.counts.is_empty()
    }

    /// The stored form: a format byte, then pairs of bucket step and count as variable-length integers.
    pub fn to_bytes(&self) -> Vec<u8> {
        if self.counts.is_empty() {
            return Vec::new();
        }
        let mut out = vec![FORMAT];
        let mut last = 0;
        for &(bucket, count) in &self.counts {
            push_number(&mut out, u64::from(bucket - last));
            push_number(&mut out, count);
            last = bucket;
        }
        out
    }

    /// Reads the stored form back; what cannot be read counts as no data.
    pub fn from_bytes(bytes: &[u8]) -> Self {
        Self::parse(bytes).unwrap_or_default()
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let Some((&format, mut rest)) = bytes.split_first() else { return Some(Self::default()) };
        if format != FORMAT {
            return None;
        }
        let mut read = Self::default();
        let mut bucket = 0u16;
        while !rest.is_empty() {
            bucket = bucket.checked_add(u16::try_from(take_number(&mut rest)?).ok()?)?;
            let count = take_number(&mut rest)?;
            read.add_many(bucket, count);
        }
        Some(read)
    }

    fn add_many(&mut self, bucket: u16, count: u64) {
        match self.counts.binary_search_by_key(&bucket, |&(bucket, _)| bucket) {
            Ok(at) => self.counts[at].1 = self.counts[at].1.saturating_add(count),
            Err(at) => self.counts.insert(at, (bucket, count)),
        }
    }
}

/// Values below `PER_DOUBLING` have a bucket each; above, the top bits choose it.
fn bucket(micros: u64) -> u16 {
    if micros < PER_DOUBLING {
        return micros as u16;
    }
    let shift = micros.ilog2() - PRECISION;
    let top = micros >> shift;
    (u64::from(shift) * PER_DOUBLING + top) as u16
}

fn middle_micros(bucket: u16) -> f64 {
    let bucket = u64::from(bucket);
    if bucket < 2 * PER_DOUBLING {
        return bucket as f64;
    }
    let shift = bucket / PER_DOUBLING - 1;
    let low = (bucket - shift * PER_DOUBLING) as f64;
    (low + 0.5) * 2f64.powi(i32::try_from(shift).unwrap_or(i32::MAX))
}

fn push_number(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push((number as u8) | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn take_number(bytes: &mut &[u8]) -> Option<u64> {
    let mut number = 0u64;
    for shift in (0..64).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_reads_back_within_seven_percent() {
        for micros in [0, 1, 7, 8, 9, 15, 16, 17, 999, 12_345, 1_000_000, 59_999_999, 3_600_000_000] {
            let mut one = Histogram::default();
            one.add(Duration::from_micros(micros));
            let read = one.quantile_ms(0.5).unwrap() * 1_000.0;
            assert!((read - micros as f64).abs() <= 0.07 * micros as f64, "{micros} µs read back as {read}");
        }
    }

    #[test]
    fn buckets_grow_with_the_value_and_never_skip() {
        let mut last = 0;
        for micros in 0..100_000u64 {
            let now = bucket(micros);
            assert!(now == last || now == last + 1, "{micros} µs jumps from bucket {last} to {now}");
            last = now;
        }
        assert!(bucket(u64::MAX) > last);
    }

    #[test]
    fn percentiles_count_calls_not_buckets() {
        let mut many = Histogram::default();
        for _ in 0..94 {
            many.add(Duration::from_millis(10));
        }
        for _ in 0..6 {
            many.add(Duration::from_millis(400));
        }
        let (p50, p94, p95) = (many.quantile_ms(0.5), many.quantile_ms(0.94), many.quantile_ms(0.95));
        assert!((9.3..=10.7).contains(&p50.unwrap()), "{p50:?}");
        assert_eq!(p94, p50);
        assert!((372.0..=428.0).contains(&p95.unwrap()), "{p95:?}");
        assert_eq!(Histogram::default().quantile_ms(0.5), None);
    }

    #[test]
    fn stored_halves_merge_into_the_whole() {
        let (mut whole, mut left, mut right) = (Histogram::default(), Histogram::default(), Histogram::default());
        for step in 0..5_000u64 {
            let latency = Duration::from_micros(step * step % 700_001);
            whole.add(latency);
            if step % 3 == 0 { &mut left } else { &mut right }.add(latency);
        }
        let mut merged = Histogram::from_bytes(&left.to_bytes());
        merged.merge(&Histogram::from_bytes(&right.to_bytes()));
        assert_eq!(merged, whole);
        assert!(whole.to_bytes().len() < 400, "{} bytes", whole.to_bytes().len());
    }

    #[test]
    fn damaged_bytes_are_no_data() {
        assert!(Histogram::from_bytes(&[]).is_empty());
        assert!(Histogram::from_bytes(&[9, 1, 1]).is_empty());
        assert!(Histogram::from_bytes(&[FORMAT, 0xff]).is_empty());
        assert!(Histogram::from_bytes(&[FORMAT, 0xff, 0xff, 0xff, 0x7f, 1]).is_empty());
    }
}
