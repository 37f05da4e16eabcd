//! A server of static files over HTTP/1.1 (RFC 9110, RFC 9112): GET and HEAD, ranges, validators, connections that are kept.

mod answer;
mod files;
mod request;

use super::streams::{Stream, Talk};
use answer::Answer;
use request::{Head, Request};
use std::path::Path;
use std::sync::Arc;

/// Longest head of a request.
const LONGEST: usize = 16 << 10;

pub(super) struct Http {
    folder: Arc<Path>,
    /// Bytes that have come and are not answered.
    came: Vec<u8>,
    answer: Option<Answer>,
    /// The last answer was given.
    over: bool,
}

impl Http {
    pub(super) fn new(folder: Arc<Path>) -> Self {
        Self { folder, came: Vec::new(), answer: None, over: false }
    }

    /// The answer to the request that has come, if it has come whole.
    fn next(&mut self) -> Option<Answer> {
        match Request::parse(&self.came) {
            Head::Whole(request, len) => {
                let answer = Answer::to(&request, &self.folder);
                self.came.drain(..len);
                Some(answer)
            }
            Head::Part if self.came.len() >= LONGEST => {
                Some(Answer::refusal("431 Request Header Fields Too Large", "The head of the request is too long."))
            }
            Head::Part => None,
            Head::Wrong(status, why) => Some(Answer::refusal(status, why)),
        }
    }
}

impl Talk for Http {
    fn go(&mut self, stream: &mut Stream<'_>) -> bool {
        loop {
            if let Some(answer) = &mut self.answer {
                match send(answer, stream) {
                    Sent::Part => return false,
                    Sent::Cut => {
                        stream.abort();
                        return true;
                    }
                    Sent::All => {}
                }
                self.over |= !answer.keeps;
                self.answer = None;
            }
            if self.over {
                // What the peer still sends is read: a reset could overtake the answer (RFC 9112, section 9.6).
                stream.close();
                while stream.read(usize::MAX) > 0 {}
                return stream.is_at_end();
            }
            self.answer = self.next();
            if self.answer.is_some() {
                continue;
            }
            let n = stream.read(LONGEST - self.came.len().min(LONGEST));
            if n == 0 {
                return stream.is_at_end();
            }
            self.came.extend_from_slice(&stream.buffer[..n]);
        }
    }
}

/// Progress of an answer.
enum Sent {
    All,
    Part,
    /// The file has become shorter than was said.
    Cut,
}

fn send(answer: &mut Answer, stream: &mut Stream<'_>) -> Sent {
    while !answer.text.is_empty() {
        let n = stream.write_bytes(&answer.text);
        if n == 0 {
            return if stream.is_closed() { Sent::Cut } else { Sent::Part };
        }
        answer.text.drain(..n);
    }
    while answer.left > 0 {
        if answer.chunk.is_empty() {
            let Some(file) = &answer.file else { return Sent::Cut };
            let room = stream.room_for_chunk();
            let most = usize::try_from(answer.left).unwrap_or(room).min(room);
            if most == 0 {
                return if stream.is_closed() { Sent::Cut } else { Sent::Part };
            }
            answer.chunk = match answer.chunks.read(file, answer.at, most) {
                Ok(chunk) if !chunk.is_empty() => chunk,
                _ => return Sent::Cut,
            };
        }
        let n = stream.write_chunk(&mut answer.chunk) as u64;
        if n == 0 {
            return if stream.is_closed() { Sent::Cut } else { Sent::Part };
        }
        (answer.at, answer.left) = (answer.at + n, answer.left - n);
    }
    Sent::All
}
