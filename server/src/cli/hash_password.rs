//! `fuseboard hash-password`: so that no configuration holds a password.

use std::io::{self, IsTerminal, Read, Write};

use argon2::{
    Argon2,
    password_hash::{PasswordHasher, SaltString},
};

use super::{Failure, say};

/// The longest password taken: more is a mistake, as a file sent to the wrong command.
const LONGEST: usize = 1024;

pub(super) fn run() -> Result<(), Failure> {
    let mut stdin = io::stdin();
    let mut typed = Vec::new();
    let read = if stdin.is_terminal() {
        let _ = write!(io::stderr(), "Password (shown as it is typed), then Enter: ");
        io::BufRead::read_until(&mut stdin.lock(), b'\n', &mut typed)
    } else {
        stdin.by_ref().take(LONGEST as u64 + 3).read_to_end(&mut typed)
    };
    read.map_err(|error| Failure::Failed(format!("cannot read standard input: {error}")))?;
    say(&format!("{}\n", hash(password(&typed)?)?))
}

/// Without the line's end, which is nobody's password.
fn password(typed: &[u8]) -> Result<&[u8], Failure> {
    let line = typed.strip_suffix(b"\n").unwrap_or(typed);
    let line = line.strip_suffix(b"\r").unwrap_or(line);
    match line.len() {
        0 => Err(Failure::Usage("hash-password: standard input holds no password".into())),
        1..=LONGEST if !line.contains(&b'\n') => Ok(line),
        _ => Err(Failure::Usage(format!("hash-password: it takes one line of at most {LONGEST} bytes"))),
    }
}

fn hash(password: &[u8]) -> Result<String, Failure> {
    let failed = |error| Failure::Failed(format!("the password cannot be hashed: {error}"));
    let salt = SaltString::encode_b64(&rand::random::<[u8; 16]>()).map_err(failed)?;
    Ok(Argon2::default().hash_password(password, &salt).map_err(failed)?.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_password_is_one_line_without_its_end() {
        for typed in ["s3cret", "s3cret\n", "s3cret\r\n"] {
            assert_eq!(password(typed.as_bytes()).ok(), Some(&b"s3cret"[..]));
        }
        assert_eq!(password(b" s \n").ok(), Some(&b" s "[..]));
        let longest = "x".repeat(LONGEST);
        assert!(password(longest.as_bytes()).is_ok());
        for refused in ["", "\n", "\r\n", "two\nlines\n", &format!("{longest}x")] {
            assert!(matches!(password(refused.as_bytes()), Err(Failure::Usage(_))), "{refused:?}");
        }
    }
}
