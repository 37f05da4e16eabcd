//! Plans, comparison with published tables, environment, reports and charts.
//!
//! Only [`qualify`], [`profile`] and [`sweep`] measure, the latter also with another machine ([`remote`]); all else works on a [`RunResult`](linerate_result::RunResult):
//! [`environment`] fills in the machine, [`published`] the figures to compare with, [`text`] and [`report`] show it,
//! [`store`] keeps it, [`index`] lists what is kept, [`import`] and [`export`] read and write it in other programs' forms,
//! and [`compare`] holds one run against another. [`history`] adds the bench's figures to a file.

#![forbid(unsafe_code)]

pub mod bench;
pub mod compare;
pub mod doctor;
pub mod environment;
pub mod export;
pub mod history;
pub mod import;
pub mod index;
pub mod profile;
pub mod progress;
mod proofs;
pub mod published;
pub mod qualify;
pub mod quantity;
pub mod remote;
pub mod report;
pub mod run;
pub mod store;
pub mod sweep;
pub mod text;

mod facts;
mod noise;
mod student;
mod table;
mod tables;
mod varied;
mod view;
