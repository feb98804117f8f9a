use super::*;

fn id(url: &str) -> String {
    breaker_id(&Url::parse(url).unwrap())
}

#[test]
fn r32_spellings_of_one_origin_share_an_id() {
    for url in [
        "https://registry.example",
        "https://REGISTRY.example:443/",
        "HTTPS://user:secret@registry.example/a?b=c#d",
        "https://registry.example:0443//x",
        "https://regi%73try.example",
    ] {
        assert_eq!(id(url), "https:registry.example", "{url}");
    }
    assert_eq!(id("http://127.0.0.1:9001/x"), "http:127.0.0.1:9001");
    assert_eq!(id("http://127.1:9001"), "http:127.0.0.1:9001");
    assert_eq!(id("http://0x7f.0.0.1:80"), "http:127.0.0.1");
    assert_eq!(id("https://b\u{fc}cher.example"), "https:xn--bcher-kva.example");
}

#[test]
fn r32_other_ports_and_schemes_are_other_breakers() {
    assert_eq!(id("http://registry.example"), "http:registry.example");
    assert_eq!(id("https://registry.example:8443"), "https:registry.example:8443");
    assert_eq!(id("http://registry.example:443"), "http:registry.example:443");
}

#[test]
fn r32_grpc_schemes_are_normalised_like_the_web_ones() {
    assert_eq!(id("grpc://[::1]:50051"), "grpc:[::1]:50051");
    assert_eq!(id("grpc://[0:0::1]:80/"), "grpc:[::1]");
    assert_eq!(id("grpcs://Accounts.Example:443"), "grpcs:accounts.example");
    assert_eq!(id("grpcs://accounts.example:80"), "grpcs:accounts.example:80");
}

#[test]
fn r39_user_info_and_query_values_are_never_written_down() {
    let uri: Uri = "https://ana:hunter2@registry.example/a/b?token=s3cret&page=2&s3cret&empty=&".parse().unwrap();
    let written = redact(&uri);
    assert_eq!(written, "https://registry.example/a/b?token=***&page=***&***&empty=***&");
    let path: Uri = "/a/b?x=s3cret=s3cret".parse().unwrap();
    assert_eq!(redact(&path), "/a/b?x=***");
    let bare: Uri = "/a/b".parse().unwrap();
    assert_eq!(redact_path(bare.path_and_query().unwrap()), "/a/b");
}

#[test]
fn r32_a_target_knows_its_host_header_and_port() {
    let target = Target::new(&Url::parse("grpcs://accounts.example/").unwrap(), false).unwrap();
    assert_eq!((target.port, target.https, &*target.id), (443, true, "grpcs:accounts.example"));
    assert_eq!(target.authority, "accounts.example");
    let target = Target::new(&Url::parse("http://[::1]:8080").unwrap(), false).unwrap();
    assert_eq!(target.authority, "[::1]:8080");
    assert!(matches!(target.host, Place::Address(IpAddr::V6(_))));
    assert!(target.is_spelled(&"http://[::1]:8080/x?y".parse().unwrap()));
    assert!(!target.is_spelled(&"https://[::1]:8080/x?y".parse().unwrap()));
    assert!(Target::new(&Url::parse("ftp://files.example").unwrap(), false).is_none());
    assert!(Target::new(&Url::parse("data:text/plain,x").unwrap(), false).is_none());
}
