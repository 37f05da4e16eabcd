//! Tests of block devices: files, other projects' NBD servers and ours, against a model, against each other, and
//! against peers that break the rules. Every wait has a time limit.

mod crash;
mod file;
mod hostile;
mod late;
mod model;
mod nbd;
mod peers;
