//! An allocator that counts.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    /// Bytes that this thread holds, and how often it allocated.
    static HELD: Cell<(i64, u64)> = const { Cell::new((0, 0)) };
}

struct Counting;

fn count(bytes: i64, times: u64) {
    HELD.with(|held| held.set((held.get().0 + bytes, held.get().1 + times)));
}

fn bytes(layout: Layout) -> i64 {
    i64::try_from(layout.size()).unwrap_or(i64::MAX)
}

// SAFETY: hands everything to the system's allocator.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        count(bytes(layout), 1);
        // SAFETY: the caller's promise.
        unsafe { System.alloc(layout) }
    }

    unsafe fn dealloc(&self, at: *mut u8, layout: Layout) {
        count(-bytes(layout), 0);
        // SAFETY: the caller's promise.
        unsafe { System.dealloc(at, layout) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// Bytes that this thread holds, and how often it has allocated.
pub(crate) fn held() -> (i64, u64) {
    HELD.get()
}
