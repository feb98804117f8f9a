//! Holds an answer to the description in `/openapi.json`: as strict as JSON Schema, and stricter in one thing, a field the
//! schema does not name is a fault, for then nobody was told of it.

use serde_json::{Map, Value};

/// The description as served.
pub(crate) struct Description(Value);

impl Description {
    pub(crate) fn new(text: &str) -> Self {
        Self(serde_json::from_str(text).expect("a description"))
    }

    /// Every method and path in it.
    pub(crate) fn operations(&self) -> Vec<(String, String)> {
        let paths = self.0["paths"].as_object().expect("paths");
        let each = paths.iter().flat_map(|(path, item)| {
            item.as_object().expect("methods").keys().map(move |method| (method.to_uppercase(), path.clone()))
        });
        each.collect()
    }

    /// What is wrong with an answer; nothing when it is as described.
    pub(crate) fn faults(&self, method: &str, path: &str, status: u16, kind: &str, body: &str) -> Vec<String> {
        let operation = &self.0["paths"][path][method.to_lowercase()];
        if operation.is_null() {
            return vec![format!("{method} {path} is not described")];
        }
        let response = &operation["responses"][status.to_string()];
        if response.is_null() {
            return vec![format!("{method} {path} does not say that it answers {status}")];
        }
        let content = response["content"].as_object();
        let essence = kind.split(';').next().unwrap_or_default();
        let Some(schema) = content.and_then(|content| content.get(essence)).map(|media| &media["schema"]) else {
            return vec![format!("{method} {path} does not say that {status} is {essence}")];
        };
        if essence != "application/json" && !essence.ends_with("+json") {
            return Vec::new();
        }
        let value: Value = match serde_json::from_str(body) {
            Ok(value) => value,
            Err(error) => return vec![format!("{method} {path}: {error} in {body}")],
        };
        let mut faults = Vec::new();
        self.check(schema, &value, "$", &mut faults);
        faults.iter().map(|fault| format!("{method} {path} {status}: {fault}")).collect()
    }

    fn resolve<'a>(&'a self, schema: &'a Value) -> &'a Value {
        match schema["$ref"].as_str() {
            Some(place) => {
                let found = self.0.pointer(place.trim_start_matches('#')).unwrap_or(&Value::Null);
                assert!(!found.is_null(), "{place} is nowhere in the description");
                self.resolve(found)
            }
            None => schema,
        }
    }

    fn check(&self, schema: &Value, value: &Value, at: &str, faults: &mut Vec<String>) {
        let schema = self.resolve(schema);
        if let Some(variants) = schema["oneOf"].as_array().or_else(|| schema["anyOf"].as_array()) {
            let fits = |variant: &Value| {
                let mut found = Vec::new();
                self.check(variant, value, at, &mut found);
                found.is_empty()
            };
            if !variants.iter().any(fits) {
                faults.push(format!("{at} is {value}, which fits none of its forms"));
            }
            return;
        }
        if let Some(kinds) = kinds(schema)
            && !kinds.iter().any(|kind| is(kind, value))
        {
            faults.push(format!("{at} is {value} and should be {}", kinds.join(" or ")));
            return;
        }
        if let Some(words) = schema["enum"].as_array()
            && !words.contains(value)
        {
            faults.push(format!("{at} is {value}, which is none of its words"));
        }
        match value {
            Value::Array(items) => {
                for (index, item) in items.iter().enumerate() {
                    self.check(&schema["items"], item, &format!("{at}[{index}]"), faults);
                }
            }
            Value::Object(fields) => self.fields(schema, fields, at, faults),
            Value::Number(number) => {
                if schema["minimum"].as_f64().zip(number.as_f64()).is_some_and(|(least, number)| number < least) {
                    faults.push(format!("{at} is {number}, below its minimum"));
                }
            }
            Value::String(text) => {
                if schema["format"] == "date-time" && chrono::DateTime::parse_from_rfc3339(text).is_err() {
                    faults.push(format!("{at} is {text:?}, which is no time"));
                }
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn fields(&self, schema: &Value, fields: &Map<String, Value>, at: &str, faults: &mut Vec<String>) {
        let mut parts = Vec::new();
        self.parts(schema, &mut parts);
        // A schema that says nothing of fields takes any.
        let open = parts.iter().all(|part| part["properties"].is_null())
            || parts.iter().any(|part| !matches!(part["additionalProperties"], Value::Null | Value::Bool(false)));
        for (name, value) in fields {
            let known: Vec<_> =
                parts.iter().map(|part| &part["properties"][name]).filter(|one| !one.is_null()).collect();
            if known.is_empty() && !open {
                faults.push(format!("{at}.{name} is not described"));
            }
            for schema in known {
                self.check(schema, value, &format!("{at}.{name}"), faults);
            }
        }
        for name in parts.iter().flat_map(|part| part["required"].as_array().into_iter().flatten()) {
            let name = name.as_str().expect("a name");
            if !fields.contains_key(name) {
                faults.push(format!("{at}.{name} is missing"));
            }
        }
    }

    /// A schema with all it is made of.
    fn parts<'a>(&'a self, schema: &'a Value, parts: &mut Vec<&'a Value>) {
        let schema = self.resolve(schema);
        parts.push(schema);
        for part in schema["allOf"].as_array().into_iter().flatten() {
            self.parts(part, parts);
        }
    }
}

fn kinds(schema: &Value) -> Option<Vec<&str>> {
    match &schema["type"] {
        Value::String(kind) => Some(vec![kind]),
        Value::Array(kinds) => Some(kinds.iter().filter_map(Value::as_str).collect()),
        _ => None,
    }
}

fn is(kind: &str, value: &Value) -> bool {
    match kind {
        "null" => value.is_null(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_u64() || value.is_i64(),
        "number" => value.is_number(),
        "string" => value.is_string(),
        "array" => value.is_array(),
        _ => value.is_object(),
    }
}

#[test]
fn a_breach_is_seen() {
    let text = r##"{"paths": {"/x": {"get": {"responses": {"200": {"content": {"application/json": {"schema":
        {"$ref": "#/components/schemas/X"}}}}}}}}, "components": {"schemas": {"X": {"type": "object", "required": ["a"],
        "properties": {"a": {"type": "integer", "minimum": 0}, "b": {"oneOf": [{"type": "null"},
        {"type": "string", "enum": ["y"]}]}}}}}}"##;
    let description = Description::new(text);
    let faults = |status, body| description.faults("GET", "/x", status, "application/json", body).len();
    assert_eq!(faults(200, r#"{"a": 1}"#), 0);
    assert_eq!(faults(200, r#"{"a": 1, "b": "y"}"#), 0);
    for (status, body) in [
        (201, r#"{"a": 1}"#),
        (200, r#"{"a": -1}"#),
        (200, r#"{"a": "1"}"#),
        (200, r#"{}"#),
        (200, r#"{"a": 1, "b": "z"}"#),
        (200, r#"{"a": 1, "c": 1}"#),
        (200, "[]"),
        (200, "text"),
    ] {
        assert_eq!(faults(status, body), 1, "{status} {body}");
    }
    assert_eq!(description.operations(), [("GET".to_owned(), "/x".to_owned())]);
}
