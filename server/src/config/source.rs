//! Where settings come from, lowest first: the file, `FUSEBOARD_SECTION__KEY` in the environment, flags; then `${VAR}`
//! inside the file's text.

use std::{
    collections::{BTreeMap, HashSet},
    io::ErrorKind,
    net::SocketAddr,
    path::{Path, PathBuf},
};

use toml::{Table, Value};

use super::{Config, DEFAULT_FILE, reader::ConfigError};

/// Where a configuration comes from; read at the start, and again on a reload.
#[derive(Debug, Clone, Default)]
pub struct Source {
    /// The file; [`DEFAULT_FILE`] when absent and it exists.
    pub file: Option<PathBuf>,
    /// The environment.
    pub env: Environment,
    /// What the command line says.
    pub flags: Flags,
}

impl Source {
    /// Reads and checks it.
    ///
    /// # Errors
    /// The file cannot be read, or the first field that cannot be used.
    pub fn read(&self) -> Result<Config, ConfigError> {
        let named = self.file.as_deref();
        let file = named.unwrap_or(Path::new(DEFAULT_FILE));
        let (text, file_read) = match std::fs::read_to_string(file) {
            Ok(text) => (text, Some(file.to_owned())),
            Err(error) if named.is_none() && error.kind() == ErrorKind::NotFound => (String::new(), None),
            Err(error) => return Err(ConfigError::new("", format!("{}: {error}", file.display()))),
        };
        let config = Config::load(&text, file, &self.env, &self.flags)?;
        Ok(Config { file: file_read, ..config })
    }
}

/// What the command line says.
#[derive(Debug, Clone, Default)]
pub struct Flags {
    /// `--upstream NAME=URL`: beside those of the file, or another address for one of them.
    pub upstreams: Vec<(String, String)>,
    /// `--gateway ADDR`.
    pub gateway: Option<SocketAddr>,
    /// `--admin ADDR`.
    pub admin: Option<SocketAddr>,
    /// `--store URL`.
    pub store: Option<String>,
}

/// The environment as pairs, so that a test brings its own.
pub type Environment = Vec<(String, String)>;

const PREFIX: &str = "FUSEBOARD_";

/// Reads the file's text; the message has line and column.
pub(super) fn parse(text: &str, name: &Path) -> Result<Table, ConfigError> {
    text.parse::<Table>()
        .map_err(|error| ConfigError::new("", format!("{}: {}", name.display(), redacted(&error, text))))
}

/// The parser quotes the line at fault, which may hold a secret: say where and why, not what.
fn redacted(error: &toml::de::Error, text: &str) -> String {
    let at = error.span().map_or(0, |span| span.start.min(text.len()));
    let before = text.get(..at).unwrap_or_default();
    let line = before.matches('\n').count() + 1;
    let column = before.rsplit('\n').next().map_or(0, |rest| rest.chars().count()) + 1;
    format!("line {line}, column {column}: {}", error.message())
}

/// What was filled from the environment, as it was written, by path: whoever shows the configuration shows that.
pub type Filled = BTreeMap<String, String>;

/// Replaces `${VAR}` in every text of the file; hands back which were filled.
pub(super) fn expand(table: &mut Table, env: &Environment) -> Result<Filled, ConfigError> {
    let mut filled = Filled::new();
    for (key, value) in table.iter_mut() {
        expand_value(key, value, env, &mut filled)?;
    }
    Ok(filled)
}

fn expand_value(path: &str, value: &mut Value, env: &Environment, filled: &mut Filled) -> Result<(), ConfigError> {
    match value {
        Value::String(text) if text.contains('$') => {
            let whole = expand_text(path, text, env)?;
            let written = std::mem::replace(text, whole);
            if written.contains("${") {
                filled.insert(path.to_owned(), written);
            }
        }
        Value::Array(values) => {
            for (at, value) in values.iter_mut().enumerate() {
                expand_value(&format!("{path}[{at}]"), value, env, filled)?;
            }
        }
        Value::Table(table) => {
            for (key, value) in table.iter_mut() {
                expand_value(&format!("{path}.{key}"), value, env, filled)?;
            }
        }
        _ => {}
    }
    Ok(())
}

fn expand_text(path: &str, text: &str, env: &Environment) -> Result<String, ConfigError> {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find('$') {
        out.push_str(&rest[..at]);
        rest = &rest[at + 1..];
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some(after) = rest.strip_prefix('{') {
            let Some((name, after)) = after.split_once('}') else {
                return Err(ConfigError::new(path, "has a ${ without its }; it takes ${NAME}, or $$ for a dollar"));
            };
            let Some((_, value)) = env.iter().find(|(key, _)| key == name) else {
                return Err(ConfigError::new(
                    path,
                    format!("${{{name}}} is not in the environment; set it, or write $$ for a dollar"),
                ));
            };
            out.push_str(value);
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
    Ok(out)
}

/// Lays `FUSEBOARD_SECTION__KEY` over the file; hands back the paths it set. Only names with `__` are settings.
pub(super) fn overlay(table: &mut Table, env: &Environment) -> Result<HashSet<String>, ConfigError> {
    let mut set = HashSet::new();
    for (name, value) in env {
        let Some(key) = name.strip_prefix(PREFIX).filter(|key| key.contains("__")) else { continue };
        let key = key.to_lowercase();
        let parts: Vec<&str> = key.split("__").collect();
        let Some((last, sections)) = parts.split_last().filter(|_| parts.iter().all(|part| !part.is_empty())) else {
            return Err(ConfigError::new("", format!("{name}: is no setting; it takes {PREFIX}SECTION__KEY")));
        };
        let mut at = &mut *table;
        for section in sections {
            let entry = at.entry((*section).to_owned()).or_insert_with(|| Value::Table(Table::new()));
            at = entry.as_table_mut().ok_or_else(|| {
                ConfigError::new("", format!("{name}: {section} is no table; lists have no variable"))
            })?;
        }
        if at.get(*last).is_some_and(|old| old.is_array() || old.is_table()) {
            return Err(ConfigError::new("", format!("{name}: {last} is a list or table; those have no variable")));
        }
        at.insert((*last).to_owned(), Value::String(value.clone()));
        set.insert(parts.join("."));
    }
    Ok(set)
}

/// An upstream that `--upstream` named: nobody wrote its place in the list.
pub(super) struct Flagged {
    path: String,
    name: String,
    /// The file has none of this name: all of it is the flag's, not the address alone.
    whole: bool,
}

/// Whether a flag gave what stands at this path.
pub(super) fn flagged_url(path: &str, flagged: &[Flagged]) -> bool {
    flagged.iter().any(|one| path.strip_prefix(&*one.path) == Some(".url"))
}

/// Says of the flag what is at fault in what the flag gave.
pub(super) fn blame(error: ConfigError, flagged: &[Flagged]) -> ConfigError {
    for Flagged { path, name, whole } in flagged {
        let Some(key) = error.field.strip_prefix(path).and_then(|rest| rest.strip_prefix('.')) else { continue };
        let message = match key {
            "url" => error.message,
            key if *whole => format!("its {key} {}", error.message),
            _ => return error,
        };
        return ConfigError::new(format!("--upstream {name}=…"), message);
    }
    error
}

/// Lays the flags over everything; hands back where those for upstreams went.
pub(super) fn apply(table: &mut Table, flags: &Flags) -> Result<Vec<Flagged>, ConfigError> {
    let mut put = |section: &str, key: &str, value: String| {
        let entry = table.entry(section.to_owned()).or_insert_with(|| Value::Table(Table::new()));
        // Anything else is refused with its own message when it is read.
        if let Some(table) = entry.as_table_mut() {
            table.insert(key.to_owned(), Value::String(value));
        }
    };
    if let Some(address) = flags.gateway {
        put("gateway", "listen", address.to_string());
    }
    if let Some(address) = flags.admin {
        put("admin", "listen", address.to_string());
    }
    if let Some(url) = &flags.store {
        put("store", "url", url.clone());
    }
    let mut flagged = Vec::with_capacity(flags.upstreams.len());
    if flags.upstreams.is_empty() {
        return Ok(flagged);
    }
    let list = table.entry("upstream".to_owned()).or_insert_with(|| Value::Array(Vec::new()));
    let Some(list) = list.as_array_mut() else {
        return Err(ConfigError::new("upstream", "is no list; it takes [[upstream]] tables"));
    };
    for (at, (name, url)) in flags.upstreams.iter().enumerate() {
        if flags.upstreams[..at].iter().any(|(earlier, _)| earlier == name) {
            return Err(ConfigError::new("--upstream", format!("{name:?} is given twice; it takes each name once")));
        }
        let mut upstream = Table::new();
        upstream.insert("name".to_owned(), Value::String(name.clone()));
        upstream.insert("url".to_owned(), Value::String(url.clone()));
        // A flag for an upstream of the file changes its address and keeps the rest.
        let old = list.iter().position(|value| value.get("name").and_then(Value::as_str) == Some(name));
        let path = format!("upstream[{}]", old.unwrap_or(list.len()));
        flagged.push(Flagged { path, name: name.clone(), whole: old.is_none() });
        match old.and_then(|old| list[old].as_table_mut()) {
            Some(old) => drop(old.insert("url".to_owned(), Value::String(url.clone()))),
            None => list.push(Value::Table(upstream)),
        }
    }
    Ok(flagged)
}
