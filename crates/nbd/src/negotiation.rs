//! The client's side of the negotiation: fixed newstyle, GO where the server supports it, EXPORT_NAME where it does
//! not.

use crate::wire::facts::{ExportInfo, Sizes};
use crate::wire::{Go, Greeting, Info, OptionHeader, OptionReply, WireError, handshake, info, option, reply};
use thiserror::Error;

/// Agreement of client and server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Size and flags of the export.
    pub info: ExportInfo,
    /// Sizes of the requests that the server takes.
    pub sizes: Sizes,
    /// Reads are answered in chunks.
    pub structured: bool,
    /// Name and description that the server tells.
    pub labels: Labels,
}

/// Name and description of an export as its server tells them: for people, and the only difference that NBD knows between
/// exports of one size.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Labels {
    /// Its name, also where the client asked for the default export.
    pub name: Option<String>,
    /// Its description.
    pub description: Option<String>,
}

/// Reason that the negotiation gave no export.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NegotiateError {
    /// The server hung up before the end.
    #[error("the server hung up before an export was agreed on")]
    HungUp,
    /// The server broke the protocol.
    #[error("the server speaks {0}")]
    Wire(#[from] WireError),
    /// The server has no such export.
    #[error("the server has no such export{0}")]
    NoExport(String),
    /// The server refused.
    #[error("the server refuses it{0}")]
    Refused(String),
}

/// Most replies to one option; a server that sends more is dropped.
const REPLIES: usize = 1000;
/// Bytes of the answer to EXPORT_NAME: size and flags of the export.
const TOLD: usize = 10;
/// Information that the client asks for beyond size and flags.
const WANTED: [u16; 3] = [info::BLOCK_SIZE, info::NAME, info::DESCRIPTION];
/// Zeros after that answer, unless the client asked for none.
const ZEROS: usize = 124;

/// Next message due from the server.
#[derive(Clone, Copy, Debug)]
enum Expect {
    Greeting,
    /// The head of a reply to this option.
    Reply(u32),
    /// The data of a reply.
    Data(OptionReply),
    /// Size and flags, after EXPORT_NAME.
    Told,
    Zeros(ExportInfo),
}

impl Expect {
    fn len(self) -> usize {
        match self {
            Self::Greeting => Greeting::LEN,
            Self::Reply(_) => OptionReply::LEN,
            Self::Data(head) => usize::try_from(head.len).unwrap_or(0),
            Self::Told => TOLD,
            Self::Zeros(_) => ZEROS,
        }
    }
}

/// A negotiation with a server over a fresh connection, up to the first request. It consumes no byte beyond it.
#[derive(Debug)]
pub struct Negotiation {
    export: String,
    flags: u16,
    structured: bool,
    about: Option<ExportInfo>,
    sizes: Sizes,
    labels: Labels,
    /// Replies so far to the last option.
    replies: usize,
    expect: Expect,
    /// Buffer as long as the expected message, of which `come` bytes have arrived.
    input: Vec<u8>,
    come: usize,
    out: Vec<u8>,
}

impl Negotiation {
    /// Starts a negotiation for an export; the empty name is the server's default export.
    #[must_use]
    pub fn new(export: &str) -> Self {
        Self {
            export: export.to_owned(),
            flags: 0,
            structured: false,
            about: None,
            sizes: Sizes::default(),
            labels: Labels::default(),
            replies: 0,
            expect: Expect::Greeting,
            input: vec![0; Greeting::LEN],
            come: 0,
            out: Vec::new(),
        }
    }

    /// Takes the bytes to send before more are received.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Buffer for the next bytes received. Empty when the negotiation is complete.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.input[self.come..]
    }

    /// Takes the first `count` bytes of [`Negotiation::room`], which have been received; returns the agreement at the
    /// end.
    ///
    /// # Errors
    /// See [`NegotiateError`].
    pub fn received(&mut self, count: usize) -> Result<Option<Agreed>, NegotiateError> {
        self.come = self.come.saturating_add(count).min(self.input.len());
        // The data of a reply may be empty.
        while self.come == self.input.len() {
            let message = std::mem::take(&mut self.input);
            self.come = 0;
            if let Some(agreed) = self.message(&message)? {
                return Ok(Some(agreed));
            }
            self.input = vec![0; self.expect.len()];
        }
        Ok(None)
    }

    /// Meaning of a hang-up by the server now: EXPORT_NAME has no other way to fail.
    #[must_use]
    pub fn hung_up(&self) -> NegotiateError {
        match self.expect {
            Expect::Told => NegotiateError::NoExport(String::new()),
            _ => NegotiateError::HungUp,
        }
    }

    fn message(&mut self, bytes: &[u8]) -> Result<Option<Agreed>, NegotiateError> {
        match self.expect {
            Expect::Greeting => {
                let greeting = Greeting::parse(bytes.first_chunk().ok_or(WireError::Length)?)?;
                self.flags = greeting.flags & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
                self.out.extend_from_slice(&u32::from(self.flags).to_be_bytes());
                if self.flags & handshake::FIXED_NEWSTYLE == 0 {
                    // The server would hang up at any option but EXPORT_NAME.
                    self.export_name();
                } else {
                    self.ask(option::STRUCTURED_REPLY, &[]);
                }
            }
            Expect::Reply(option) => {
                let head = OptionReply::parse(bytes.first_chunk().ok_or(WireError::Length)?)?;
                if head.option != option {
                    return Err(WireError::Magic.into());
                }
                self.expect = Expect::Data(head);
            }
            Expect::Data(head) => return self.replied(head, bytes),
            Expect::Told => {
                let (size, flags) = bytes.split_first_chunk().ok_or(WireError::Length)?;
                let flags = flags.first_chunk().ok_or(WireError::Length)?;
                let info = ExportInfo { size: u64::from_be_bytes(*size), flags: u16::from_be_bytes(*flags) };
                if self.flags & handshake::NO_ZEROES != 0 {
                    return Ok(Some(self.agreed(info)));
                }
                self.expect = Expect::Zeros(info);
            }
            Expect::Zeros(info) => return Ok(Some(self.agreed(info))),
        }
        Ok(None)
    }

    /// Processes a reply to an option, with its data.
    fn replied(&mut self, head: OptionReply, data: &[u8]) -> Result<Option<Agreed>, NegotiateError> {
        let OptionReply { option, kind, .. } = head;
        let is_go = option == option::GO;
        if kind == reply::ACK && is_go {
            let info = self.about.ok_or(WireError::Length)?;
            return Ok(Some(self.agreed(info)));
        }
        if kind == reply::ACK || kind & reply::ERROR != 0 && !is_go {
            self.structured = kind == reply::ACK;
            let go = Go { name: self.export.clone(), wanted: WANTED.to_vec() };
            self.ask(option::GO, &go.emit());
            return Ok(None);
        }
        if kind & reply::ERROR != 0 {
            let said = String::from_utf8_lossy(data);
            let why = if said.is_empty() { String::new() } else { format!(": {said}") };
            return match kind {
                reply::ERR_UNSUP => {
                    self.export_name();
                    Ok(None)
                }
                reply::ERR_UNKNOWN => Err(NegotiateError::NoExport(why)),
                _ => Err(NegotiateError::Refused(why)),
            };
        }
        if is_go && kind == reply::INFO {
            match Info::parse(data)? {
                Info::Export(export) => self.about = Some(export),
                Info::BlockSize(told) => self.sizes = told,
                Info::Name(text) => self.labels.name = Some(text),
                Info::Description(text) => self.labels.description = Some(text),
                Info::Other(_) => {}
            }
        }
        self.replies += 1;
        if self.replies == REPLIES {
            return Err(WireError::Length.into());
        }
        self.expect = Expect::Reply(option);
        Ok(None)
    }

    fn ask(&mut self, option: u32, data: &[u8]) {
        let len = u32::try_from(data.len()).unwrap_or(0);
        self.out.extend_from_slice(&OptionHeader { option, len }.emit());
        self.out.extend_from_slice(data);
        (self.expect, self.replies) = (Expect::Reply(option), 0);
    }

    /// Asks with EXPORT_NAME, the predecessor of GO: the server answers with size and flags, or hangs up.
    fn export_name(&mut self) {
        let name = self.export.clone();
        self.ask(option::EXPORT_NAME, name.as_bytes());
        (self.expect, self.sizes, self.labels) = (Expect::Told, Sizes::default(), Labels::default());
    }

    fn agreed(&mut self, info: ExportInfo) -> Agreed {
        let labels = std::mem::take(&mut self.labels);
        Agreed { info, sizes: self.sizes, structured: self.structured, labels }
    }
}
