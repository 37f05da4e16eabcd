//! The document as a whole, and its way to and from JSON.

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use thiserror::Error;

use super::{Comparison, Environment, Number, Outcome, Test, Timestamp, migrate};

/// Name of the schema, in the field `schema`.
pub const SCHEMA: &str = "linerate.result";

/// Version of the schema, in the field `version`.
pub const VERSION: u32 = 2;

/// One run: the whole of `result.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunResult {
    /// Always [`SCHEMA`].
    schema: Schema,
    /// Always [`VERSION`].
    version: Version,
    /// Identifies the run; the frames it sent carry it too.
    pub run_id: String,
    /// The command line, one element an argument, the program first.
    pub command_line: Vec<String>,
    /// When the run started, UTC by the host's clock.
    pub start: Timestamp,
    /// How long the run took, seconds.
    pub elapsed_s: Number,
    /// How the run ended.
    pub outcome: Outcome,
    /// Why the outcome is not `pass`, a line each.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The signal that ended the run early; `null` when none did.
    #[serde(default)]
    pub signal: Option<u8>,
    /// The machine.
    #[serde(default)]
    pub environment: Environment,
    /// The tests in the order they ran, the skipped ones too.
    #[serde(default)]
    pub tests: Vec<Test>,
    /// Values of this run beside published and peers' figures.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
}

/// A text that is no result this version can read.
#[derive(Debug, Error)]
pub enum LoadError {
    /// Another schema, or another version of this one.
    #[error(
        "result is schema {found}, this linerate reads {SCHEMA} versions 1 to {VERSION}: use the linerate that wrote it"
    )]
    Schema {
        /// Schema and version found, printable and short.
        found: String,
    },
    /// Not JSON, or a field is missing or of another type.
    #[error("result is not a {SCHEMA} document: {0}")]
    Malformed(#[from] serde_json::Error),
}

impl RunResult {
    /// A run that started at `start` and has neither tests nor environment yet; it is `partial` until told otherwise.
    #[must_use]
    pub fn new(run_id: String, command_line: Vec<String>, start: Timestamp) -> Self {
        Self {
            schema: Schema,
            version: Version,
            run_id,
            command_line,
            start,
            elapsed_s: Number::UNKNOWN,
            outcome: Outcome::Partial,
            reasons: Vec::new(),
            signal: None,
            environment: Environment::default(),
            tests: Vec::new(),
            comparisons: Vec::new(),
        }
    }

    /// The process's exit code: 128 + the signal if one ended the run, otherwise the outcome's.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.signal.map_or(self.outcome.exit_code(), |signal| 128u8.saturating_add(signal))
    }

    /// What failed, a line each, its test's id before it.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let of =
            |test: &Test| test.failures.iter().map(|failure| format!("{}: {failure}", test.id)).collect::<Vec<_>>();
        self.tests.iter().flat_map(of)
    }

    /// The document as indented JSON with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut text = serde_json::to_string_pretty(self).expect("maps have string keys and no serializer here fails");
        text.push('\n');
        text
    }

    /// The document as one line of JSON with a final newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        let mut text = serde_json::to_string(self).expect("maps have string keys and no serializer here fails");
        text.push('\n');
        text
    }

    /// Reads a document, of an older version too.
    ///
    /// # Errors
    /// [`LoadError::Schema`] names what was found and what is read; [`LoadError::Malformed`] says where the text is wrong.
    pub fn from_json(text: &str) -> Result<Self, LoadError> {
        let mut document: serde_json::Value = serde_json::from_str(text)?;
        let [schema, version] = ["schema", "version"].map(|name| document.get(name).cloned().unwrap_or_default());
        match version.as_u64().filter(|_| schema == SCHEMA) {
            // From the text, so that an error says where it is.
            Some(version) if version == u64::from(VERSION) => Ok(serde_json::from_str(text)?),
            Some(1) => {
                migrate::document(&mut document);
                document["version"] = VERSION.into();
                Ok(serde_json::from_value(document)?)
            }
            _ => {
                let schema = schema.as_str().map_or_else(|| schema.to_string(), str::to_owned);
                let found = format!("{schema} version {version}");
                let found = found.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c }).take(80).collect();
                Err(LoadError::Schema { found })
            }
        }
    }
}

/// Writes [`SCHEMA`] and reads nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Schema;

impl Serialize for Schema {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(SCHEMA)
    }
}

impl<'de> Deserialize<'de> for Schema {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = String::deserialize(deserializer)?;
        if found == SCHEMA { Ok(Self) } else { Err(D::Error::custom(format!("schema {found:?} is not {SCHEMA}"))) }
    }
}

/// Writes [`VERSION`] and reads nothing else.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Version;

impl Serialize for Version {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(VERSION)
    }
}

impl<'de> Deserialize<'de> for Version {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let found = u32::deserialize(deserializer)?;
        if found == VERSION { Ok(Self) } else { Err(D::Error::custom(format!("version {found} is not {VERSION}"))) }
    }
}
