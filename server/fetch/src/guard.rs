//! Which addresses an upstream may lead to. A name, a redirect or a DNS answer must not turn the gateway into a way
//! into the network it stands in, so every resolved address is judged before a connection is made to it, whatever form
//! it is written in. The operator's own configured URL is the one exception.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::origin::web_url;

/// Why an address is off limits, as a word for the error; `None` when it may be connected to.
pub(crate) fn prohibited(address: IpAddr) -> Option<&'static str> {
    match address {
        IpAddr::V4(v4) => prohibited_v4(v4),
        IpAddr::V6(v6) => prohibited_v6(v6),
    }
}

fn prohibited_v4(address: Ipv4Addr) -> Option<&'static str> {
    match address.octets() {
        [0, ..] => Some("unspecified"),
        [127, ..] => Some("loopback"),
        [10, ..] | [172, 16..=31, ..] | [192, 168, ..] => Some("private"),
        [100, 64..=127, ..] => Some("carrier-grade NAT"),
        [169, 254, ..] => Some("link-local"),
        [192, 0, 0, _] | [198, 18..=19, ..] => Some("reserved"),
        [224..=239, ..] => Some("multicast"),
        [240..=255, ..] => Some("reserved"),
        _ => None,
    }
}

fn prohibited_v6(address: Ipv6Addr) -> Option<&'static str> {
    let embedded = |high: u16, low: u16| {
        let ([a, b], [c, d]) = (high.to_be_bytes(), low.to_be_bytes());
        prohibited_v4(Ipv4Addr::new(a, b, c, d))
    };
    match address.segments() {
        [0, 0, 0, 0, 0, 0, 0, 0] => Some("unspecified"),
        [0, 0, 0, 0, 0, 0, 0, 1] => Some("loopback"),
        // IPv4 in another coat is judged as what it is: mapped, translated (two forms), NAT64, 6to4.
        [0, 0, 0, 0, 0, 0xffff, high, low]
        | [0, 0, 0, 0, 0xffff, 0, high, low]
        | [0x64, 0xff9b, 0, 0, 0, 0, high, low]
        | [0x2002, high, low, ..] => embedded(high, low),
        // Forms nobody is reached by any more, and a NAT64 prefix of the local network's own.
        [0, 0, 0, 0, 0, 0, ..] | [0x2001, 0, ..] | [0x64, 0xff9b, 1, ..] => Some("translated"),
        [0xfc00..=0xfdff, ..] => Some("private"),
        [0xfe80..=0xfebf, ..] => Some("link-local"),
        [0xfec0..=0xfeff, ..] => Some("private"),
        [0xff00..=0xffff, ..] => Some("multicast"),
        _ => None,
    }
}

/// Whether a configured URL itself says such an address, which is the operator's word that it is meant.
pub fn says_prohibited(url: &Url) -> bool {
    // Under a scheme of its own an address reads as a name.
    match web_url(url).host() {
        Some(Host::Ipv4(v4)) => prohibited_v4(v4).is_some(),
        Some(Host::Ipv6(v6)) => prohibited_v6(v6).is_some(),
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.');
            name == "localhost" || name.ends_with(".localhost")
        }
        None => false,
    }
}

#[cfg(test)]
mod tests;
