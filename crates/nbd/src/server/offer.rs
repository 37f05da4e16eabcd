//! The server's side of the negotiation, bytes in and bytes out.

use crate::service::Export;
use crate::wire::{
    Go, Greeting, Info, LONGEST_NAME, LONGEST_OPTION, OptionHeader, OptionReply, WireError, handshake, info, option,
    reply,
};

/// Most options that a client may send before it must choose an export.
const OPTIONS: u32 = 100;

/// Most names of exports in the refusal of the default one.
const NAMED: usize = 16;

/// Outcome of the client's bytes so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// More bytes must arrive first.
    More,
    /// The client has chosen the export at this place: requests follow.
    Begin(usize),
    /// The client has gone, or broke the protocol: close the connection.
    End,
}

/// State of one negotiation.
#[derive(Debug)]
pub(super) struct Offer {
    /// The client's flags, once they have arrived.
    flags: Option<u32>,
    structured: bool,
    asked: u32,
    /// Answer to the client's last question for the default export, until it is taken: the export, if there is one.
    default: Option<Option<usize>>,
}

impl Offer {
    /// Starts a negotiation: writes the greeting.
    pub(super) fn new(out: &mut Vec<u8>) -> Self {
        out.extend_from_slice(&Greeting { flags: handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES }.emit());
        Self { flags: None, structured: false, asked: 0, default: None }
    }

    /// True if reads are to be answered in chunks.
    pub(super) fn is_structured(&self) -> bool {
        self.structured
    }

    /// Takes the answer to a question for the default export.
    pub(super) fn take_default(&mut self) -> Option<Option<usize>> {
        self.default.take()
    }

    /// Processes received bytes; returns the number of bytes used, and the outcome. Answers go to `out`.
    pub(super) fn handle(&mut self, input: &[u8], exports: &[Export], out: &mut Vec<u8>) -> (usize, Verdict) {
        let Some(flags) = self.flags else {
            let Some(bytes) = input.first_chunk() else { return (0, Verdict::More) };
            let flags = u32::from_be_bytes(*bytes);
            let known = u32::from(handshake::FIXED_NEWSTYLE | handshake::NO_ZEROES);
            self.flags = Some(flags);
            return (4, if flags & !known == 0 { Verdict::More } else { Verdict::End });
        };
        let Some((head, rest)) = input.split_first_chunk() else { return (0, Verdict::More) };
        let Ok(head) = OptionHeader::parse(head) else { return (0, Verdict::End) };
        self.asked += 1;
        // A client whose option is longer than any defined one, or that sends too many, is dropped.
        if head.len > LONGEST_OPTION || self.asked > OPTIONS {
            return (0, Verdict::End);
        }
        let len = head.len as usize;
        let Some(data) = rest.get(..len) else {
            self.asked -= 1;
            return (0, Verdict::More);
        };
        (OptionHeader::LEN + len, self.option(head.option, data, flags, exports, out))
    }

    fn option(&mut self, kind: u32, data: &[u8], flags: u32, exports: &[Export], out: &mut Vec<u8>) -> Verdict {
        match kind {
            option::EXPORT_NAME => {
                let name = std::str::from_utf8(data).ok().filter(|name| name.len() <= LONGEST_NAME);
                let Some(place) = name.and_then(|name| self.find(exports, name)) else { return Verdict::End };
                let info = exports[place].info();
                out.extend_from_slice(&info.size.to_be_bytes());
                out.extend_from_slice(&info.flags.to_be_bytes());
                if flags & u32::from(handshake::NO_ZEROES) == 0 {
                    out.extend_from_slice(&[0; 124]);
                }
                return Verdict::Begin(place);
            }
            option::ABORT => {
                answer(out, kind, reply::ACK, &[]);
                return Verdict::End;
            }
            option::LIST if data.is_empty() => {
                for export in exports.iter().filter(|export| !export.ended) {
                    let name = export.name.as_bytes();
                    let len = u32::try_from(name.len()).unwrap_or(0).to_be_bytes();
                    answer(out, kind, reply::SERVER, &[&len[..], name, export.description.as_bytes()].concat());
                }
                answer(out, kind, reply::ACK, &[]);
            }
            option::STRUCTURED_REPLY if data.is_empty() => {
                self.structured = true;
                answer(out, kind, reply::ACK, &[]);
            }
            option::INFO | option::GO => match Go::parse(data) {
                Err(WireError::Length | WireError::Magic | WireError::OldStyle) => {
                    answer(out, kind, reply::ERR_INVALID, b"the lengths do not fit");
                }
                Ok(go) => {
                    let Some(place) = self.find(exports, &go.name) else {
                        answer(out, kind, reply::ERR_UNKNOWN, missing(exports, &go.name).as_bytes());
                        return Verdict::More;
                    };
                    tell(out, kind, &exports[place], &go.wanted);
                    answer(out, kind, reply::ACK, &[]);
                    if kind == option::GO {
                        return Verdict::Begin(place);
                    }
                }
            },
            option::LIST | option::STRUCTURED_REPLY => answer(out, kind, reply::ERR_INVALID, b"it takes no data"),
            _ => answer(out, kind, reply::ERR_UNSUP, &[]),
        }
        Verdict::More
    }

    /// Place of the export of a name. The empty name is that of the only export, and of none from the second one on: it
    /// never means another disk than before.
    fn find(&mut self, exports: &[Export], name: &str) -> Option<usize> {
        let by_name = exports.iter().position(|export| export.name == name);
        let only = || (name.is_empty() && exports.len() == 1).then_some(0);
        let place = by_name.or_else(only).filter(|at| !exports[*at].ended);
        if name.is_empty() {
            self.default = Some(place);
        }
        place
    }
}

/// Tells a client about an export: size, flags and request sizes always, the rest if it asked.
fn tell(out: &mut Vec<u8>, kind: u32, export: &Export, wanted: &[u16]) {
    answer(out, kind, reply::INFO, &Info::Export(export.info()).emit());
    answer(out, kind, reply::INFO, &Info::BlockSize(export.sizes()).emit());
    for (asked, text) in [(info::NAME, &export.name), (info::DESCRIPTION, &export.description)] {
        if wanted.contains(&asked) {
            answer(out, kind, reply::INFO, &[&asked.to_be_bytes()[..], text.as_bytes()].concat());
        }
    }
}

/// Reason that there is no export of this name, for people.
fn missing(exports: &[Export], name: &str) -> String {
    if !name.is_empty() || exports.len() < 2 {
        return "there is no such export".to_owned();
    }
    let names: Vec<&str> = exports.iter().filter(|export| !export.ended).map(|export| export.name.as_str()).collect();
    let more = names.len().saturating_sub(NAMED);
    let more = if more > 0 { format!(" and {more} more") } else { String::new() };
    let some = names.iter().take(NAMED).copied().collect::<Vec<_>>().join(", ");
    format!("there is no default export where there were several: name one of {some}{more}")
}

fn answer(out: &mut Vec<u8>, option: u32, kind: u32, data: &[u8]) {
    let len = u32::try_from(data.len()).unwrap_or(0);
    out.extend_from_slice(&OptionReply { option, kind, len }.emit());
    out.extend_from_slice(data);
}
