//! Lists of flags, for completions, man pages and parameters of workloads.

use super::{Does, Flag, Program};
use crate::workload::ParameterRow;

#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listed {
    /// All names of the flag as they are typed, dashes included.
    pub names: Vec<&'static str>,
    pub takes: Takes,
    /// Names of its values; empty for none.
    pub form: &'static str,
    pub about: &'static str,
}

/// Number of values that a flag takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Takes {
    Nothing,
    Value,
    /// One or none.
    Maybe,
    /// More than one.
    Values,
}

impl<S> Does<S> {
    fn takes(&self) -> Takes {
        match self {
            Self::Set(_) | Self::Print(_) | Self::Refused(_) => Takes::Nothing,
            Self::Value(_) | Self::OneOf(..) => Takes::Value,
            Self::Maybe(_) => Takes::Maybe,
            Self::Values(_) => Takes::Values,
        }
    }
}

impl<S, A> Program<S, A> {
    /// Flags that lists show.
    pub(super) fn shown(&self) -> impl Iterator<Item = &'static Flag<S, A>> {
        self.flags.iter().filter(|flag| !flag.about.is_empty())
    }

    pub(crate) fn listed(&self) -> Vec<Listed> {
        let row = |flag: &Flag<S, A>| Listed {
            names: flag.names().collect(),
            takes: flag.does.takes(),
            form: flag.form(),
            about: flag.about,
        };
        self.shown().map(row).collect()
    }

    /// Flags as parameters of a workload: those that take one value or none.
    pub(crate) fn parameters(&self) -> Vec<ParameterRow> {
        let single = self.listed().into_iter().filter(|flag| flag.takes != Takes::Values);
        single
            .map(|flag| ParameterRow { name: flag.names[0].into(), value: flag.form.into(), about: flag.about.into() })
            .collect()
    }
}
