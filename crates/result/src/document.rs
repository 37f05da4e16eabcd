//! The result document, and its conversion to and from JSON.

use linerate_text::{escaped, plain};
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
    /// Time at which the run started, UTC by the host's clock.
    pub start: Timestamp,
    /// Duration of the run, seconds.
    pub elapsed_s: Number,
    pub outcome: Outcome,
    /// Reasons why the outcome is not `pass`, one per line.
    #[serde(default)]
    pub reasons: Vec<String>,
    /// The signal that ended the run early; `null` when none did.
    #[serde(default)]
    pub signal: Option<u8>,
    /// The machine that the run was made on.
    #[serde(default)]
    pub environment: Environment,
    /// The tests in the order in which they ran, including the skipped ones.
    #[serde(default)]
    pub tests: Vec<Test>,
    /// Values of this run beside published figures and peers' figures.
    #[serde(default)]
    pub comparisons: Vec<Comparison>,
}

/// Error when a text is not a result that this version can read.
#[derive(Debug, Error)]
pub enum LoadError {
    /// The document has another schema or an unsupported version.
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
    /// Makes the result of a run that started at `start`, without tests and environment; its outcome is `partial` until
    /// set.
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

    /// Exit code of the process: 128 + the signal if a signal ended the run, otherwise the outcome's code.
    #[must_use]
    pub fn exit_code(&self) -> u8 {
        self.signal.map_or(self.outcome.exit_code(), |signal| 128u8.saturating_add(signal))
    }

    /// All failures of the tests, one per line, each with its test's id in front.
    pub fn failures(&self) -> impl Iterator<Item = String> {
        let of =
            |test: &Test| test.failures.iter().map(|failure| format!("{}: {failure}", test.id)).collect::<Vec<_>>();
        self.tests.iter().flat_map(of)
    }

    /// The document as indented JSON with a final newline.
    #[must_use]
    pub fn to_json(&self) -> String {
        let text = serde_json::to_string_pretty(self).expect("maps have string keys and no serializer here fails");
        escaped(&text) + "\n"
    }

    /// The document as one line of JSON with a final newline.
    #[must_use]
    pub fn to_line(&self) -> String {
        let text = serde_json::to_string(self).expect("maps have string keys and no serializer here fails");
        escaped(&text) + "\n"
    }

    /// Reads a document of this version or an older one.
    ///
    /// # Errors
    /// [`LoadError::Schema`] names the schema that was found and the versions that can be read;
    /// [`LoadError::Malformed`] gives the position of the fault.
    pub fn from_json(text: &str) -> Result<Self, LoadError> {
        let mut document: serde_json::Value = serde_json::from_str(text)?;
        let [schema, version] = ["schema", "version"].map(|name| document.get(name).cloned().unwrap_or_default());
        match version.as_u64().filter(|_| schema == SCHEMA) {
            // Parsed from the text again, so that an error gives its line and column.
            Some(version) if version == u64::from(VERSION) => Ok(serde_json::from_str(text)?),
            Some(1) => {
                migrate::document(&mut document);
                document["version"] = VERSION.into();
                Ok(serde_json::from_value(document)?)
            }
            _ => {
                let schema = schema.as_str().map_or_else(|| schema.to_string(), str::to_owned);
                let found = format!("{schema} version {version}");
                let found = plain(&found).chars().take(80).collect();
                Err(LoadError::Schema { found })
            }
        }
    }
}

/// Serializes as [`SCHEMA`]; any other value is refused on reading.
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

/// Serializes as [`VERSION`]; any other value is refused on reading.
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
