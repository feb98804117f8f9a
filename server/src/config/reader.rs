//! Reads one table key by key. Each message names the field by its full path and says what it takes; a key nobody asked
//! for is refused.

use std::{collections::HashSet, fmt, net::SocketAddr, rc::Rc, time::Duration};

use toml::{Table, Value};
use url::Url;

/// A setting that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The field's full path, as in `upstream[0].timeouts.connect`.
    pub field: String,
    /// What is wrong and what it takes.
    pub message: String,
}

impl ConfigError {
    /// An error at a field.
    pub fn new(field: impl Into<String>, message: impl Into<String>) -> Self {
        Self { field: field.into(), message: message.into() }
    }

    /// The same with more to say.
    pub(super) fn adding(mut self, more: &str) -> Self {
        self.message.push_str(more);
        self
    }
}

impl fmt::Display for ConfigError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.field.is_empty() {
            return out.write_str(&self.message);
        }
        write!(out, "{}: {}", self.field, self.message)
    }
}

impl std::error::Error for ConfigError {}

/// One table, each key taken once.
pub(super) struct Section {
    path: String,
    table: Table,
    known: Vec<&'static str>,
    /// Paths whose value came from the environment: text that may stand for a number.
    from_env: Rc<HashSet<String>>,
}

/// One array's element or one key's value with its path.
pub(super) struct Item {
    pub(super) path: String,
    pub(super) value: Value,
    from_env: Rc<HashSet<String>>,
}

impl Section {
    pub(super) fn root(table: Table, from_env: HashSet<String>) -> Self {
        Self { path: String::new(), table, known: Vec::new(), from_env: Rc::new(from_env) }
    }

    /// The full path of a key.
    fn path_of(&self, key: &str) -> String {
        if self.path.is_empty() { key.to_owned() } else { format!("{}.{key}", self.path) }
    }

    /// An error at a key.
    pub(super) fn error(&self, key: &str, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.path_of(key), message)
    }

    /// An error at the table itself.
    pub(super) fn whole(&self, message: impl Into<String>) -> ConfigError {
        ConfigError::new(self.path.clone(), message)
    }

    pub(super) fn has(&self, key: &str) -> bool {
        self.table.contains_key(key)
    }

    pub(super) fn take(&mut self, key: &'static str) -> Option<Item> {
        self.known.push(key);
        let path = self.path_of(key);
        self.table.remove(key).map(|value| Item { path, value, from_env: self.from_env.clone() })
    }

    fn read<T>(
        &mut self,
        key: &'static str,
        read: impl FnOnce(Item) -> Result<T, ConfigError>,
    ) -> Result<Option<T>, ConfigError> {
        self.take(key).map(read).transpose()
    }

    pub(super) fn text(&mut self, key: &'static str) -> Result<Option<String>, ConfigError> {
        self.read(key, Item::text)
    }

    pub(super) fn duration(&mut self, key: &'static str, default: Duration) -> Result<Duration, ConfigError> {
        Ok(self.read(key, Item::duration)?.unwrap_or(default))
    }

    pub(super) fn maybe_duration(&mut self, key: &'static str) -> Result<Option<Duration>, ConfigError> {
        self.read(key, Item::duration)
    }

    pub(super) fn size(&mut self, key: &'static str, default: u64) -> Result<u64, ConfigError> {
        Ok(self.read(key, Item::size)?.unwrap_or(default))
    }

    pub(super) fn flag(&mut self, key: &'static str, default: bool) -> Result<bool, ConfigError> {
        Ok(self.read(key, Item::flag)?.unwrap_or(default))
    }

    pub(super) fn share(&mut self, key: &'static str) -> Result<Option<f64>, ConfigError> {
        self.read(key, Item::number)
    }

    /// A count that may be 0.
    pub(super) fn count_or_none(&mut self, key: &'static str) -> Result<Option<u32>, ConfigError> {
        self.read(key, |item| item.whole(0))
    }

    /// A count of at least 1.
    pub(super) fn count(&mut self, key: &'static str) -> Result<Option<u32>, ConfigError> {
        self.read(key, |item| item.whole(1))
    }

    pub(super) fn address(&mut self, key: &'static str) -> Result<Option<SocketAddr>, ConfigError> {
        self.read(key, Item::address)
    }

    pub(super) fn web_url(&mut self, key: &'static str) -> Result<Option<Url>, ConfigError> {
        self.read(key, Item::origin)
    }

    /// The table under a key; an empty one when it is absent.
    pub(super) fn section(&mut self, key: &'static str) -> Result<Section, ConfigError> {
        Ok(self.maybe_section(key)?.unwrap_or_else(|| Self {
            path: self.path_of(key),
            table: Table::new(),
            known: Vec::new(),
            from_env: self.from_env.clone(),
        }))
    }

    pub(super) fn maybe_section(&mut self, key: &'static str) -> Result<Option<Section>, ConfigError> {
        self.read(key, Item::section)
    }

    /// The elements of the array under a key; none when it is absent.
    pub(super) fn list(&mut self, key: &'static str) -> Result<Option<Vec<Item>>, ConfigError> {
        self.read(key, Item::list)
    }

    /// What is left, each key with its value: for tables whose keys are names.
    pub(super) fn into_named(self) -> Vec<(String, Item)> {
        let Self { path, table, from_env, .. } = self;
        let named = |(key, value)| {
            let path = if path.is_empty() { String::clone(&key) } else { format!("{path}.{key}") };
            (key, Item { path, value, from_env: from_env.clone() })
        };
        table.into_iter().map(named).collect()
    }

    /// Refuses what nobody asked for.
    pub(super) fn finish(self) -> Result<(), ConfigError> {
        let Some(key) = self.table.keys().next() else { return Ok(()) };
        let takes = if self.known.is_empty() {
            "nothing can be set here yet".to_owned()
        } else {
            format!("known here: {}", self.known.join(", "))
        };
        Err(self.error(key, format!("unknown key; {takes}")))
    }
}

impl Item {
    fn wrong(&self, takes: &str) -> ConfigError {
        let what = match self.value {
            Value::String(_) => "text",
            Value::Integer(_) => "a whole number",
            Value::Float(_) => "a number",
            Value::Boolean(_) => "true or false",
            Value::Datetime(_) => "a date",
            Value::Array(_) => "a list",
            Value::Table(_) => "a table",
        };
        ConfigError::new(self.path.clone(), format!("is {what}; it takes {takes}"))
    }

    /// Text from the environment that may stand for a number or a flag.
    fn env_text(&self) -> Option<&str> {
        self.value.as_str().filter(|_| self.from_env.contains(&self.path))
    }

    pub(super) fn text(self) -> Result<String, ConfigError> {
        match self.value {
            Value::String(text) if text.trim().is_empty() => {
                Err(ConfigError::new(self.path, "is empty; it takes text"))
            }
            Value::String(text) => Ok(text),
            _ => Err(self.wrong("text in quotes")),
        }
    }

    pub(super) fn duration(self) -> Result<Duration, ConfigError> {
        const TAKES: &str = "a duration in quotes such as \"500ms\", \"30s\", \"5m\" or \"90d\"";
        let Some(text) = self.value.as_str() else { return Err(self.wrong(TAKES)) };
        humantime::parse_duration(text)
            .map_err(|_| ConfigError::new(&*self.path, format!("{text:?} is no length of time; it takes {TAKES}")))
    }

    fn size(self) -> Result<u64, ConfigError> {
        const TAKES: &str = "a size in quotes such as \"64MB\", \"10GB\" or \"512KiB\"";
        let Some(text) = self.value.as_str() else { return Err(self.wrong(TAKES)) };
        parse_size(text).ok_or_else(|| ConfigError::new(&*self.path, format!("{text:?} is no size; it takes {TAKES}")))
    }

    fn flag(self) -> Result<bool, ConfigError> {
        let said = self.value.as_bool().or_else(|| self.env_text().and_then(|text| text.parse().ok()));
        said.ok_or_else(|| self.wrong("true or false"))
    }

    fn number(self) -> Result<f64, ConfigError> {
        let said = match &self.value {
            Value::Float(number) => Some(*number),
            #[expect(clippy::cast_precision_loss, reason = "a setting, far below 2^52")]
            Value::Integer(number) => Some(*number as f64),
            _ => self.env_text().and_then(|text| text.parse().ok()),
        };
        said.ok_or_else(|| self.wrong("a number such as 0.5"))
    }

    fn whole(self, least: u32) -> Result<u32, ConfigError> {
        let takes = format!("a whole number from {least} to {}", u32::MAX);
        let said = self.value.as_integer().or_else(|| self.env_text().and_then(|text| text.parse().ok()));
        let Some(number) = said else { return Err(self.wrong(&takes)) };
        u32::try_from(number)
            .ok()
            .filter(|number| *number >= least)
            .ok_or_else(|| ConfigError::new(&*self.path, format!("is {number}; it takes {takes}")))
    }

    /// A web address without anything behind host and port.
    pub(super) fn origin(self) -> Result<Url, ConfigError> {
        let path = self.path.clone();
        let url = parse_url(&path, &self.text()?, &["http", "https"])?;
        if url.path() != "/" || url.query().is_some() || url.fragment().is_some() {
            return Err(ConfigError::new(path, "has a path; it takes scheme, host and port alone"));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(ConfigError::new(path, "holds a user or password; it takes scheme, host and port alone"));
        }
        Ok(url)
    }

    fn address(self) -> Result<SocketAddr, ConfigError> {
        let path = self.path.clone();
        let text = self.text()?;
        parse_address(&text).ok_or_else(|| {
            ConfigError::new(path, format!("{text:?} is no address; it takes ADDRESS:PORT such as \"127.0.0.1:8080\""))
        })
    }

    pub(super) fn section(self) -> Result<Section, ConfigError> {
        match self.value {
            Value::Table(table) => Ok(Section { path: self.path, table, known: Vec::new(), from_env: self.from_env }),
            _ => Err(self.wrong("a table")),
        }
    }

    fn list(self) -> Result<Vec<Item>, ConfigError> {
        match self.value {
            Value::Array(values) => Ok(values
                .into_iter()
                .enumerate()
                .map(|(at, value)| Item {
                    path: format!("{}[{at}]", self.path),
                    value,
                    from_env: self.from_env.clone(),
                })
                .collect()),
            _ => Err(self.wrong("a list")),
        }
    }
}

/// `ADDRESS:PORT`; `localhost` counts as 127.0.0.1.
pub(crate) fn parse_address(text: &str) -> Option<SocketAddr> {
    match text.strip_prefix("localhost:") {
        Some(port) => port.parse().ok().map(|port| SocketAddr::from(([127, 0, 0, 1], port))),
        None => text.parse().ok(),
    }
}

/// A URL with a host and one of these schemes. The message never repeats the text: it may hold a password.
pub(super) fn parse_url(path: &str, text: &str, schemes: &[&str]) -> Result<Url, ConfigError> {
    let takes = schemes.iter().map(|scheme| format!("{scheme}://HOST")).collect::<Vec<_>>().join(" or ");
    let url = Url::parse(text).map_err(|error| ConfigError::new(path, format!("{error}; it takes {takes}")))?;
    if !schemes.contains(&url.scheme()) || url.host_str().is_none_or(str::is_empty) {
        return Err(ConfigError::new(path, format!("is no web address; it takes {takes}")));
    }
    Ok(url)
}

fn parse_size(text: &str) -> Option<u64> {
    let text = text.trim();
    let digits = text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let unit: u64 = match unit.trim() {
        "B" => 1,
        "kB" | "KB" => 1000,
        "MB" => 1000 * 1000,
        "GB" => 1000 * 1000 * 1000,
        "KiB" => 1 << 10,
        "MiB" => 1 << 20,
        "GiB" => 1 << 30,
        _ => return None,
    };
    number.parse::<u64>().ok()?.checked_mul(unit)
}
