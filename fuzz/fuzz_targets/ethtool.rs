//! Answers of the kernel about an adapter, its files in sysfs and procfs, and its module's memory. The first byte says
//! which: a whole adapter, whose answers and files are pieces of the input, each behind its length; a module; a recorded
//! answer as text. Whatever they say, reading ends, and what is read is written as JSON.
#![no_main]

use libfuzzer_sys::fuzz_target;
use linerate_host::adapter::{
    ModulePage, Question, Source, Subject, counters, find, interfaces, list, parse_module, rates, read, recorded_answers,
};
use linerate_host::{Absent, Part};
use std::io;

/// Questions, in the order of the input's pieces.
const QUESTIONS: [Question; 24] = [
    Question::Link,
    Question::LinkInfo,
    Question::LinkModes,
    Question::LinkState,
    Question::Features,
    Question::PrivateFlags,
    Question::Rings,
    Question::Channels,
    Question::Coalesce,
    Question::Pause,
    Question::Eee,
    Question::Stamps,
    Question::Fec,
    Question::Rss,
    Question::Groups,
    Question::Xdp,
    Question::Queues,
    Question::Napis,
    Question::QueueCounters,
    Question::Indirection,
    Question::Driver,
    Question::Names,
    Question::Values,
    Question::Devlink,
];

struct Pieces<'a>(Vec<&'a [u8]>);

impl<'a> Pieces<'a> {
    fn of(mut rest: &'a [u8]) -> Self {
        let mut pieces = Vec::new();
        while let Some((length, after)) = rest.split_first_chunk() {
            let at = usize::from(u16::from_le_bytes(*length)).min(after.len());
            let (piece, more) = after.split_at(at);
            pieces.push(piece);
            rest = more;
        }
        Self(pieces)
    }

    /// Piece behind the questions' that belongs to a path.
    fn path(&self, path: &str) -> io::Result<&'a [u8]> {
        let files = self.0.get(QUESTIONS.len()..).unwrap_or_default();
        let at = path.len().checked_rem(files.len()).ok_or(io::ErrorKind::NotFound)?;
        Ok(files[at])
    }
}

impl Source for Pieces<'_> {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        Ok(self.path(path)?.to_vec())
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        Ok(String::from_utf8_lossy(self.path(path)?).lines().take(8).map(str::to_owned).collect())
    }

    fn real(&self, path: &str) -> io::Result<String> {
        Ok(String::from_utf8_lossy(self.path(path)?).into_owned())
    }

    fn ask(&mut self, question: Question, _: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        let at = match question {
            Question::Module(ModulePage { device, page, offset, .. }) => {
                QUESTIONS.len() + usize::from(device ^ page ^ offset)
            }
            Question::Fields(flow) => QUESTIONS.len() + usize::from(flow),
            Question::Dcb => QUESTIONS.len(),
            _ => QUESTIONS.iter().position(|one| *one == question).unwrap(),
        };
        match at.checked_rem(self.0.len()).map(|at| self.0[at]) {
            None | Some([]) => Err(Absent::new(95, None)),
            // The first answer twice: lists have several.
            Some(answer) => Ok(vec![answer.to_vec(), answer.to_vec()]),
        }
    }
}

fn adapter(bytes: &[u8]) {
    let mut source = Pieces::of(bytes);
    let _ = (list(&mut source), find(&mut source, "eth0"));
    for interface in interfaces(&mut source).unwrap_or_default().into_iter().take(1) {
        let groups = counters(&mut source, &interface).unwrap_or_default().groups;
        let again = rates(&groups, &groups, 0.5);
        assert!(again.iter().all(|one| one.difference == Some(0)), "a group and itself");
        let adapter = read(&mut source, interface);
        assert!(serde_json::to_string(&adapter).is_ok());
    }
}

fuzz_target!(|input: &[u8]| {
    let Some((first, bytes)) = input.split_first() else { return };
    match first % 3 {
        0 => adapter(bytes),
        1 => {
            let pages: Vec<&[u8]> = bytes.chunks(128).collect();
            if let Some((lower, pages)) = pages.split_first() {
                let module = parse_module(lower, pages);
                assert!(module.lanes.len() <= 8);
                assert!(serde_json::to_string(&module).is_ok());
            }
        }
        _ => {
            let answers = recorded_answers(&String::from_utf8_lossy(bytes)).unwrap_or_default();
            assert!(answers.iter().map(Vec::len).sum::<usize>() <= 64 * bytes.len());
        }
    }
});
