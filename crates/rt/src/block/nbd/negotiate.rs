//! The client's side of the negotiation: fixed newstyle, GO where the server has it, EXPORT_NAME where it does not.

use super::info::{ExportInfo, Sizes};
use super::wire::{Go, Greeting, Info, OptionHeader, OptionReply, WireError, handshake, info, option, reply};
use std::io::{self, Read, Write};
use thiserror::Error;

/// What client and server have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Agreed {
    /// What the export is.
    pub info: ExportInfo,
    /// Which requests it takes.
    pub sizes: Sizes,
    /// Reads are answered in chunks.
    pub structured: bool,
}

/// Why there is no export.
#[derive(Debug, Error)]
pub enum NegotiateError {
    /// The connection failed, or the time was over.
    #[error("the connection failed ({0})")]
    Io(#[from] io::Error),
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

/// Negotiates over a fresh connection, up to the first request.
///
/// # Errors
/// See [`NegotiateError`].
pub fn negotiate<S: Read + Write>(stream: &mut S, export: &str) -> Result<Agreed, NegotiateError> {
    let mut greeting = [0; Greeting::LEN];
    stream.read_exact(&mut greeting)?;
    let greeting = Greeting::parse(&greeting)?;
    let flags = greeting.flags & (handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
    stream.write_all(&u32::from(flags).to_be_bytes())?;
    if flags & handshake::FIXED_NEWSTYLE == 0 {
        // It would hang up at any option but this one.
        return export_name(stream, export, flags, false);
    }
    ask(stream, option::STRUCTURED_REPLY, &[])?;
    let structured = answer(stream, option::STRUCTURED_REPLY, |_, _| Ok(()))?.is_ok();
    ask(stream, option::GO, &Go { name: export.to_owned(), wanted: vec![info::BLOCK_SIZE] }.emit())?;
    let (mut about, mut sizes) = (None, Sizes::default());
    let went = answer(stream, option::GO, |kind, data| {
        if kind == reply::INFO {
            match Info::parse(data)? {
                Info::Export(export) => about = Some(export),
                Info::BlockSize(told) => sizes = told,
                Info::Other(_) => {}
            }
        }
        Ok(())
    })?;
    match (went, about) {
        (Ok(()), Some(info)) => Ok(Agreed { info, sizes, structured }),
        (Ok(()), None) => Err(WireError::Length.into()),
        (Err((reply::ERR_UNSUP, _)), _) => export_name(stream, export, flags, structured),
        (Err((reply::ERR_UNKNOWN, why)), _) => Err(NegotiateError::NoExport(why)),
        (Err((_, why)), _) => Err(NegotiateError::Refused(why)),
    }
}

fn ask<S: Write>(stream: &mut S, option: u32, data: &[u8]) -> io::Result<()> {
    let len = u32::try_from(data.len()).unwrap_or(0);
    stream.write_all(&[&OptionHeader { option, len }.emit()[..], data].concat())
}

/// Takes the replies to an option up to the last: an acknowledgement, or an error's type and what the server said of it.
fn answer<S: Read>(
    stream: &mut S,
    option: u32,
    mut each: impl FnMut(u32, &[u8]) -> Result<(), WireError>,
) -> Result<Result<(), (u32, String)>, NegotiateError> {
    for _ in 0..REPLIES {
        let mut head = [0; OptionReply::LEN];
        stream.read_exact(&mut head)?;
        let head = OptionReply::parse(&head)?;
        let mut data = vec![0; usize::try_from(head.len).unwrap_or(0)];
        stream.read_exact(&mut data)?;
        if head.option != option {
            return Err(WireError::Magic.into());
        }
        match head.kind {
            reply::ACK => return Ok(Ok(())),
            kind if kind & reply::ERROR != 0 => {
                let said = String::from_utf8_lossy(&data);
                let why = if said.is_empty() { String::new() } else { format!(": {said}") };
                return Ok(Err((kind, why)));
            }
            kind => each(kind, &data)?,
        }
    }
    Err(WireError::Length.into())
}

/// What there was before GO: the server answers with size and flags, or hangs up.
fn export_name<S: Read + Write>(
    stream: &mut S,
    export: &str,
    flags: u16,
    structured: bool,
) -> Result<Agreed, NegotiateError> {
    ask(stream, option::EXPORT_NAME, export.as_bytes())?;
    let mut told = [0; 10];
    stream.read_exact(&mut told).map_err(|e| match e.kind() {
        io::ErrorKind::UnexpectedEof => NegotiateError::NoExport(String::new()),
        _ => e.into(),
    })?;
    if flags & handshake::NO_ZEROES == 0 {
        stream.read_exact(&mut [0; 124])?;
    }
    let (size, export_flags) = told.split_at(8);
    let info = ExportInfo {
        size: u64::from_be_bytes(size.try_into().unwrap_or_default()),
        flags: u16::from_be_bytes(export_flags.try_into().unwrap_or_default()),
    };
    Ok(Agreed { info, sizes: Sizes::default(), structured })
}
