//! What is common to the scanners of bodies.

/// A link longer than this is none.
pub(super) const LONGEST: usize = 8 * 1024;

/// Reads a body piece by piece and writes it out, links changed. Where the pieces are cut makes no difference.
pub(super) trait Scan: Send {
    /// Takes a piece; what cannot be judged yet is held back.
    fn push(&mut self, input: &[u8], out: &mut Vec<u8>);

    /// The body has ended: what was held back goes out as it is.
    fn finish(&mut self, out: &mut Vec<u8>);
}

#[cfg(test)]
pub(super) mod tests {
    use super::Scan;

    /// What becomes of a body that comes in one piece.
    pub(in crate::gateway::rewrite) fn whole<S: Scan>(make: impl Fn() -> S, body: &[u8]) -> Vec<u8> {
        apart(make, body, &[usize::MAX])
    }

    /// And of one that comes in pieces of these sizes, over and over.
    pub(in crate::gateway::rewrite) fn apart<S: Scan>(make: impl Fn() -> S, body: &[u8], sizes: &[usize]) -> Vec<u8> {
        let (mut scan, mut out, mut rest) = (make(), Vec::new(), body);
        for size in sizes.iter().cycle() {
            let (piece, after) = rest.split_at(rest.len().min(*size));
            scan.push(piece, &mut out);
            rest = after;
            if rest.is_empty() {
                break;
            }
        }
        scan.finish(&mut out);
        out
    }
}
