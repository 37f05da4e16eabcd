//! FIP against captures of two Linux kernels (`golden`), and against itself.

pub(crate) mod capture;
mod hostile;
mod names;
pub(crate) mod node;
mod pairs;
mod rebuild;
mod replay;
mod script;
mod table;
mod tshark;
