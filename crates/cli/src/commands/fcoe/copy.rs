//! `linerate fcoe read` and `linerate fcoe write`: between a LUN and a file.

mod stream;

use super::client::{Search, Turn, Which, Work, nothing, number};
use super::common::stopper;
use crate::commands::shared::ended;
use crate::print::{self, print};
use crate::trouble::Trouble;
use clap::Args;
use linerate_block::{Buffer, Operation, Tag};
use linerate_rt::Sleeper;
use linerate_rt::block::size;
use linerate_rt::fc::{Remote, RemoteCompletion};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;
use std::process::ExitCode;
use stream::{Sink, Source, Taken};

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
    #[arg(value_name = "FILE", default_value = "-", value_parser = crate::commands::shared::file)]
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
    /// The file until the copy begins, and whoever reads or writes it from then on.
    file: Option<File>,
    source: Option<Source>,
    sink: Option<Sink>,
    /// Octets of an input whose length is known.
    length: Option<u64>,
    search: Search,
    /// The disk's place and its block size.
    disk: Option<(usize, u64)>,
    /// The next octet of the LUN, and where the copy ends at the latest.
    at: u64,
    end: u64,
    /// No more requests follow.
    all_begun: bool,
    /// Requests under way, oldest first, each with its buffer once it has ended.
    under_way: VecDeque<(u32, Option<Buffer>)>,
    next_tag: u32,
    moved: u64,
    flushing: bool,
    /// What is wrong with the input, told when what came before is written.
    fault: Option<&'static str>,
    result: Option<Result<(), String>>,
}

/// Opens the file. Its length, if it is an input that has one: pipes and terminals have none.
fn open(arguments: &Arguments, way: Way) -> Result<(File, Option<u64>), Trouble> {
    let pipe = arguments.file.as_os_str() == "-";
    let opened = match (way, pipe) {
        (Way::Read, true) => std::io::stdout().as_fd().try_clone_to_owned().map(|fd| (File::from(fd), None)),
        // What it has stays until there is something to be written.
        (Way::Read, false) => {
            let file = File::options().write(true).create(true).truncate(false).open(&arguments.file);
            file.map(|file| (file, None))
        }
        (Way::Write, true) => std::io::stdin().as_fd().try_clone_to_owned().map(|fd| (File::from(fd), None)),
        (Way::Write, false) => File::open(&arguments.file).and_then(|mut file| {
            let kind = file.metadata()?.file_type();
            if !kind.is_file() && !kind.is_block_device() {
                return Ok((file, None));
            }
            let length = file.seek(SeekFrom::End(0))?;
            file.rewind()?;
            Ok((file, Some(length)))
        }),
    };
    let name = name(arguments, way);
    opened.map_err(|e| Trouble::usage(format!("{name}: {e}; give a file, or - for a pipe")))
}

/// What the file is called.
fn name(arguments: &Arguments, way: Way) -> String {
    match (arguments.file.as_os_str() == "-", way) {
        (true, Way::Read) => "standard output".to_owned(),
        (true, Way::Write) => "standard input".to_owned(),
        (false, _) => arguments.file.display().to_string(),
    }
}

pub(super) fn run(arguments: &Arguments, way: Way) -> Result<ExitCode, Trouble> {
    let (file, length) = open(arguments, way)?;
    let mut copy = Copy {
        arguments,
        way,
        file: Some(file),
        source: None,
        sink: None,
        length,
        search: Search::new(&arguments.which),
        disk: None,
        at: arguments.offset,
        end: match arguments.bytes.or(length) {
            Some(bytes) => arguments.offset.saturating_add(bytes),
            None => u64::MAX,
        },
        all_begun: false,
        under_way: VecDeque::new(),
        next_tag: 0,
        moved: 0,
        flushing: false,
        fault: None,
        result: None,
    };
    let stop = stopper(None)?;
    let example =
        if way == Way::Read { "fcoe read -i xdp:eth1 --lun 0 FILE" } else { "fcoe write -i xdp:eth1 --lun 0 FILE" };
    let remark = arguments.which.run(example, &stop, &mut copy)?;
    match copy.result {
        // The exit code says it.
        _ if print::is_unread() => Ok(ExitCode::SUCCESS),
        _ if stop.signal().is_some() => {
            eprintln!("linerate fcoe: ended by a signal; {} bytes were copied", copy.moved);
            Ok(ended(&stop))
        }
        Some(Ok(())) => {
            if !(arguments.file.as_os_str() == "-" && way == Way::Read) {
                print(&format!("{} bytes\n", copy.moved));
            }
            Ok(ExitCode::SUCCESS)
        }
        Some(Err(why)) => Err(Trouble::failed(why + remark)),
        None => Err(Trouble::failed("the copy did not end; try again")),
    }
}

impl Work for Copy<'_> {
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

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        // While there is no room for more, the input is not waited for.
        if let Some(source) = self.source.as_mut().filter(|_| !self.all_begun && self.under_way.len() < DEPTH) {
            visit(source.bell());
        }
        if let Some(sink) = &mut self.sink {
            visit(sink.bell());
        }
    }
}

impl Copy<'_> {
    fn go(&mut self, now: u64, remote: &mut Remote) -> Result<Turn, String> {
        let Some((unit, block)) = self.disk else { return self.find(now, remote) };
        let ended = self.take_ended(remote)?;
        let begun = match self.way {
            Way::Read => self.begin_reads(unit, block, remote),
            Way::Write => self.begin_writes(unit, block, remote)?,
        };
        let behind = self.sink.as_ref().map_or(0, Sink::behind);
        if !self.under_way.is_empty() || behind > 0 || !self.all_begun {
            return Ok(if ended || begun { Turn::Worked } else { Turn::Wait(None) });
        }
        if self.way == Way::Write && !self.flushing {
            self.flushing = true;
            let tag = self.tag();
            remote.submit(unit, tag, Operation::Flush);
            return Ok(Turn::Worked);
        }
        match self.fault {
            Some(fault) => Err(format!("{}: {fault}; {} bytes were written", self.name(), self.moved)),
            None => Ok(Turn::Done),
        }
    }

    fn name(&self) -> String {
        name(self.arguments, self.way)
    }

    /// Takes what has ended: on the LUN, and in the file.
    fn take_ended(&mut self, remote: &mut Remote) -> Result<bool, String> {
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
            match &mut self.sink {
                Some(sink) => sink.give(buffer),
                None => self.moved += buffer.len() as u64,
            }
        }
        let to_pipe = self.arguments.file.as_os_str() == "-";
        let told = |e: std::io::Error, name: String, moved| {
            if to_pipe && e.kind() == std::io::ErrorKind::BrokenPipe {
                print::unread();
            }
            format!("{name}: {e}; {moved} bytes were copied")
        };
        while let Some(sink) = &mut self.sink
            && let Some(n) = sink.written().map_err(|e| told(e, name(self.arguments, self.way), self.moved))?
        {
            worked = true;
            self.moved += n as u64;
        }
        Ok(worked)
    }

    fn tag(&mut self) -> Tag {
        self.next_tag = self.next_tag.wrapping_add(1);
        self.under_way.push_back((self.next_tag, None));
        Tag(self.next_tag)
    }

    /// Asks for what follows, no faster than the file takes it.
    fn begin_reads(&mut self, unit: usize, block: u64, remote: &mut Remote) -> bool {
        let before = self.at;
        while self.at < self.end && self.under_way.len() + self.sink.as_ref().map_or(0, Sink::behind) < DEPTH {
            let buffer = Buffer::new(usize::try_from(PIECE.min(self.end - self.at)).unwrap_or(0));
            let lba = self.at / block;
            self.at += buffer.len() as u64;
            let tag = self.tag();
            remote.submit(unit, tag, Operation::Read { lba, buffer });
        }
        self.all_begun = self.at >= self.end;
        self.at > before
    }

    /// Writes what the input has now.
    fn begin_writes(&mut self, unit: usize, block: u64, remote: &mut Remote) -> Result<bool, String> {
        let mut worked = false;
        while !self.all_begun && self.under_way.len() < DEPTH {
            let Some(source) = &mut self.source else { break };
            let taken = source.take();
            let mut buffer =
                match taken.map_err(|e| format!("{}: {e}; {} bytes were written", self.name(), self.moved))? {
                    Taken::Nothing => break,
                    Taken::Piece(buffer) => buffer,
                    Taken::End => {
                        (worked, self.all_begun) = (true, true);
                        if self.at < self.end && self.arguments.bytes.or(self.length).is_some() {
                            self.fault = Some("the input ended before as much had come as was to be written");
                        }
                        break;
                    }
                };
            worked = true;
            let (whole, room) = (buffer.len() as u64, self.end - self.at);
            let fits = whole.min(room) / block * block;
            if whole > room {
                (self.fault, self.all_begun) = (Some("the input is longer than the LUN's room for it"), true);
            } else if fits < whole {
                self.fault = Some("the input's length is no multiple of the LUN's block size: pad it");
                self.all_begun = true;
            }
            if fits > 0 {
                buffer.resize(usize::try_from(fits).unwrap_or(0));
                let lba = self.at / block;
                self.at += fits;
                let tag = self.tag();
                remote.submit(unit, tag, Operation::Write { lba, buffer, fua: false });
            }
        }
        Ok(worked)
    }

    /// Begins to read or write the file. What an output had is forgotten; what is no regular file forgets nothing.
    fn begin_file(&mut self) -> std::io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        if self.way == Way::Write {
            let limit = self.arguments.bytes.or(self.length);
            self.source = Some(Source::begin(file, usize::try_from(PIECE).unwrap_or(0), limit)?);
            return Ok(());
        }
        if self.arguments.file.as_os_str() != "-" && file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        self.sink = Some(Sink::begin(file, DEPTH)?);
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
                self.end = end;
                self.disk = Some((*unit, block));
                self.begin_file().map_err(|e| format!("{}: {e}", self.name()))?;
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
