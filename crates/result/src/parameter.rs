//! Parameters that a test was run with, as typed values.

use std::collections::BTreeMap;
use std::fmt;

use serde::{Deserialize, Serialize};

use super::Number;

/// Parameters of a test by name. A name ends in the unit where there is one, such as `io_bytes`.
pub type Parameters = BTreeMap<String, Parameter>;

/// Value of a parameter. JSON: a boolean, a number or a string.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum Parameter {
    /// A switch: on or off.
    Flag(bool),
    /// A whole number.
    Count(u64),
    /// Any other number.
    Number(Number),
    /// A word, as it would be typed on the command line.
    Text(String),
}

/// Parameters from names and values.
#[must_use]
pub fn parameters<'a>(list: impl IntoIterator<Item = (&'a str, Parameter)>) -> Parameters {
    list.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

impl Parameter {
    /// The whole number; `None` for any other value.
    #[must_use]
    pub fn count(&self) -> Option<u64> {
        match self {
            Self::Count(count) => Some(*count),
            _ => None,
        }
    }

    /// The word; `None` for a number or a flag.
    #[must_use]
    pub fn text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }

    /// Value of a parameter of an older document, which stored strings only: a number if the string is its canonical
    /// form.
    pub(crate) fn of_text(text: String) -> Self {
        if let Some(count) = text.parse().ok().filter(|count: &u64| count.to_string() == text) {
            return Self::Count(count);
        }
        let number = text.parse().ok().filter(|number: &f64| number.is_finite() && number.to_string() == text);
        number.map_or(Self::Text(text), |number| Self::Number(number.into()))
    }
}

/// Writes the value as it would be typed on the command line.
impl fmt::Display for Parameter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Flag(on) => fmt::Display::fmt(on, f),
            Self::Count(count) => fmt::Display::fmt(count, f),
            Self::Number(number) => match number.known() {
                Some(number) => fmt::Display::fmt(&number, f),
                None => f.pad("unknown"),
            },
            Self::Text(text) => f.pad(text),
        }
    }
}

impl From<bool> for Parameter {
    fn from(on: bool) -> Self {
        Self::Flag(on)
    }
}

impl From<u64> for Parameter {
    fn from(count: u64) -> Self {
        Self::Count(count)
    }
}

impl From<u32> for Parameter {
    fn from(count: u32) -> Self {
        Self::Count(count.into())
    }
}

impl From<usize> for Parameter {
    fn from(count: usize) -> Self {
        Self::Count(count as u64)
    }
}

impl From<f64> for Parameter {
    fn from(number: f64) -> Self {
        Self::Number(number.into())
    }
}

impl From<&str> for Parameter {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for Parameter {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

#[cfg(test)]
mod tests {
    use super::Parameter;

    #[test]
    fn values_keep_their_types() {
        for (value, json, shown) in [
            (Parameter::from(true), "true", "true"),
            (u64::MAX.into(), "18446744073709551615", "18446744073709551615"),
            (0.25.into(), "0.25", "0.25"),
            ((-3.0).into(), "-3.0", "-3"),
            ("64".into(), "\"64\"", "64"),
        ] {
            assert_eq!(serde_json::to_string(&value).unwrap(), json);
            assert_eq!(serde_json::from_str::<Parameter>(json).unwrap(), value);
            assert_eq!(value.to_string(), shown);
        }
        assert_eq!(serde_json::to_string(&Parameter::from(f64::NAN)).unwrap(), "null");
        assert!(serde_json::from_str::<Parameter>("[1]").is_err());
    }

    #[test]
    fn texts_of_older_documents_get_types() {
        for (text, wanted) in [
            ("512", Parameter::from(512_u32)),
            ("0.5", 0.5.into()),
            ("0512", "0512".into()),
            ("64-1500", "64-1500".into()),
            ("inf", "inf".into()),
            ("", "".into()),
        ] {
            assert_eq!(Parameter::of_text(text.to_owned()), wanted);
        }
    }
}
