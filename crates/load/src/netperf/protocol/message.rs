//! A message: words and texts at fixed places.

use thiserror::Error;

/// Kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Code(pub i32);

impl Code {
    /// Asks the server to explain what it does.
    pub const DEBUG_ON: Self = Self(1);
    pub const DEBUG_OFF: Self = Self(2);
    /// Answer to both.
    pub const DEBUG_OK: Self = Self(3);
    /// Asks for the rate of the server's processors, and is the answer.
    pub const CPU_CALIBRATE: Self = Self(5);
    /// A passphrase; there is no answer.
    pub const PASSPHRASE: Self = Self(6);
    /// Asks for a test of bytes to the server, in the older dialect.
    pub const STREAM: Self = Self(10);
    /// The server is ready for it.
    pub const STREAM_RESPONSE: Self = Self(11);
    pub const STREAM_RESULTS: Self = Self(12);
    /// Asks for a test in the newer dialect.
    pub const OMNI: Self = Self(97);
    pub const OMNI_RESPONSE: Self = Self(98);
    pub const OMNI_RESULTS: Self = Self(99);
    /// Asks for names of the system.
    pub const SYSINFO: Self = Self(600);
    pub const SYSINFO_RESPONSE: Self = Self(601);

    /// True for results behind this response. netperf's server leaves the response's kind in the message, with the order
    /// of its bytes reversed if its machine is not of the network's order.
    #[must_use]
    pub fn is_result_of(self, response: Self) -> bool {
        [response.0, response.0.swap_bytes(), response.0 + 1].contains(&self.0)
    }
}

/// Reasons why a message cannot be what its kind says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub enum Malformed {
    #[error("a message of kind {0} has no place here")]
    Code(i32),
    #[error("{0} is out of range")]
    Range(&'static str),
    #[error("{0} is not a number")]
    Float(&'static str),
}

#[derive(Clone, PartialEq, Eq)]
pub struct Message(Box<[u8; Message::LEN]>);

impl Message {
    /// Length of every message, bytes.
    pub const LEN: usize = 656;
    /// Bytes before those of the test's own.
    const HEAD: usize = 8;

    /// A message of this kind without content.
    #[must_use]
    pub fn new(code: Code, second: i32) -> Self {
        let mut message = Self(Box::new([0; Self::LEN]));
        message.0[..4].copy_from_slice(&code.0.to_be_bytes());
        message.0[4..8].copy_from_slice(&second.to_be_bytes());
        message
    }

    #[must_use]
    pub fn received(bytes: [u8; Self::LEN]) -> Self {
        Self(Box::new(bytes))
    }

    /// Answer about the processors: their rate, and their number.
    #[must_use]
    pub fn rate(rate: f32, cpus: u32) -> Self {
        let mut message = Self::new(Code::CPU_CALIBRATE, 0);
        message.writer().float(rate).word(cpus);
        message
    }

    /// Answer about the system, in the words of netperf 2.7.0, which says no more.
    #[must_use]
    pub fn system() -> Self {
        let mut message = Self::new(Code::SYSINFO_RESPONSE, 0);
        message.writer().text(&",Deprecated".repeat(4), Self::LEN - Self::HEAD);
        message
    }

    #[must_use]
    pub fn bytes(&self) -> &[u8; Self::LEN] {
        &self.0
    }

    #[must_use]
    pub fn code(&self) -> Code {
        Code(self.word(0))
    }

    /// Its second word: in answers the error number, in requests a processor or -1.
    #[must_use]
    pub fn second(&self) -> i32 {
        self.word(4)
    }

    fn word(&self, at: usize) -> i32 {
        i32::from_be_bytes(self.0.get(at..).and_then(|rest| rest.first_chunk()).copied().unwrap_or_default())
    }

    pub(super) fn reader(&self) -> Reader<'_> {
        Reader { message: self, at: Self::HEAD }
    }

    pub(super) fn writer(&mut self) -> Writer<'_> {
        Writer { message: self, at: Self::HEAD }
    }
}

impl std::fmt::Debug for Message {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Message({}, {})", self.code().0, self.second())
    }
}

pub(super) struct Reader<'a> {
    message: &'a Message,
    at: usize,
}

impl Reader<'_> {
    pub(super) fn int(&mut self) -> i32 {
        let word = self.message.word(self.at);
        self.at += 4;
        word
    }

    pub(super) fn word(&mut self) -> u32 {
        self.int().cast_unsigned()
    }

    /// A number of 64 bits, its upper half first.
    pub(super) fn wide(&mut self) -> u64 {
        u64::from(self.word()) << 32 | u64::from(self.word())
    }

    /// A floating-point number that is none of infinity and NaN.
    pub(super) fn float(&mut self, what: &'static str) -> Result<f32, Malformed> {
        Some(f32::from_bits(self.word())).filter(|n| n.is_finite()).ok_or(Malformed::Float(what))
    }

    /// The same with 64 bits.
    pub(super) fn double(&mut self, what: &'static str) -> Result<f64, Malformed> {
        Some(f64::from_bits(self.wide())).filter(|n| n.is_finite()).ok_or(Malformed::Float(what))
    }

    /// A text up to its zero; what is no plain character becomes a question mark.
    pub(super) fn text(&mut self, len: usize) -> String {
        let bytes = self.message.0.get(self.at..self.at + len).unwrap_or_default();
        self.at += len;
        let text = bytes.iter().take_while(|byte| **byte != 0);
        text.map(|byte| if byte.is_ascii_graphic() || *byte == b' ' { char::from(*byte) } else { '?' }).collect()
    }
}

pub(super) struct Writer<'a> {
    message: &'a mut Message,
    at: usize,
}

impl Writer<'_> {
    fn put(&mut self, bytes: &[u8], len: usize) {
        let bytes = &bytes[..bytes.len().min(len)];
        if let Some(to) = self.message.0.get_mut(self.at..self.at + bytes.len()) {
            to.copy_from_slice(bytes);
        }
        self.at += len;
    }

    pub(super) fn int(&mut self, n: i32) -> &mut Self {
        self.put(&n.to_be_bytes(), 4);
        self
    }

    pub(super) fn word(&mut self, n: u32) -> &mut Self {
        self.put(&n.to_be_bytes(), 4);
        self
    }

    pub(super) fn wide(&mut self, n: u64) -> &mut Self {
        self.put(&n.to_be_bytes(), 8);
        self
    }

    pub(super) fn float(&mut self, n: f32) -> &mut Self {
        self.word(n.to_bits())
    }

    pub(super) fn double(&mut self, n: f64) -> &mut Self {
        self.wide(n.to_bits())
    }

    /// A text that ends with a zero inside its field.
    pub(super) fn text(&mut self, text: &str, len: usize) -> &mut Self {
        let end = text.len().min(len.saturating_sub(1));
        let at = self.at;
        self.put(&text.as_bytes()[..end], end);
        self.at = at + len;
        self
    }
}
