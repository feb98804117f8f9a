//! Commands that need no server.

use argon2::{
    Argon2,
    password_hash::{PasswordHash, PasswordVerifier},
};

use crate::support::process::{run, run_with};

#[tokio::test]
async fn a_password_becomes_a_hash_that_knows_it() {
    let folder = tempfile::tempdir().expect("a folder");
    let hashed = async |typed: &str| run_with(folder.path(), &["hash-password"], &[], typed).await;
    let (code, first, error) = hashed("correct horse\n").await;
    assert_eq!((code, error.as_str()), (Some(0), ""));
    let (_, second, _) = hashed("correct horse").await;
    assert_ne!(first, second, "each has a salt of its own");
    for printed in [&first, &second] {
        let hash = PasswordHash::new(printed.trim_end()).expect("a PHC string");
        assert_eq!(hash.algorithm.as_str(), "argon2id");
        assert!(Argon2::default().verify_password(b"correct horse", &hash).is_ok());
        assert!(Argon2::default().verify_password(b"correct horse\n", &hash).is_err());
        assert!(Argon2::default().verify_password(b"wrong horse", &hash).is_err());
    }
    let (code, said, error) = hashed("\n").await;
    assert_eq!((code, said.as_str()), (Some(2), ""));
    assert!(error.contains("holds no password"), "{error}");
}

#[tokio::test]
async fn shells_are_told_what_there_is() {
    let folder = tempfile::tempdir().expect("a folder");
    for shell in ["bash", "zsh", "fish"] {
        let (code, script, error) = run(folder.path(), &["completions", shell]).await;
        assert_eq!((code, error.as_str()), (Some(0), ""));
        for word in ["force-open", "hash-password", "end-override", "ndjson"] {
            assert!(script.contains(word), "{shell}: {word}");
        }
    }
    let (code, _, error) = run(folder.path(), &["completions", "cmd"]).await;
    assert!(code == Some(2) && error.contains("zsh"), "{error}");
}
