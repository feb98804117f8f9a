//! What is wrong with a file, in words: what somebody can mend who knows nothing of databases.

use std::borrow::Cow;

/// SQLite's primary result code, the low byte of what it answers.
pub(super) fn code(error: &sqlx::Error) -> Option<i32> {
    let code = error.as_database_error()?.code()?.parse::<i32>().ok()?;
    Some(code & 0xff)
}

/// What the file, its disk or another program does to us; nothing where the fault is our own.
pub fn of(error: &sqlx::Error) -> Option<Cow<'static, str>> {
    if let sqlx::Error::Io(error) = error {
        return Some(error.to_string().into());
    }
    if matches!(error, sqlx::Error::PoolTimedOut) {
        return Some("too much is asked of it at once".into());
    }
    Some(match code(error)? {
        5 | 6 => "locked by another process".into(),
        8 => "the file is read-only".into(),
        10 => format!("reading or writing the file failed: {error}").into(),
        11 | 26 => format!("the file is damaged: {error}").into(),
        13 => "disk full".into(),
        14 => "the file is gone or cannot be opened".into(),
        _ => return None,
    })
}
