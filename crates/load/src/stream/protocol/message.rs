//! Messages on the control connection: JSON behind its length, which is four bytes.

use serde::Serialize;
use thiserror::Error;

#[derive(Debug, Error, PartialEq, Eq)]
pub enum Malformed {
    #[error("a message of {0} bytes is too long")]
    Long(u32),
    /// It is no JSON, or has not what it must have.
    #[error("{0}")]
    Content(String),
}

impl From<serde_json::Error> for Malformed {
    fn from(error: serde_json::Error) -> Self {
        Self::Content(error.to_string())
    }
}

/// A message to send: its length and its JSON.
///
/// # Errors
/// [`Malformed::Content`] if the value has no JSON, [`Malformed::Long`] if that is 4 GiB.
pub fn framed(value: &impl Serialize) -> Result<Vec<u8>, Malformed> {
    let mut bytes = vec![0; 4];
    serde_json::to_writer(&mut bytes, value)?;
    let length = u32::try_from(bytes.len() - 4).map_err(|_| Malformed::Long(u32::MAX))?;
    bytes[..4].copy_from_slice(&length.to_be_bytes());
    Ok(bytes)
}

/// A message that is being received, in pieces of any size. It holds what has come, never what was only announced.
#[derive(Debug)]
pub struct Inbox {
    bytes: Vec<u8>,
    most: u32,
}

impl Inbox {
    /// Makes an inbox for one message of at most so many bytes of JSON.
    #[must_use]
    pub fn new(most: u32) -> Self {
        Self { bytes: Vec::new(), most }
    }

    /// Number of bytes to read next; 0 if the message is complete.
    ///
    /// # Errors
    /// [`Malformed::Long`], as soon as the length is known.
    pub fn wants(&self) -> Result<usize, Malformed> {
        let Some(prefix) = self.bytes.first_chunk::<4>() else { return Ok(4 - self.bytes.len()) };
        let length = u32::from_be_bytes(*prefix);
        if length > self.most {
            return Err(Malformed::Long(length));
        }
        Ok((length as usize + 4).saturating_sub(self.bytes.len()))
    }

    /// Takes bytes that were received, no more than it wants.
    pub fn take(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// JSON of the complete message.
    #[must_use]
    pub fn json(&self) -> &[u8] {
        self.bytes.get(4..).unwrap_or_default()
    }
}
