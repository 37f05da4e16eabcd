//! The FCP target against captures of two Linux kernels, scripts that cite the standard, and chance.

mod capture;
mod units;
