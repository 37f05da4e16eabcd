//! Block devices: files, NBD servers of others and our own, against a model, against each other, and against peers that
//! break the rules. Every wait has a bound.

mod crash;
mod file;
mod hostile;
mod model;
mod nbd;
mod peers;
