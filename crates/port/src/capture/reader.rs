//! The reader of both formats.

use super::classic::{Classic, HEAD, Head, Order};
use super::ng::{self, Said, Section};
use super::window::{WINDOW, Window};
use super::{CaptureError, Record, SHORTEST, SNAPLEN, Source};
use std::io::{Read, Seek};
use std::path::Path;

/// Steps that opening looks ahead for the first record.
const LOOK_AHEAD: usize = 1024;

/// Number of records, blocks or windows skipped in a row after which the capture counts as over.
const FRUITLESS: u32 = 1 << 16;

/// Counters of a reader.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records found, including the next one if it has been looked for.
    pub records: u64,
    /// Records among them that were captured shorter than their frames were.
    pub truncated: u64,
    /// Records skipped because they are no frames or are damaged; a capture that is cut or damaged for good counts as
    /// one.
    pub bad: u64,
    /// Frames skipped because their interface is not Ethernet, or not the requested one.
    pub other: u64,
}

/// Reads the records of a capture one after the other.
///
/// ```no_run
/// # use linerate_port::capture::Reader;
/// let mut reader = Reader::open("replay.pcapng".as_ref())?;
/// while let Some(record) = reader.read()? {
///     println!("{} {}", record.time_ns, record.data.len());
/// }
/// # Ok::<(), linerate_port::capture::CaptureError>(())
/// ```
#[derive(Debug)]
pub struct Reader<R = Source> {
    name: String,
    window: Window<R>,
    format: Format,
    counts: Counts,
    staged: Option<Staged>,
    /// The staged record was returned by [`Reader::read`].
    given: bool,
    /// Steps since the last record.
    fruitless: u32,
    /// The only interface of each section whose frames are wanted.
    only: Option<u32>,
    /// The wanted interface, or any that is Ethernet, was described.
    described: bool,
    /// The link type of an interface that is not Ethernet.
    foreign: Option<u32>,
}

#[derive(Debug)]
enum Format {
    /// The file's header has not been read.
    Unknown,
    Classic(Classic),
    Ng(Section),
    /// In a pcapng block longer than the window.
    Skipping(Section, Skip),
    /// At the end.
    Over,
}

#[derive(Clone, Copy, Debug)]
struct Skip {
    /// Bytes before the block's second length.
    left: u64,
    /// Expected value of the second length.
    len: u32,
}

/// A record at the window's start.
#[derive(Clone, Debug)]
struct Staged {
    time_ns: u64,
    orig_len: u32,
    /// Place of its first byte, and number of its bytes.
    at: usize,
    captured: u32,
    /// Bytes to the next record or block.
    len: usize,
}

/// Outcome of one step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stage {
    /// A record, which stays until [`Reader::advance`].
    Record,
    /// No record in this step; there may be more.
    Skipped,
    /// End of the capture.
    End,
}

impl Reader {
    /// Opens a file and looks for its first record, so that a file that is no capture is refused here; a file that
    /// [`super::Writer`] is writing is refused too. Waits for a writer if it is a named pipe.
    pub fn open(path: &Path) -> Result<Self, CaptureError> {
        Self::open_only(path, None)
    }

    /// Opens a file as [`Reader::open`] does, for the frames of one interface alone ([`Reader::only`]).
    pub fn open_only(path: &Path, interface: Option<u32>) -> Result<Self, CaptureError> {
        let mut reader = Self::new(path.display().to_string(), Source::open(path, true)?).only(interface);
        reader.look_ahead()?;
        Ok(reader)
    }
}

impl<R: Read> Reader<R> {
    /// Reads from any source; `name` is for error messages. Nothing is read yet.
    pub fn new(name: impl Into<String>, source: R) -> Self {
        Self {
            name: name.into(),
            window: Window::new(source),
            format: Format::Unknown,
            counts: Counts::default(),
            staged: None,
            given: false,
            fruitless: 0,
            only: None,
            described: false,
            foreign: None,
        }
    }

    /// Restricts the reader to the frames of one interface, counted from 0 in each section.
    #[must_use]
    pub fn only(mut self, interface: Option<u32>) -> Self {
        self.only = interface;
        self
    }

    /// The next record; None at the end. A record that is damaged is skipped and counted ([`Reader::counts`]).
    /// After an error that is not [`CaptureError::is_later`], the capture is at its end.
    pub fn read(&mut self) -> Result<Option<Record<'_>>, CaptureError> {
        if self.given {
            self.advance();
        }
        loop {
            match self.stage()? {
                Stage::Record => break,
                Stage::Skipped => {}
                Stage::End => return Ok(None),
            }
        }
        self.given = true;
        Ok(self.staged())
    }

    /// Counters so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.counts
    }

    /// Source that it reads from.
    #[must_use]
    pub fn source(&self) -> &R {
        self.window.source()
    }

    /// Number of reads from the source so far.
    pub(crate) fn reads(&self) -> u64 {
        self.window.reads
    }

    /// Stages the first record if it is near.
    pub(crate) fn look_ahead(&mut self) -> Result<(), CaptureError> {
        for _ in 0..LOOK_AHEAD {
            if self.stage()? != Stage::Skipped {
                break;
            }
        }
        Ok(())
    }

    /// Makes one step towards the next record: bounded work, unlike [`Reader::read`], which continues until there is
    /// one.
    pub(crate) fn stage(&mut self) -> Result<Stage, CaptureError> {
        if self.staged.is_some() {
            return Ok(Stage::Record);
        }
        let step = match &self.format {
            Format::Unknown => self.begin(),
            Format::Classic(classic) => self.classic(*classic),
            Format::Ng(section) => self.block(section.order),
            Format::Skipping(_, skip) => self.skip(*skip),
            Format::Over => Ok(Stage::End),
        };
        let step = step
            .and_then(|stage| if stage == Stage::End { self.nothing_fit().map_or(Ok(stage), Err) } else { Ok(stage) });
        match step {
            Ok(Stage::Record) => self.fruitless = 0,
            Ok(Stage::Skipped) => {
                self.fruitless += 1;
                if self.fruitless > FRUITLESS {
                    return Ok(self.end(false));
                }
            }
            Err(ref error) if !error.is_later() => self.format = Format::Over,
            _ => {}
        }
        step
    }

    /// The staged record.
    pub(crate) fn staged(&self) -> Option<Record<'_>> {
        let Staged { time_ns, orig_len, at, captured, len } = *self.staged.as_ref()?;
        let data = &self.window.view(len)[at..at + captured as usize];
        Some(Record { time_ns, orig_len, data })
    }

    /// Moves on from the staged record.
    pub(crate) fn advance(&mut self) {
        self.given = false;
        if let Some(staged) = self.staged.take() {
            self.window.pass(staged.len);
        }
    }

    /// Reason that a finished capture held no wanted frame.
    fn nothing_fit(&mut self) -> Option<CaptureError> {
        let name = || self.name.clone();
        let why = match (self.described, self.only, self.foreign) {
            (true, ..) | (false, None, None) => None,
            (false, Some(wanted), _) => Some(CaptureError::NoInterface { name: name(), wanted }),
            (false, None, Some(link)) => Some(CaptureError::LinkType { name: name(), link }),
        };
        // Reported once only.
        self.described = true;
        why
    }

    fn need(&mut self, n: usize) -> Result<bool, CaptureError> {
        self.window.need(n).map_err(|source| CaptureError::Read { name: self.name.clone(), source })
    }

    fn begin(&mut self) -> Result<Stage, CaptureError> {
        let no_capture = |reader: &Self| {
            let (name, mut magic) = (reader.name.clone(), [0; 4]);
            let n = reader.window.available().min(4);
            magic[..n].copy_from_slice(reader.window.view(n));
            if n == 0 { CaptureError::Empty { name } } else { CaptureError::NotCapture { name, magic } }
        };
        if self.need(12)? && self.window.view(4) == ng::SHB.to_le_bytes() {
            let order = ng::order(self.window.view(12)).ok_or_else(|| no_capture(self))?;
            self.format = Format::Ng(Section::before_any(order));
            return Ok(Stage::Skipped);
        }
        let head = if self.need(HEAD)? { self.window.view(HEAD).first_chunk().copied() } else { None };
        let classic = head.and_then(|head| Classic::parse(&head)).ok_or_else(|| no_capture(self))?;
        if classic.link != 1 {
            return Err(CaptureError::LinkType { name: self.name.clone(), link: classic.link });
        }
        if let Some(wanted) = self.only.filter(|n| *n > 0) {
            return Err(CaptureError::NoInterface { name: self.name.clone(), wanted });
        }
        self.described = true;
        self.window.pass(HEAD);
        self.format = Format::Classic(classic);
        Ok(Stage::Skipped)
    }

    fn classic(&mut self, classic: Classic) -> Result<Stage, CaptureError> {
        let record = classic.record;
        if !self.need(record)? {
            return Ok(self.end(self.window.available() == 0));
        }
        let head = classic.head(self.window.view(record));
        if head.captured > SNAPLEN || !self.need(record + head.captured as usize)? {
            return Ok(self.end(false));
        }
        let Head { time_ns, captured, original: orig_len } = head;
        let len = record + captured as usize;
        Ok(self.found(Staged { time_ns, orig_len, at: record, captured, len }, classic.fcs))
    }

    fn block(&mut self, order: Order) -> Result<Stage, CaptureError> {
        if !self.need(12)? {
            return Ok(self.end(self.window.available() == 0));
        }
        let head = self.window.view(12);
        let section = order.u32(head, 0) == ng::SHB;
        let Some(order) = (if section { ng::order(head) } else { Some(order) }) else { return Ok(self.end(false)) };
        let (kind, total) = (order.u32(head, 0), order.u32(head, 4));
        if total < 12 || !total.is_multiple_of(4) {
            return Ok(self.end(false));
        }
        let len = total as usize;
        if len > WINDOW {
            return Ok(self.begin_skip(kind, total));
        }
        if !self.need(len)? {
            return Ok(self.end(false));
        }
        let block = self.window.view(len);
        if order.u32(block, len - 4) != total {
            return Ok(self.end(false));
        }
        let body = &block[8..len - 4];
        let said = match &mut self.format {
            Format::Ng(current) if section => match Section::new(order, body) {
                Some(new) => {
                    *current = new;
                    Said::Nothing
                }
                None => return Ok(self.end(false)),
            },
            Format::Ng(current) => current.block(kind, body),
            _ => Said::Nothing,
        };
        match said {
            Said::Packet { interface, .. } if self.only.is_some_and(|only| only != interface) => self.counts.other += 1,
            Said::Packet { time_ns, original, captured, fcs, at, .. } if captured <= SNAPLEN => {
                return Ok(self.found(Staged { time_ns, orig_len: original, at: at + 8, captured, len }, fcs));
            }
            Said::Other => self.counts.other += 1,
            Said::Interface { number, link } => {
                let wanted = self.only.is_none_or(|only| only == number);
                if wanted && link == ng::ETHERNET {
                    self.described = true;
                } else if self.only == Some(number) {
                    return Err(CaptureError::LinkType { name: self.name.clone(), link });
                } else if link != ng::ETHERNET {
                    self.foreign.get_or_insert(link);
                }
            }
            Said::Bad | Said::Packet { .. } => self.counts.bad += 1,
            Said::Nothing => {}
        }
        self.window.pass(len);
        Ok(Stage::Skipped)
    }

    /// Starts to skip a block longer than the window; no block that matters is so long.
    fn begin_skip(&mut self, kind: u32, len: u32) -> Stage {
        match std::mem::replace(&mut self.format, Format::Over) {
            Format::Ng(section) if kind != ng::SHB => {
                self.counts.bad += u64::from(ng::is_packet(kind));
                self.window.pass(8);
                self.format = Format::Skipping(section, Skip { left: u64::from(len) - 12, len });
                Stage::Skipped
            }
            _ => self.end(false),
        }
    }

    fn skip(&mut self, skip: Skip) -> Result<Stage, CaptureError> {
        if skip.left > 0 {
            let skipped = self.window.skip(skip.left);
            let n = skipped.map_err(|source| CaptureError::Read { name: self.name.clone(), source })?;
            if self.window.is_over() && n < skip.left {
                return Ok(self.end(false));
            }
            if let Format::Skipping(_, skip) = &mut self.format {
                skip.left -= n;
            }
            return Ok(Stage::Skipped);
        }
        if !self.need(4)? {
            return Ok(self.end(false));
        }
        match std::mem::replace(&mut self.format, Format::Over) {
            Format::Skipping(section, _) if section.order.u32(self.window.view(4), 0) == skip.len => {
                self.window.pass(4);
                self.format = Format::Ng(section);
                Ok(Stage::Skipped)
            }
            _ => Ok(self.end(false)),
        }
    }

    fn found(&mut self, mut staged: Staged, fcs: u32) -> Stage {
        let captured = staged.captured;
        staged.orig_len = staged.orig_len.max(captured).saturating_sub(fcs);
        staged.captured = captured.min(staged.orig_len);
        if (staged.captured as usize) < SHORTEST {
            self.counts.bad += 1;
            self.window.pass(staged.len);
            return Stage::Skipped;
        }
        self.counts.records += 1;
        self.counts.truncated += u64::from(captured < staged.orig_len);
        self.staged = Some(staged);
        Stage::Record
    }

    /// Ends the capture: after the last record (`clean`), or where no next one can be found.
    fn end(&mut self, clean: bool) -> Stage {
        self.counts.bad += u64::from(!clean);
        self.format = Format::Over;
        Stage::End
    }
}

impl<R: Read + Seek> Reader<R> {
    /// Starts again from the beginning. The counters continue.
    pub fn rewind(&mut self) -> Result<(), CaptureError> {
        self.staged = None;
        self.given = false;
        self.fruitless = 0;
        self.format = Format::Unknown;
        (self.described, self.foreign) = (false, None);
        self.window.rewind().map_err(|source| CaptureError::Read { name: self.name.clone(), source })
    }
}
