//! FIP against captures of two Linux kernels (`golden`), and against itself.

mod capture;
mod rebuild;
