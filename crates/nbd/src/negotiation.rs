//! The client's side of the negotiation: fixed newstyle, GO where the server has it, EXPORT_NAME where it does not.

use crate::wire::facts::{ExportInfo, Sizes};
use crate::wire::{Go, Greeting, Info, OptionHeader, OptionReply, WireError, handshake, info, option, reply};
use thiserror::Error;

/// Agreement of client and server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// Size and flags of the export.
    pub info: ExportInfo,
    /// Which requests it takes.
    pub sizes: Sizes,
    /// Reads are answered in chunks.
    pub structured: bool,
}

/// Why there is no export.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum NegotiateError {
    /// The server hung up before the end.
    #[error("the server hung up before an export was agreed on")]
    HungUp,
    /// The server said what it may not.
    #[error("the server speaks {0}")]
    Wire(#[from] WireError),
    /// The server has no such export.
    #[error("the server has no such export{0}")]
    NoExport(String),
    /// The server does not want to.
    #[error("the server refuses it{0}")]
    Refused(String),
}

/// Replies to one option at most; a server that says more is not worth it.
const REPLIES: usize = 1000;
/// Bytes that tell of an export after EXPORT_NAME: its size and its flags.
const TOLD: usize = 10;
/// Zeros behind them, unless the client wants none.
const ZEROS: usize = 124;

/// What the server says next.
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

/// A negotiation with a server over a fresh connection, up to the first request. It takes no byte that comes after.
#[derive(Debug)]
pub struct Negotiation {
    export: String,
    flags: u16,
    structured: bool,
    about: Option<ExportInfo>,
    sizes: Sizes,
    /// Replies to the option that was asked for last.
    replies: usize,
    expect: Expect,
    /// As long as what is expected, of which so many bytes have come.
    input: Vec<u8>,
    come: usize,
    out: Vec<u8>,
}

impl Negotiation {
    /// Begins one for an export; the empty name is the server's default one.
    #[must_use]
    pub fn new(export: &str) -> Self {
        Self {
            export: export.to_owned(),
            flags: 0,
            structured: false,
            about: None,
            sizes: Sizes::default(),
            replies: 0,
            expect: Expect::Greeting,
            input: vec![0; Greeting::LEN],
            come: 0,
            out: Vec::new(),
        }
    }

    /// Takes the bytes that are to be sent before the next ones are received.
    pub fn output(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.out)
    }

    /// Place where the next bytes received belong. Empty when all is agreed.
    pub fn room(&mut self) -> &mut [u8] {
        &mut self.input[self.come..]
    }

    /// Takes the first `octets` of [`Negotiation::room`], which have been received; gives what was agreed on at the end.
    ///
    /// # Errors
    /// See [`NegotiateError`].
    pub fn received(&mut self, octets: usize) -> Result<Option<Agreed>, NegotiateError> {
        self.come = self.come.saturating_add(octets).min(self.input.len());
        // The data of a reply may be no bytes at all.
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

    /// What it means that the server has hung up: EXPORT_NAME has no other way to fail.
    #[must_use]
    pub fn hung_up(&self) -> NegotiateError {
        match self.expect {
            Expect::Told => NegotiateError::NoExport(String::new()),
            _ => NegotiateError::HungUp,
        }
    }

    fn message(&mut self, octets: &[u8]) -> Result<Option<Agreed>, NegotiateError> {
        match self.expect {
            Expect::Greeting => {
                let greeting = Greeting::parse(octets.first_chunk().ok_or(WireError::Length)?)?;
                self.flags = greeting.flags & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
                self.out.extend_from_slice(&u32::from(self.flags).to_be_bytes());
                if self.flags & handshake::FIXED_NEWSTYLE == 0 {
                    // It would hang up at any option but this one.
                    self.export_name();
                } else {
                    self.ask(option::STRUCTURED_REPLY, &[]);
                }
            }
            Expect::Reply(option) => {
                let head = OptionReply::parse(octets.first_chunk().ok_or(WireError::Length)?)?;
                if head.option != option {
                    return Err(WireError::Magic.into());
                }
                self.expect = Expect::Data(head);
            }
            Expect::Data(head) => return self.replied(head, octets),
            Expect::Told => {
                let (size, flags) = octets.split_first_chunk().ok_or(WireError::Length)?;
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

    /// A reply to an option, with its data.
    fn replied(&mut self, head: OptionReply, data: &[u8]) -> Result<Option<Agreed>, NegotiateError> {
        let OptionReply { option, kind, .. } = head;
        let is_go = option == option::GO;
        if kind == reply::ACK && is_go {
            let info = self.about.ok_or(WireError::Length)?;
            return Ok(Some(self.agreed(info)));
        }
        if kind == reply::ACK || kind & reply::ERROR != 0 && !is_go {
            self.structured = kind == reply::ACK;
            let go = Go { name: self.export.clone(), wanted: vec![info::BLOCK_SIZE] };
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

    /// What there was before GO: the server answers with size and flags, or hangs up.
    fn export_name(&mut self) {
        let name = self.export.clone();
        self.ask(option::EXPORT_NAME, name.as_bytes());
        (self.expect, self.sizes) = (Expect::Told, Sizes::default());
    }

    fn agreed(&self, info: ExportInfo) -> Agreed {
        Agreed { info, sizes: self.sizes, structured: self.structured }
    }
}
