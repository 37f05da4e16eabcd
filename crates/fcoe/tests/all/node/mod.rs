//! A node as a whole: which frames go to which part, and why others go to none.

mod pair;
mod script;
mod wire;
