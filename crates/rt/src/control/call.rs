//! Calls into a machine's thread: another thread has a function run between two of its turns.
//!
//! A thread that moves frames takes no lock for this: it looks at a flag once a turn, and at the calls if it is set. Calls
//! get a tenth of its time at most, whoever asks how often.

use linerate_port::Sleep;
use linerate_ring::Bell;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering::Acquire, Ordering::Release};
use std::sync::mpsc::{RecvTimeoutError, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use thiserror::Error;

/// Time limit of a call: a machine's turn takes microseconds, unless its output is not taken or it waits for a disk.
pub(super) const LIMIT: Duration = Duration::from_secs(2);
/// Most calls that wait for a machine.
const MOST: usize = 16;
/// Time for which no call is made after one, as a multiple of what that took, and its limit.
const REST: u32 = 9;
const LONGEST_REST: Duration = Duration::from_secs(1);

/// Reason why a call had no effect.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum CallError {
    #[error("it is busy with something else: try again")]
    Busy,
    #[error("it is about to end")]
    Ended,
}

type Call<S> = Box<dyn FnOnce(&mut S) + Send>;

struct Shared<S> {
    /// Calls in their order; None when the machine has come to its end.
    calls: Mutex<Option<Vec<Call<S>>>>,
    /// Set while there are calls.
    any: AtomicBool,
    /// Rung while there are calls: both change under the lock, so that the bell never ends a sleep for nothing.
    bell: Bell,
}

impl<S> Shared<S> {
    fn calls(&self) -> MutexGuard<'_, Option<Vec<Call<S>>>> {
        self.calls.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The end of a machine at which it is called, with `S` as what the calls look at. Dropped, it ends all calls.
pub struct Callee<S>(Arc<Shared<S>>);

/// The end from which a machine is called.
pub struct Caller<S> {
    shared: Arc<Shared<S>>,
    /// No call is made before.
    rest: Option<Instant>,
}

/// Makes the end of a machine; [`Callee::caller`] gives others theirs.
///
/// # Errors
/// Errors of the kernel, if there can be no more descriptors.
pub fn callee<S>() -> io::Result<Callee<S>> {
    let (calls, any) = (Mutex::new(Some(Vec::new())), AtomicBool::new(false));
    Ok(Callee(Arc::new(Shared { calls, any, bell: Bell::new()? })))
}

impl<S> Callee<S> {
    /// An end for another thread.
    #[must_use]
    pub fn caller(&self) -> Caller<S> {
        Caller { shared: self.0.clone(), rest: None }
    }

    /// Runs the calls that wait, to be called once a turn; true if there were any.
    #[inline]
    pub fn serve(&self, state: &mut S) -> bool {
        // The acquire pairs with the release of whoever calls; a flag that is seen late has rung the bell.
        self.0.any.load(Acquire) && self.run(state)
    }

    #[cold]
    fn run(&self, state: &mut S) -> bool {
        let mut waiting = self.0.calls();
        self.0.bell.clear();
        self.0.any.store(false, Release);
        let calls = waiting.as_mut().map(std::mem::take).unwrap_or_default();
        drop(waiting);
        calls.into_iter().for_each(|call| call(state));
        true
    }

    /// Condition of a sleep that a call ends.
    #[must_use]
    pub fn sleep(&self) -> Sleep<'_> {
        Sleep::on_bell(&self.0.bell)
    }
}

impl<S> Drop for Callee<S> {
    fn drop(&mut self) {
        // Dropped outside of the lock: that tells those who wait.
        let calls = self.0.calls().take();
        drop(calls);
    }
}

impl<S: 'static> Caller<S> {
    /// Has the machine's thread run a function, and waits for what it returns. It should take microseconds: what it
    /// returns can be made into a text here.
    ///
    /// # Errors
    /// [`CallError`]; the function was not run then, and never will be, unless the machine ended within it.
    pub fn call<T: Send + 'static>(
        &mut self,
        function: impl FnOnce(&mut S) -> T + Send + 'static,
    ) -> Result<T, CallError> {
        if let Some(rest) = self.rest.take() {
            std::thread::sleep(rest.saturating_duration_since(Instant::now()));
        }
        let (reply, answer) = sync_channel(1);
        // Whoever takes the function first has it: the machine to run it, or this thread to give it up.
        let ours = Arc::new(Mutex::new(Some(function)));
        let theirs = ours.clone();
        self.put(Box::new(move |state| {
            if let Some(function) = take(&theirs) {
                timed(function, state, &reply);
            }
        }))?;
        let answered = match answer.recv_timeout(LIMIT) {
            Err(RecvTimeoutError::Timeout) if take(&ours).is_some() => return Err(CallError::Busy),
            // It has begun.
            Err(RecvTimeoutError::Timeout) => answer.recv().map_err(|_| CallError::Ended),
            answered => answered.map_err(|_| CallError::Ended),
        };
        let (returned, took) = answered?;
        self.rest = Some(Instant::now() + (REST * took).min(LONGEST_REST));
        Ok(returned)
    }

    fn put(&self, call: Call<S>) -> Result<(), CallError> {
        let mut waiting = self.shared.calls();
        let calls = waiting.as_mut().ok_or(CallError::Ended)?;
        if calls.len() >= MOST {
            return Err(CallError::Busy);
        }
        calls.push(call);
        self.shared.any.store(true, Release);
        self.shared.bell.ring();
        Ok(())
    }
}

fn take<F>(function: &Mutex<Option<F>>) -> Option<F> {
    function.lock().unwrap_or_else(PoisonError::into_inner).take()
}

fn timed<S, T>(function: impl FnOnce(&mut S) -> T, state: &mut S, reply: &SyncSender<(T, Duration)>) {
    let began = Instant::now();
    let returned = function(state);
    // Whoever called may have given up.
    let _ = reply.try_send((returned, began.elapsed()));
}
