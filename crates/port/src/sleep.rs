//! What a thread sleeps on while there is nothing to do.

use std::os::fd::BorrowedFd;
use std::time::Instant;

/// What to wait for on a descriptor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Interest {
    /// It can be read.
    Readable,
    /// It can be written.
    Writable,
}

/// What ends a sleep. With neither, nothing tells: then ask again after a while.
#[derive(Clone, Copy, Debug, Default)]
pub struct Sleep<'a> {
    /// A descriptor to sleep on.
    pub on: Option<(BorrowedFd<'a>, Interest)>,
    /// When there is more to do although nothing happens meanwhile (a wire's rate, a delay, a capture's pace).
    pub until: Option<Instant>,
}

impl<'a> Sleep<'a> {
    /// Until a descriptor is ready.
    #[must_use]
    pub fn on(fd: BorrowedFd<'a>, interest: Interest) -> Self {
        Self { on: Some((fd, interest)), until: None }
    }

    /// The same, but not beyond this time, if there is one.
    #[must_use]
    pub fn until(self, until: Option<Instant>) -> Self {
        Self { until, ..self }
    }
}

/// Something that can be slept on. A sleep loses no wake-up if all that is waited for is told before it
/// ([`Sleeper::fall_asleep`]), nobody sleeps if one of them says no, and all are told when it is over
/// ([`Sleeper::wake_up`]).
pub trait Sleeper {
    /// Who does the rest of this, if this is a layer around another.
    fn behind(&mut self) -> Option<&mut dyn Sleeper> {
        None
    }

    /// About to sleep, and the last look before: what ends the sleep, or None if there is something to do after all.
    fn fall_asleep(&mut self) -> Option<Sleep<'_>> {
        match self.behind() {
            Some(behind) => behind.fall_asleep(),
            None => Some(Sleep::default()),
        }
    }

    /// Awake again, whether or not there was a sleep.
    fn wake_up(&mut self) {
        if let Some(behind) = self.behind() {
            behind.wake_up();
        }
    }
}

/// A descriptor, or a time, and nothing else.
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

    /// Says what became of it.
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
