//! Effects of a fork: the child gets a socket of its own to each process whose files it then holds.

use crate::parents::{self, DEPTH};
use crate::sys::process::{generation, is_borrowed};
use crate::sys::real;
use crate::{heirs, table};
use std::cell::Cell;
use std::ffi::c_int;

thread_local! {
    /// Those of a child that this thread is about to make, one more each; 0 is none.
    static NEXT: Cell<[c_int; DEPTH]> = const { Cell::new([0; DEPTH]) };
}

/// Before a fork: makes the child's ways to all that it will hold.
pub(crate) extern "C" fn before() {
    if !table::any() || is_borrowed() {
        return;
    }
    let (mut next, own) = ([0; DEPTH], generation() as usize);
    let ways = (0..own).map(parents::passed_on).chain(std::iter::once_with(heirs::expect));
    next.iter_mut().zip(ways).for_each(|(next, way)| *next = way.map_or(0, |fd| fd + 1));
    NEXT.set(next);
}

/// After a fork, in the parent: the child has its ways.
pub(crate) extern "C" fn after() {
    for way in NEXT.replace([0; DEPTH]).into_iter().filter(|way| *way > 0) {
        real::close(way - 1);
    }
}

/// After a fork, in the child.
pub(crate) extern "C" fn child() {
    if table::any() {
        heirs::forget();
        parents::take(NEXT.replace([0; DEPTH]));
        table::recount();
    }
}
