//! The C entry points. Nothing here imports this module: it lies above all others.

mod sys;
