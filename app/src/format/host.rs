//! A breaker's id as people read it: what of it stays in a line that is too short, its owner's spelling, its page. Pure.

/// The longest end of a name that is kept whole, in characters: more has no room in a row.
const LONGEST_TAIL: usize = 24;

/// An id split where its middle may be left out: the scheme, what may shrink, and the end that always stays. That is the
/// last two labels of the name and the port; of labels that are too long for it the last one, or its last letters.
pub fn id_parts(id: &str) -> (&str, &str, &str) {
    let (scheme, host) = match id.split_once(':') {
        Some((scheme, host)) if matches!(scheme, "http" | "https" | "grpc" | "grpcs") => (&id[..=scheme.len()], host),
        _ => ("", id),
    };
    let name = port_at(host);
    let numeric = host[..name].bytes().all(|byte| byte.is_ascii_digit() || byte == b'.');
    if numeric || host.starts_with('[') {
        return (scheme, "", host);
    }
    let dots = || host[..name].rmatch_indices('.').map(|(dot, _)| dot);
    let fits = |at: usize| name - at <= LONGEST_TAIL;
    let two_labels = dots().nth(1).unwrap_or(0);
    let tail = [Some(two_labels), dots().next()].into_iter().flatten().find(|at| fits(*at));
    let tail = tail.unwrap_or_else(|| host.floor_char_boundary(name - LONGEST_TAIL / 2));
    (scheme, &host[..tail], &host[tail..])
}

/// Where a host's port begins, with its colon; the end where it has none.
pub fn port_at(host: &str) -> usize {
    let port = host.rfind(':').filter(|at| host[at + 1..].bytes().all(|byte| byte.is_ascii_digit()));
    port.filter(|_| !host.ends_with(']')).unwrap_or(host.len())
}

/// The host of an id as its owner writes it, where the id has it in ASCII (`xn--`): `bücher.example`.
pub fn unicode_host(id: &str) -> Option<String> {
    let host = id.split_once(':').map_or(id, |(_, host)| host);
    if !host.split('.').any(|label| label.starts_with("xn--")) {
        return None;
    }
    let (host, port) = host.split_at(host.rfind(':').unwrap_or(host.len()));
    let labels = host.split('.').map(|label| match label.strip_prefix("xn--") {
        Some(ascii) => punycode(ascii).unwrap_or_else(|| label.to_owned()),
        None => label.to_owned(),
    });
    Some(labels.collect::<Vec<_>>().join(".") + port)
}

/// A label behind its `xn--`, decoded (RFC 3492).
fn punycode(ascii: &str) -> Option<String> {
    const BASE: u32 = 36;
    const MIN: u32 = 1;
    const MAX: u32 = 26;
    let (plain, coded) = ascii.rsplit_once('-').unwrap_or(("", ascii));
    let mut out: Vec<char> = plain.chars().collect();
    let (mut code, mut at, mut bias) = (128_u32, 0_u32, 72_u32);
    let mut digits = coded.bytes().map(|byte| match byte {
        b'a'..=b'z' => Some(u32::from(byte - b'a')),
        b'0'..=b'9' => Some(u32::from(byte - b'0') + 26),
        _ => None,
    });
    while let Some(mut digit) = digits.next() {
        let before = at;
        let (mut weight, mut place) = (1_u32, BASE);
        loop {
            let value = digit?;
            at = at.checked_add(value.checked_mul(weight)?)?;
            let threshold = place.saturating_sub(bias).clamp(MIN, MAX);
            if value < threshold {
                break;
            }
            weight = weight.checked_mul(BASE - threshold)?;
            place += BASE;
            digit = digits.next()?;
        }
        let length = out.len() as u32 + 1;
        let mut delta = if before == 0 { at / 700 } else { (at - before) / 2 };
        delta += delta / length;
        let mut rounds = 0;
        while delta > (BASE - MIN) * MAX / 2 {
            delta /= BASE - MIN;
            rounds += BASE;
        }
        bias = rounds + (BASE - MIN + 1) * delta / (delta + 38);
        code = code.checked_add(at / length)?;
        at %= length;
        out.insert(at as usize, char::from_u32(code)?);
        at += 1;
    }
    Some(out.into_iter().collect())
}

/// The address of a breaker's page: the id as one path segment.
pub fn breaker_path(id: &str) -> String {
    let mut path = String::from("/breakers/");
    for byte in id.bytes() {
        if byte.is_ascii_alphanumeric() || b"-._~:".contains(&byte) {
            path.push(byte as char);
        } else {
            path.push_str(&format!("%{byte:02X}"));
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_keeps_its_scheme_domain_and_port() {
        assert_eq!(id_parts("https:files.eu.registry.example"), ("https:", "files.eu", ".registry.example"));
        assert_eq!(id_parts("https:registry.example:8443"), ("https:", "", "registry.example:8443"));
        assert_eq!(id_parts("http:127.0.0.1:9001"), ("http:", "", "127.0.0.1:9001"));
        assert_eq!(id_parts("grpc:[::1]:50051"), ("grpc:", "", "[::1]:50051"));
        assert_eq!(id_parts("accounts"), ("", "", "accounts"));
        let label = "xn--bcher-fr-mnchener-kindl-xyz";
        assert_eq!(id_parts(&format!("http:{label}.example")), ("http:", label, ".example"));
        assert_eq!(id_parts(&format!("http:{label}.example:81")), ("http:", label, ".example:81"));
        assert_eq!(
            id_parts("payments-of-the-whole-of-europe"),
            ("", "payments-of-the-who", "le-of-europe"),
            "a name without labels"
        );
    }

    #[test]
    fn a_host_in_ascii_is_read_as_its_owner_writes_it() {
        assert_eq!(unicode_host("https:xn--bcher-kva.example").as_deref(), Some("bücher.example"));
        assert_eq!(unicode_host("https:xn--fiqs8s:8443").as_deref(), Some("中国:8443"));
        assert_eq!(unicode_host("https:www.xn--fiqs8s").as_deref(), Some("www.中国"));
        assert_eq!(unicode_host("https:xn--a-.example").as_deref(), Some("a.example"));
        assert_eq!(unicode_host("https:xn--99999999999.example").as_deref(), Some("xn--99999999999.example"));
        assert_eq!(unicode_host("https:registry.example"), None);
    }

    #[test]
    fn an_address_holds_an_id_as_one_segment() {
        assert_eq!(breaker_path("https:registry.example"), "/breakers/https:registry.example");
        assert_eq!(breaker_path("grpc:[::1]:50051"), "/breakers/grpc:%5B::1%5D:50051");
    }
}
