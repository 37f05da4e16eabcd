//! Conditions that end a thread's sleep.

use linerate_ring::Bell;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

/// Event to wait for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// The descriptor becomes readable.
    Readable,
    /// The descriptor becomes writable.
    Writable,
}

/// Conditions that end a sleep. With neither set, there is no notification: ask again after a while.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sleep<'a> {
    /// A descriptor to sleep on.
    pub on: Option<(BorrowedFd<'a>, Interest)>,
    /// Number of the open file behind the descriptor ([`linerate_ring::next_id`]). Whoever gives one promises that the
    /// descriptor and the number, both the same as before, are the same open file, never closed in between: then what a
    /// thread has told the kernel of it still holds. A descriptor alone says nothing: closed, it is given again.
    pub file: Option<u64>,
    /// Time at which there is work even without an event (a wire's rate, a delay, a capture's pace).
    pub until: Option<Instant>,
}

impl<'a> Sleep<'a> {
    /// Sleep until a descriptor is ready.
    #[must_use]
    pub fn on(fd: BorrowedFd<'a>, interest: Interest) -> Self {
        Self { on: Some((fd, interest)), ..Self::default() }
    }

    /// Sleep until a bell is rung.
    #[must_use]
    pub fn on_bell(bell: &'a Bell) -> Self {
        Self { file: Some(bell.id()), ..Self::on(bell.as_fd(), Interest::Readable) }
    }

    /// Limits the sleep to this time, if there is one.
    #[must_use]
    pub fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }
}

/// Something that a thread can sleep on. No wake-up is lost if the thread first calls [`Sleeper::fall_asleep`] of
/// everything that it waits for, does not sleep if one of them returns None, and afterwards calls [`Sleeper::wake_up`]
/// of all.
pub trait Sleeper {
    /// The inner sleeper, if this is a layer around another.
    fn behind(&mut self) -> Option<&mut dyn Sleeper> {
        None
    }

    /// Prepares to sleep after a last check: the conditions that end the sleep, or None if there is work after all.
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        match self.behind() {
            Some(behind) => behind.fall_asleep(),
            None => Some(Sleep::default()),
        }
    }

    /// Ends the sleep, or its preparation.
    fn wake_up(&mut self) {
        if let Some(behind) = self.behind() {
            behind.wake_up();
        }
    }
}

/// A fixed condition: a descriptor, or a time.
impl Sleeper for Sleep<'_> {
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        Some(*self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsFd;
    use std::os::unix::net::UnixStream;

    /// Records the calls that it gets.
    struct Kind(UnixStream, Vec<&'static str>);
    struct Layer(Kind);

    impl Sleeper for Kind {
        fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
            self.1.push("asleep");
            Some(Sleep::on(self.0.as_fd(), Interest::Writable))
        }

        fn wake_up(&mut self) {
            self.1.push("awake");
        }
    }

    impl Sleeper for Layer {
        fn behind(&mut self) -> Option<&mut dyn Sleeper> {
            Some(&mut self.0)
        }
    }

    #[test]
    fn a_layer_passes_on_what_it_has_no_say_in() {
        let mut layer = Layer(Kind(UnixStream::pair().unwrap().0, Vec::new()));
        assert_eq!(layer.fall_asleep().unwrap().on.unwrap().1, Interest::Writable);
        layer.wake_up();
        assert_eq!(layer.0.1, ["asleep", "awake"]);
    }
}
