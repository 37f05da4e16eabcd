//! A number that is finite or unknown; no other value can be represented.

use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A finite number, or unknown. JSON: a number, or `null`.
///
/// NaN and the infinities have no JSON form and no meaning in a result, so every constructor turns them into unknown.
#[derive(Clone, Copy, Debug, Default, PartialEq, PartialOrd)]
pub struct Number(Option<f64>);

impl Number {
    /// Not measured, or not measurable.
    pub const UNKNOWN: Self = Self(None);

    /// Median of values, which are sorted in place: of an even number the mean of the middle two, of none unknown.
    pub fn median(values: &mut [f64]) -> Self {
        values.sort_by(f64::total_cmp);
        let Some(upper) = values.get(values.len() / 2) else { return Self::UNKNOWN };
        let lower = values[(values.len() - 1) / 2];
        // Halved before they are added, so that two huge values do not overflow.
        Self::new(if values.len() % 2 == 1 { *upper } else { lower / 2.0 + upper / 2.0 })
    }

    /// `value` if it is finite, otherwise unknown.
    #[must_use]
    pub fn new(value: f64) -> Self {
        Self(value.is_finite().then_some(value))
    }

    /// The finite number, if it is known.
    #[must_use]
    pub fn known(self) -> Option<f64> {
        self.0
    }

    /// `self / divisor`; unknown when either operand is unknown or the quotient is not finite.
    #[must_use]
    pub fn over(self, divisor: Self) -> Self {
        match (self.0, divisor.0) {
            (Some(a), Some(b)) => Self::new(a / b),
            _ => Self::UNKNOWN,
        }
    }
}

impl From<f64> for Number {
    fn from(value: f64) -> Self {
        Self::new(value)
    }
}

impl From<Option<f64>> for Number {
    fn from(value: Option<f64>) -> Self {
        value.map_or(Self::UNKNOWN, Self::new)
    }
}

impl Serialize for Number {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for Number {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Option::<f64>::deserialize(deserializer).map(Self::from)
    }
}

#[cfg(test)]
mod tests {
    use super::Number;

    #[test]
    fn what_is_not_finite_is_unknown_and_written_as_null() {
        for value in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(Number::new(value), Number::UNKNOWN);
            assert_eq!(Number::from(Some(value)), Number::UNKNOWN);
            assert_eq!(serde_json::to_string(&Number::from(value)).unwrap(), "null");
        }
        assert_eq!(serde_json::to_string(&Number::new(0.1)).unwrap(), "0.1");
        assert_eq!(serde_json::from_str::<Number>("null").unwrap(), Number::UNKNOWN);
    }

    #[test]
    fn a_quotient_by_zero_is_unknown() {
        assert_eq!(Number::new(3.0).over(Number::new(2.0)), Number::new(1.5));
        assert_eq!(Number::new(1.0).over(Number::new(0.0)), Number::UNKNOWN);
        assert_eq!(Number::new(0.0).over(Number::new(0.0)), Number::UNKNOWN);
        assert_eq!(Number::new(1.0).over(Number::UNKNOWN), Number::UNKNOWN);
    }
}
