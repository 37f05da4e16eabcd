//! Command lines of other programs: a table of flags, read in the program's dialect.
//!
//! A `Program` is a table of rows and a `Dialect`. A row changes the program's own state `S`; its scope, of a type `A`
//! of the program's own, tells where the flag has an effect or what it applies to. A row may give a reason why its flag
//! is refused instead. Values, errors, help, completions and parameters of workloads follow from the table.

mod dialect;
mod ends;
mod help;
mod list;
pub(crate) mod own;
mod program;
mod row;
mod service;
mod text;
mod unknown;
mod words;

pub use list::{Listed, Takes};
pub use program::Command;

pub(crate) use dialect::Dialect;
pub(crate) use ends::{Ends, Scope};
pub(crate) use program::{Given, Program};
pub(crate) use row::{Choices, Does, Flag, maybe, one_of, print, refused, set, value, values};
pub(crate) use service::{based, named};
pub(crate) use text::number;
pub(crate) use words::Words;

/// Description of `--keep`, which more than one program has.
pub(crate) const KEEP: &str = "keep the result document too, in a folder of its own, for linerate runs";

#[cfg(test)]
mod tests;
