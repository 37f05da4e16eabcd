//! Copies between a LUN and a file or pipe.

use super::client::{Search, Turn, Visit, Work, nothing};
use super::stream::{Sink, Source, Taken};
use linerate_block::{Buffer, Operation, Tag};
use linerate_rt::fc::{FcError, Remote, RemoteCompletion};
use linerate_rt::{Sleeper, stdout_was_closed};
use std::collections::VecDeque;
use std::fs::File;
use std::io::{Seek, SeekFrom};
use std::os::fd::AsFd;
use std::os::unix::fs::FileTypeExt;
use std::path::PathBuf;

/// Source, destination and extent of a copy.
#[derive(Clone, Debug)]
pub struct Order {
    pub way: CopyDirection,
    pub lun: u16,
    /// Offset on the LUN at which the copy begins, bytes: a multiple of its block size.
    pub offset: u64,
    /// Number of bytes, a multiple of the block size; `None` for all up to the end of the LUN, or of the file that is
    /// written to it.
    pub bytes: Option<u64>,
    /// The file; `None` for standard output or input.
    pub file: Option<PathBuf>,
}

#[derive(Debug)]
pub struct Copied {
    pub bytes: u64,
    /// Name of the LUN, WWPN/LUN; None if none was found.
    pub name: Option<String>,
    /// The LUN's protection information, and how it was checked; None if it has none.
    pub protection: Option<String>,
    /// True if the reader of standard output is gone.
    pub unread: bool,
    /// Failure in one line, if any.
    pub result: Result<(), String>,
}

/// Bytes per request, and number of requests at once.
const PIECE: u64 = 512 << 10;
const DEPTH: usize = 16;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CopyDirection {
    /// From the LUN.
    Read,
    /// To the LUN.
    Write,
}

struct Copy<'a> {
    order: &'a Order,
    /// The file until the copy begins; then it passes to `source` or `sink`.
    file: Option<File>,
    source: Option<Source>,
    sink: Option<Sink>,
    /// Length of the input in bytes, if known.
    length: Option<u64>,
    search: Search,
    /// Seconds to look for targets.
    timeout: u64,
    /// Index and block size of the disk.
    disk: Option<(usize, u64)>,
    /// Its name, with that of its target.
    name: Option<String>,
    /// Its protection information, and how it is checked.
    protection: Option<String>,
    /// Next byte of the LUN, and upper bound of the copy's end.
    at: u64,
    end: u64,
    /// True if no more requests follow.
    all_begun: bool,
    /// Requests in flight, oldest first, each with its buffer once it has ended.
    under_way: VecDeque<(u32, Option<Buffer>)>,
    next_tag: u32,
    moved: u64,
    flushing: bool,
    /// Fault of the input, reported when the data before it is written.
    fault: Option<&'static str>,
    unread: bool,
    result: Option<Result<(), String>>,
}

/// The file of a copy, open.
pub struct Opened {
    file: File,
    /// Length of an input in bytes; `None` for pipes and terminals.
    length: Option<u64>,
}

impl Order {
    pub fn open(&self) -> Result<Opened, String> {
        let opened = match (self.way, &self.file) {
            (CopyDirection::Read, None) if stdout_was_closed() => Err(std::io::Error::other("it is closed")),
            (CopyDirection::Read, None) => {
                std::io::stdout().as_fd().try_clone_to_owned().map(|fd| (File::from(fd), None))
            }
            // The contents are kept until there is something to write.
            (CopyDirection::Read, Some(path)) => {
                let file = File::options().write(true).create(true).truncate(false).open(path);
                file.map(|file| (file, None))
            }
            (CopyDirection::Write, None) => {
                std::io::stdin().as_fd().try_clone_to_owned().map(|fd| (File::from(fd), None))
            }
            (CopyDirection::Write, Some(path)) => File::open(path).and_then(|mut file| {
                let kind = file.metadata()?.file_type();
                if !kind.is_file() && !kind.is_block_device() {
                    return Ok((file, None));
                }
                let length = file.seek(SeekFrom::End(0))?;
                file.rewind()?;
                Ok((file, Some(length)))
            }),
        };
        let opened = opened.map(|(file, length)| Opened { file, length });
        opened.map_err(|e| format!("{}: {e}; give a file, or - for a pipe", self.name()))
    }

    /// Name of the file for messages.
    fn name(&self) -> String {
        match (&self.file, self.way) {
            (Some(path), _) => path.display().to_string(),
            (None, CopyDirection::Read) => "standard output".to_owned(),
            (None, CopyDirection::Write) => "standard input".to_owned(),
        }
    }
}

/// Copies until all is done or the visit's stop is requested.
///
/// # Errors
/// [`FcError`] when there can be no node on the port; later failures are in [`Copied`].
pub fn copy(order: &Order, Opened { file, length }: Opened, visit: Visit<'_>) -> Result<Copied, FcError> {
    let mut copy = Copy {
        order,
        file: Some(file),
        source: None,
        sink: None,
        length,
        search: Search::new(&visit),
        timeout: visit.timeout,
        disk: None,
        name: None,
        protection: None,
        at: order.offset,
        end: match order.bytes.or(length) {
            Some(bytes) => order.offset.saturating_add(bytes),
            None => u64::MAX,
        },
        all_begun: false,
        under_way: VecDeque::new(),
        next_tag: 0,
        moved: 0,
        flushing: false,
        fault: None,
        unread: false,
        result: None,
    };
    let remark = visit.work(&mut copy)?;
    let result = copy.result.unwrap_or_else(|| Err("the copy did not end; try again".to_owned()));
    let (bytes, name, protection, unread) = (copy.moved, copy.name, copy.protection, copy.unread);
    Ok(Copied { bytes, name, protection, unread, result: result.map_err(|why| why + remark) })
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
        // The input is not waited for while there is no room for more.
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
        let begun = match self.order.way {
            CopyDirection::Read => self.begin_reads(unit, block, remote),
            CopyDirection::Write => self.begin_writes(unit, block, remote)?,
        };
        let behind = self.sink.as_ref().map_or(0, Sink::behind);
        if !self.under_way.is_empty() || behind > 0 || !self.all_begun {
            return Ok(if ended || begun { Turn::Worked } else { Turn::Wait(None) });
        }
        if self.order.way == CopyDirection::Write && !self.flushing {
            self.flushing = true;
            let tag = self.tag();
            remote.submit(unit, tag, Operation::Flush);
            return Ok(Turn::Worked);
        }
        match self.fault {
            Some(fault) => Err(format!("{}: {fault}; {} bytes were written", self.order.name(), self.moved)),
            None => Ok(Turn::Done),
        }
    }

    /// Takes completions of the LUN and of the file.
    fn take_ended(&mut self, remote: &mut Remote) -> Result<bool, String> {
        let mut worked = false;
        while let Some(RemoteCompletion { completion, trouble, .. }) = remote.complete() {
            worked = true;
            completion.result.map_err(|e| {
                let why = trouble.unwrap_or(e.to_string());
                format!("{}: {why}; {} bytes were copied", self.name.as_deref().unwrap_or("LUN"), self.moved)
            })?;
            let Tag(tag) = completion.tag;
            if let Some(entry) = self.under_way.iter_mut().find(|(known, _)| *known == tag) {
                entry.1 = completion.buffer.or_else(|| Some(Buffer::new(0)));
            }
        }
        // In order, whatever the order of completion.
        while let Some((_, Some(_))) = self.under_way.front() {
            let Some((_, Some(buffer))) = self.under_way.pop_front() else { break };
            match &mut self.sink {
                Some(sink) => sink.give(buffer),
                None => self.moved += buffer.len() as u64,
            }
        }
        while let Some(sink) = &mut self.sink {
            match sink.written() {
                Ok(Some(n)) => (worked, self.moved) = (true, self.moved + n as u64),
                Ok(None) => break,
                Err(e) => {
                    self.unread = self.order.file.is_none() && e.kind() == std::io::ErrorKind::BrokenPipe;
                    return Err(format!("{}: {e}; {} bytes were copied", self.order.name(), self.moved));
                }
            }
        }
        Ok(worked)
    }

    fn tag(&mut self) -> Tag {
        self.next_tag = self.next_tag.wrapping_add(1);
        self.under_way.push_back((self.next_tag, None));
        Tag(self.next_tag)
    }

    /// Requests the next reads, no faster than the file is written.
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

    /// Writes the data that the input has now.
    fn begin_writes(&mut self, unit: usize, block: u64, remote: &mut Remote) -> Result<bool, String> {
        let mut worked = false;
        while !self.all_begun && self.under_way.len() < DEPTH {
            let Some(source) = &mut self.source else { break };
            let taken = source.take();
            let mut buffer =
                match taken.map_err(|e| format!("{}: {e}; {} bytes were written", self.order.name(), self.moved))? {
                    Taken::Nothing => break,
                    Taken::Piece(buffer) => buffer,
                    Taken::End => {
                        (worked, self.all_begun) = (true, true);
                        if self.at < self.end && self.order.bytes.or(self.length).is_some() {
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

    /// Begins to read or write the file. A regular output file is truncated first.
    fn begin_file(&mut self) -> std::io::Result<()> {
        let Some(file) = self.file.take() else { return Ok(()) };
        if self.order.way == CopyDirection::Write {
            let limit = self.order.bytes.or(self.length);
            self.source = Some(Source::begin(file, usize::try_from(PIECE).unwrap_or(0), limit)?);
            return Ok(());
        }
        if self.order.file.is_some() && file.metadata()?.is_file() {
            file.set_len(0)?;
        }
        self.sink = Some(Sink::begin(file, DEPTH)?);
        Ok(())
    }

    /// Waits for the disk, and checks that the copy fits on it.
    fn find(&mut self, now: u64, remote: &Remote) -> Result<Turn, String> {
        let wanted = self.order.lun.to_string();
        let turn = self.search.turn(now, remote);
        let there: Vec<usize> = (0..remote.units().len()).filter(|i| remote.units()[*i].number() == wanted).collect();
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
                if self.order.way == CopyDirection::Write && lun.read_only {
                    return Err(format!("LUN {wanted} is read-only"));
                }
                self.end = end;
                (self.name, self.protection) = (Some(remote.units()[*unit].name()), remote.units()[*unit].protection());
                self.disk = Some((*unit, block));
                self.begin_file().map_err(|e| format!("{}: {e}", self.order.name()))?;
                Ok(Turn::Worked)
            }
            ([_, _, ..], Turn::Done) => {
                Err(format!("several targets have a LUN {wanted}: choose one by --target WWPN (fcoe ls shows them)"))
            }
            (_, Turn::Done) if remote.scanned().unwrap_or(0) == 0 => Err(nothing("target", self.timeout)),
            (_, Turn::Done) => Err(match remote.failures().first() {
                Some((wwpn, error)) => format!("{wwpn}: {error}"),
                None => format!("no LUN {wanted} was found: fcoe ls shows what there is"),
            }),
            _ => Ok(turn),
        }
    }
}
