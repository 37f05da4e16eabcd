//! `linerate fcoe read` and `linerate fcoe write`: between a LUN and a file.

use super::client::{Search, Turn, Which, nothing, number};
use super::common::stopper;
use crate::commands::shared::ended;
use crate::trouble::{Trouble, print};
use clap::Args;
use linerate_fcoe::{Buffer, Operation, Tag};
use linerate_rt::block::size;
use linerate_rt::fc::{Remote, RemoteCompletion};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::process::ExitCode;

#[derive(Args)]
pub(super) struct Arguments {
    #[command(flatten)]
    which: Which,
    /// The LUN.
    #[arg(long, value_name = "N", default_value_t = 0)]
    lun: u16,
    /// Where on the LUN to begin, in bytes or as 64k, 64M, 2G, 1T (powers of 1024): a multiple of its block size.
    #[arg(long, value_name = "SIZE", default_value = "0", value_parser = octets)]
    offset: u64,
    /// How much, in bytes or as 64k, 64M, 2G, 1T: a multiple of its block size; otherwise to the end of the LUN, or of
    /// the file that is written to it.
    #[arg(long, value_name = "SIZE", value_parser = octets)]
    bytes: Option<u64>,
    /// The file; - is standard output or input.
    #[arg(value_name = "FILE", default_value = "-")]
    file: PathBuf,
}

fn octets(text: &str) -> Result<u64, String> {
    size(text).ok_or_else(|| "give bytes, or K, M, G or T of them, as 4096 or 64M".to_owned())
}

/// Octets of a request, and requests at once.
const PIECE: u64 = 512 << 10;
const DEPTH: usize = 16;

/// Which way.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Way {
    /// From the LUN.
    Read,
    /// To the LUN.
    Write,
}

/// A copy under way.
struct Copy<'a> {
    arguments: &'a Arguments,
    way: Way,
    file: Stream,
    search: Search,
    /// The disk's place, its block size, and where it ends.
    disk: Option<(usize, u64, u64)>,
    /// The next octet of the LUN, and where the copy ends.
    at: u64,
    end: u64,
    /// Requests under way, oldest first, each with its buffer once it has ended.
    under_way: std::collections::VecDeque<(u32, Option<Buffer>)>,
    next_tag: u32,
    moved: u64,
    flushing: bool,
    result: Option<Result<(), String>>,
}

/// Where octets come from or go.
enum Stream {
    In(Box<dyn Read>),
    Out(Box<dyn Write>),
    File(File),
}

impl Stream {
    /// Fills `to`, or as much of it as there is; how much.
    fn take(&mut self, to: &mut [u8]) -> std::io::Result<usize> {
        let Self::In(from) = self else { return Ok(0) };
        let mut all = 0;
        while all < to.len() {
            match from.read(&mut to[all..]) {
                Ok(0) => break,
                Ok(n) => all += n,
                Err(e) if e.kind() == std::io::ErrorKind::Interrupted => {}
                Err(e) => return Err(e),
            }
        }
        Ok(all)
    }

    fn give(&mut self, octets: &[u8]) -> std::io::Result<()> {
        match self {
            Self::In(_) => Ok(()),
            Self::Out(to) => to.write_all(octets),
            Self::File(to) => to.write_all(octets),
        }
    }

    /// Forgets what was there before; what is no regular file forgets nothing.
    fn begin(&mut self) -> std::io::Result<()> {
        match self {
            Self::File(to) if to.metadata()?.is_file() => to.set_len(0),
            _ => Ok(()),
        }
    }
}

pub(super) fn run(arguments: &Arguments, way: Way) -> Result<ExitCode, Trouble> {
    let name = arguments.file.display();
    let wrong = |e: std::io::Error| Trouble::usage(format!("{name}: {e}; give a file, or - for a pipe"));
    let pipe = arguments.file.as_os_str() == "-";
    let (file, length) = match (way, pipe) {
        (Way::Read, true) => (Stream::Out(Box::new(std::io::stdout().lock())), None),
        // What it has stays until there is something to be written.
        (Way::Read, false) => {
            let file = File::options().write(true).create(true).truncate(false).open(&arguments.file).map_err(wrong)?;
            (Stream::File(file), None)
        }
        (Way::Write, true) => (Stream::In(Box::new(std::io::stdin().lock())), None),
        (Way::Write, false) => {
            let mut file = File::open(&arguments.file).map_err(wrong)?;
            let length = file.seek(SeekFrom::End(0)).and_then(|end| file.rewind().map(|()| end)).map_err(wrong)?;
            (Stream::In(Box::new(file)), Some(length))
        }
    };
    let mut copy = Copy {
        arguments,
        way,
        file,
        search: Search::new(&arguments.which),
        disk: None,
        at: arguments.offset,
        end: match (arguments.bytes, length) {
            (Some(bytes), _) | (None, Some(bytes)) => arguments.offset.saturating_add(bytes),
            (None, None) => u64::MAX,
        },
        under_way: std::collections::VecDeque::new(),
        next_tag: 0,
        moved: 0,
        flushing: false,
        result: None,
    };
    let stop = stopper(None)?;
    let example =
        if way == Way::Read { "fcoe read -i xdp:eth1 --lun 0 FILE" } else { "fcoe write -i xdp:eth1 --lun 0 FILE" };
    let remark = arguments.which.run(example, &stop, |now, remote| copy.turn(now, remote))?;
    if stop.signal().is_some() {
        return Ok(ended(&stop));
    }
    match copy.result {
        Some(Ok(())) => {
            if !(pipe && way == Way::Read) {
                print(&format!("{} bytes\n", copy.moved));
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(Err(why)) => Err(Trouble::failed(why + remark)),
        None => Err(Trouble::failed("the copy did not end; try again")),
    }
}

impl Copy<'_> {
    fn turn(&mut self, now: u64, remote: &mut Remote) -> Turn {
        match self.go(now, remote) {
            Ok(turn) => {
                if matches!(turn, Turn::Done) {
                    self.result = Some(Ok(()));
                }
                turn
            }
            Err(why) => {
                self.result = Some(Err(why));
                Turn::Done
            }
        }
    }

    fn go(&mut self, now: u64, remote: &mut Remote) -> Result<Turn, String> {
        let Some((unit, block, end)) = self.disk else { return self.find(now, remote) };
        let mut worked = false;
        while let Some(RemoteCompletion { completion, trouble, .. }) = remote.complete() {
            worked = true;
            completion.result.map_err(|e| {
                let why = trouble.unwrap_or(e.to_string());
                format!("LUN {}: {why}; {} bytes were copied", self.arguments.lun, self.moved)
            })?;
            let Tag(tag) = completion.tag;
            if let Some(entry) = self.under_way.iter_mut().find(|(known, _)| *known == tag) {
                entry.1 = completion.buffer.or_else(|| Some(Buffer::new(0)));
            }
        }
        // In order, whatever order they ended in.
        while let Some((_, Some(_))) = self.under_way.front() {
            let Some((_, Some(buffer))) = self.under_way.pop_front() else { break };
            if self.way == Way::Read {
                self.file.give(buffer.bytes()).map_err(|e| format!("{}: {e}", self.arguments.file.display()))?;
            }
            self.moved += buffer.len() as u64;
        }
        while self.under_way.len() < DEPTH && self.at < end && !self.flushing {
            worked = true;
            self.begin(unit, block, end, remote)?;
        }
        if !self.under_way.is_empty() {
            return Ok(if worked { Turn::Worked } else { Turn::Wait(None) });
        }
        if self.way == Way::Write && !self.flushing {
            self.flushing = true;
            remote.submit(unit, self.tag(), Operation::Flush);
            return Ok(Turn::Worked);
        }
        Ok(Turn::Done)
    }

    fn tag(&mut self) -> Tag {
        self.next_tag = self.next_tag.wrapping_add(1);
        self.under_way.push_back((self.next_tag, None));
        Tag(self.next_tag)
    }

    fn begin(&mut self, unit: usize, block: u64, end: u64, remote: &mut Remote) -> Result<(), String> {
        let mut buffer = Buffer::new(usize::try_from(PIECE.min(end - self.at)).unwrap_or(0));
        let lba = self.at / block;
        if self.way == Way::Write {
            let taken =
                self.file.take(buffer.bytes_mut()).map_err(|e| format!("{}: {e}", self.arguments.file.display()))?;
            if taken < buffer.len() {
                // The input has ended.
                if !(taken as u64).is_multiple_of(block) {
                    return Err(format!(
                        "the input's length is no multiple of the LUN's {block} bytes a block: pad it"
                    ));
                }
                self.disk = Some((unit, block, self.at + taken as u64));
                buffer.resize(taken);
            }
            if taken == 0 {
                return Ok(());
            }
        }
        self.at += buffer.len() as u64;
        let tag = self.tag();
        let operation = match self.way {
            Way::Read => Operation::Read { lba, buffer },
            Way::Write => Operation::Write { lba, buffer, fua: false },
        };
        remote.submit(unit, tag, operation);
        Ok(())
    }

    /// Waits for the disk, and checks that the copy fits it.
    fn find(&mut self, now: u64, remote: &Remote) -> Result<Turn, String> {
        let wanted = self.arguments.lun.to_string();
        let turn = self.search.turn(now, remote);
        let there: Vec<usize> = (0..remote.units().len()).filter(|i| number(&remote.units()[*i]) == wanted).collect();
        let scanned = remote.scanned().is_some_and(|scanned| scanned > 0) && matches!(turn, Turn::Done);
        match (&there[..], &turn) {
            ([unit], _) if scanned => {
                let lun = &remote.units()[*unit].lun;
                let block = u64::from(lun.block_size);
                let size = lun.blocks.saturating_mul(block);
                let (at, end) = (self.at, if self.end == u64::MAX { size } else { self.end });
                if !at.is_multiple_of(block) || !end.is_multiple_of(block) {
                    return Err(format!("offset and length must be multiples of the LUN's {block} bytes a block"));
                }
                if end > size || at > end {
                    return Err(format!("{at} to {end} is beyond the LUN's {size} bytes: give less"));
                }
                if self.way == Way::Write && lun.read_only {
                    return Err(format!("LUN {wanted} is read-only"));
                }
                self.file.begin().map_err(|e| format!("{}: {e}", self.arguments.file.display()))?;
                self.disk = Some((*unit, block, end));
                Ok(Turn::Worked)
            }
            ([_, _, ..], Turn::Done) => {
                Err(format!("several targets have a LUN {wanted}: choose one by --target WWPN (fcoe ls shows them)"))
            }
            (_, Turn::Done) if remote.scanned().unwrap_or(0) == 0 => {
                Err(nothing("target", self.arguments.which.timeout))
            }
            (_, Turn::Done) => Err(format!("no LUN {wanted} was found: fcoe ls shows what there is")),
            _ => Ok(turn),
        }
    }
}
