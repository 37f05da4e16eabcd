//! Table of the sessions that wait for streams, by their cookies.

use super::listener::Arrival;
use crate::stream::protocol::Cookie;
use std::collections::HashMap;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Mutex, PoisonError};

/// Sessions that wait for streams.
#[derive(Default)]
pub(super) struct Table(Mutex<HashMap<Cookie, SyncSender<Arrival>>>);

/// A session's place in the table, which it leaves when this is dropped.
pub(super) struct Seat<'a> {
    table: &'a Table,
    cookie: Cookie,
    pub(super) streams: Receiver<Arrival>,
}

impl Table {
    /// Has the streams with this cookie delivered, so many of them; `None` if another session has the same cookie.
    pub(super) fn seat(&self, cookie: &Cookie, streams: usize) -> Option<Seat<'_>> {
        let (to, from) = sync_channel(streams);
        let mut sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if sessions.contains_key(cookie) {
            return None;
        }
        sessions.insert(cookie.clone(), to);
        Some(Seat { table: self, cookie: cookie.clone(), streams: from })
    }

    /// Delivers a stream to the session with its cookie; returns what belongs to none.
    pub(super) fn deliver(&self, arrival: Arrival) -> Option<Arrival> {
        let sessions = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(to) = sessions.get(&arrival.cookie) else { return Some(arrival) };
        // More than were asked for are closed.
        let _ = to.try_send(arrival);
        None
    }
}

impl Drop for Seat<'_> {
    fn drop(&mut self) {
        self.table.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&self.cookie);
    }
}
