//! The FCP target against captures of two Linux kernels, scripts that cite the standard, and chance.

pub(crate) mod capture;
mod chance;
mod data;
mod early;
mod golden;
mod late;
mod mock;
mod order;
mod queue;
mod recovery;
mod rig;
mod twins;
mod units;
mod wire;
