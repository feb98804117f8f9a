use super::*;

#[test]
fn r34_every_way_to_write_an_inner_address_is_prohibited() {
    for (address, word) in [
        ("0.0.0.0", "unspecified"),
        ("10.0.0.1", "private"),
        ("10.255.255.255", "private"),
        ("172.16.0.1", "private"),
        ("172.31.255.255", "private"),
        ("192.168.1.1", "private"),
        ("127.0.0.1", "loopback"),
        ("127.255.255.254", "loopback"),
        ("169.254.169.254", "link-local"),
        ("100.64.0.1", "carrier-grade NAT"),
        ("100.127.255.255", "carrier-grade NAT"),
        ("198.18.0.1", "reserved"),
        ("224.0.0.1", "multicast"),
        ("255.255.255.255", "reserved"),
        ("::", "unspecified"),
        ("::1", "loopback"),
        ("::ffff:127.0.0.1", "loopback"),
        ("::ffff:10.1.2.3", "private"),
        ("::ffff:0:169.254.169.254", "link-local"),
        ("::127.0.0.1", "translated"),
        ("64:ff9b::10.0.0.1", "private"),
        ("64:ff9b:1::8.8.8.8", "translated"),
        ("2002:7f00:1::", "loopback"),
        ("2002:a00:1::1", "private"),
        ("2001:0:1::1", "translated"),
        ("fc00::1", "private"),
        ("fd12:3456::1", "private"),
        ("fe80::1", "link-local"),
        ("fec0::1", "private"),
        ("ff02::1", "multicast"),
    ] {
        assert_eq!(prohibited(address.parse().unwrap()), Some(word), "{address}");
    }
}

#[test]
fn r34_neighbours_of_the_ranges_and_public_addresses_are_allowed() {
    for address in [
        "1.1.1.1",
        "9.255.255.255",
        "11.0.0.0",
        "100.63.255.255",
        "100.128.0.0",
        "126.255.255.255",
        "128.0.0.0",
        "169.253.255.255",
        "172.15.255.255",
        "172.32.0.0",
        "192.167.255.255",
        "192.169.0.0",
        "223.255.255.255",
        "2606:4700::1111",
        "::ffff:1.1.1.1",
        "64:ff9b::1.1.1.1",
        "2002:101:101::1",
        "2001:4860::1",
    ] {
        assert_eq!(prohibited(address.parse().unwrap()), None, "{address}");
    }
}

#[test]
fn r34_only_a_url_that_says_the_address_itself_is_taken_at_its_word() {
    for url in
        ["http://127.0.0.1:9001", "grpc://10.1.2.3:1", "grpcs://[::1]/", "http://localhost:1", "grpc://a.localhost"]
    {
        assert!(says_prohibited(&Url::parse(url).unwrap()), "{url}");
    }
    for url in ["https://registry.example", "http://1.1.1.1", "http://localhost.example", "http://[2606:4700::1111]/"] {
        assert!(!says_prohibited(&Url::parse(url).unwrap()), "{url}");
    }
}
