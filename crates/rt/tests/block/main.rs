//! Block devices against a model. Every wait has a bound.

mod crash;
mod file;
mod model;
