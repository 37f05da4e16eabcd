//! Entry points of the C library that a preloaded library takes the place of.

mod sys;
