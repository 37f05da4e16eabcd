//! The LUNs of a target: opened at its start, and added, removed, resized and allowed while it runs.
//!
//! Devices are opened here, in the thread of whoever asks: the thread that moves frames only takes them over.

use super::Nodes;
use super::config::{self, Allow, File, LunSpec, number};
use super::events::losses;
use super::kept::Kept;
use crate::trouble::{Trouble, print};
use linerate_fcoe::{Disks, DisksConfig, DisksError, ProtectionType, UnitOptions};
use linerate_rt::block::{LunOptions, Opened, Waits};
use linerate_rt::control::Caller;
use linerate_rt::monotonic_ns;
use linerate_wire::Wwn;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Bytes of buffers, shared by all commands on devices that are not memory.
const BUFFERS: usize = 256 << 20;
/// Time within which a removed device has ended its operations, unless it hangs.
const PATIENCE: Duration = Duration::from_secs(1);
/// Time for which a device that cannot be opened waits for removed ones to be closed: it may be one of them.
const CLOSING: Duration = Duration::from_secs(10);

/// The LUNs of a target, and who may see them.
pub(super) struct Luns {
    served: Vec<Served>,
    allow: Vec<Allow>,
    /// Initiators must prove their names, unless they are open.
    authenticates: bool,
    wwpn: Wwn,
    hold: Duration,
    lines: Lines,
}

/// Number of each LUN, and its device and path, for people: to be read while a change of LUNs waits for a device.
#[derive(Clone, Default)]
pub(super) struct Lines(Arc<Mutex<Vec<(u16, String)>>>);

impl Lines {
    /// The lines now.
    pub(super) fn get(&self) -> Vec<(u16, String)> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, lines: Vec<(u16, String)>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = lines;
    }
}

struct Served {
    spec: LunSpec,
    /// Its device and path, for people.
    line: String,
}

/// State that a target begins with.
pub(super) struct Begun {
    pub(super) luns: Luns,
    pub(super) disks: Disks,
    /// Objects to sleep on while devices work.
    pub(super) waits: Vec<(u16, Waits)>,
    /// State of units is kept for the next start.
    pub(super) keeps: bool,
}

/// Opens all devices for a port with these names; commands to one that is out of reach are held for as long as `hold`. If
/// it only `checks`, nothing is made.
pub(super) fn open(
    luns: Vec<LunSpec>,
    (allow, authenticates): (Vec<Allow>, bool),
    (wwpn, wwnn): (Wwn, Wwn),
    (hold, checks): (Duration, bool),
) -> Result<Begun, Trouble> {
    let mut disks = Disks::new(&DisksConfig { wwpn, wwnn, buffers: BUFFERS });
    let kept = (!checks).then(Kept::open).flatten();
    let keeps = kept.is_some();
    if let Some(kept) = kept {
        disks.keep_with(Box::new(kept));
    }
    let mut waits = Vec::new();
    let mut book = Luns { served: Vec::new(), allow: Vec::new(), authenticates, wwpn, hold, lines: Lines::default() };
    for spec in luns {
        let (opened, line) = book.open(&spec, checks).map_err(Trouble::usage)?;
        waits.extend(opened.waits.clone().map(|waits| (spec.number, waits)));
        plug(&mut disks, spec.number, opened).map_err(|e| Trouble::usage(e.to_string()))?;
        book.served.push(Served { spec, line });
    }
    for rule in &allow {
        if let Some(unknown) = rule.luns.iter().find(|lun| !book.has(**lun)) {
            let wwpn = rule.wwpn;
            return Err(Trouble::usage(format!("--allow {wwpn}: there is no LUN {unknown}: add --lun {unknown}=…")));
        }
        disks.allow(rule.wwpn, &rule.luns);
    }
    book.check_open(&allow).map_err(|why| Trouble::usage(format!("--allow {why}")))?;
    book.allow = allow;
    book.tell();
    Ok(Begun { luns: book, disks, waits, keeps })
}

/// Names of initiators that need not prove them.
pub(super) fn open_names(allow: &[Allow]) -> BTreeSet<Wwn> {
    allow.iter().filter(|rule| rule.open).map(|rule| rule.wwpn).collect()
}

fn plug(disks: &mut Disks, number: u16, opened: Opened) -> Result<(), DisksError> {
    let kinds = [ProtectionType::Type1, ProtectionType::Type2, ProtectionType::Type3];
    let protection = kinds.into_iter().find(|kind| kind.code() == opened.protection);
    disks.add_with(number, opened.backend, UnitOptions { protection, name: Some(opened.name) })
}

impl Luns {
    /// The LUNs, now and later.
    pub(super) fn lines(&self) -> Lines {
        self.lines.clone()
    }

    /// Takes over a change of what is served.
    fn tell(&self) {
        self.lines.set(self.served.iter().map(|served| (served.spec.number, served.line.clone())).collect());
    }

    /// True if some initiators see less than others.
    pub(super) fn hides(&self) -> bool {
        !self.allow.is_empty()
    }

    /// Refuses a rule that makes an exception of what does not hold.
    fn check_open(&self, allow: &[Allow]) -> Result<(), String> {
        match allow.iter().find(|rule| rule.open && !self.authenticates) {
            Some(rule) => {
                Err(format!("{}: open to all it is without --auth: leave open out, or give --auth FILE", rule.wwpn))
            }
            None => Ok(()),
        }
    }

    fn has(&self, number: u16) -> bool {
        self.served.iter().any(|served| served.spec.number == number)
    }

    fn open(&self, spec: &LunSpec, checks: bool) -> Result<(Opened, String), String> {
        let LunSpec { number, device, serial, naa } = spec;
        let seed = self.wwpn.0.rotate_left(16) ^ u64::from(*number);
        let options = LunOptions { seed, hold: self.hold, checks, serial: serial.clone(), naa: naa.clone() };
        let opened = device.open(&options).map_err(|e| format!("LUN {number}: {e}"))?;
        let geometry = opened.backend.geometry();
        let size = u128::from(geometry.blocks) * u128::from(geometry.block_size);
        let ro = if geometry.read_only { ", read-only" } else { "" };
        let line = format!("LUN {number}: {device}, {size} bytes{ro}: {}", opened.path);
        Ok((opened, line))
    }
}

/// The LUNs of a target that runs, and the way to its thread.
pub(super) struct Running {
    pub(super) luns: Luns,
    caller: Caller<Nodes>,
    /// File that is read again at SIGHUP, and what the command line had in its place.
    file: Option<PathBuf>,
    fixed: (bool, bool),
}

impl Running {
    /// LUNs that are changed by calls. `fixed`: LUNs and permissions are the command line's, not the file's.
    pub(super) fn new(luns: Luns, caller: Caller<Nodes>, file: Option<PathBuf>, fixed: (bool, bool)) -> Self {
        Self { luns, caller, file, fixed }
    }

    /// True if there is a file that says what the LUNs are.
    pub(super) fn follows_file(&self) -> bool {
        self.file.is_some()
    }

    /// Has the target's thread change its disks.
    fn disks<T: Send + 'static>(
        &mut self,
        change: impl FnOnce(&mut Disks, &mut Vec<(u16, Waits)>) -> T + Send + 'static,
    ) -> Result<T, String> {
        let called = self.caller.call(|nodes: &mut Nodes| {
            // The first port's events have what all sleep on.
            let (events, node) = nodes.first_mut()?.watcher();
            node.target().map(|target| change(&mut target.device().disks(), &mut events.waits))
        });
        called.map_err(|e| e.to_string())?.ok_or_else(|| "it is no target any more".to_owned())
    }

    /// Answers a request: the words behind `linerate fcoe lun`.
    pub(super) fn answer(&mut self, words: &[&str]) -> Result<String, String> {
        match words {
            ["add", text] => config::decoded(text).parse().and_then(|spec| self.add(spec)),
            ["remove", text] => number(text).and_then(|number| self.remove(number)),
            ["resize", text] => number(text).and_then(|number| self.resize(number)),
            ["allow", text] => text.parse().and_then(|rule| self.allow(rule)),
            ["deny", text] => {
                text.parse().map_err(|e: linerate_wire::Error| e.to_string()).and_then(|who| self.deny(who))
            }
            _ => Err(format!("{}: there is no such request", words.join(" "))),
        }
    }

    fn add(&mut self, spec: LunSpec) -> Result<String, String> {
        if self.luns.has(spec.number) {
            return Err(DisksError::Taken(spec.number).to_string());
        }
        let opened = match self.luns.open(&spec, false) {
            Err(why) if self.disks(|disks, _| disks.leaving())? > 0 => {
                if !self.have_closed(CLOSING)? {
                    return Err(format!(
                        "{why}; a LUN that was removed may have it until what it has under way has ended"
                    ));
                }
                self.luns.open(&spec, false)?
            }
            opened => opened?,
        };
        self.serve(spec, opened)
    }

    /// Waits until the devices of removed LUNs are closed; false if one hangs.
    fn have_closed(&mut self, patience: Duration) -> Result<bool, String> {
        let until = Instant::now() + patience;
        while self.disks(|disks, _| disks.leaving())? > 0 {
            if Instant::now() >= until {
                return Ok(false);
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        Ok(true)
    }

    /// Serves a device as a LUN that there is not.
    fn serve(&mut self, spec: LunSpec, (opened, line): (Opened, String)) -> Result<String, String> {
        let number = spec.number;
        self.disks(move |disks, all| {
            let waits = opened.waits.clone().map(|waits| (number, waits));
            plug(disks, number, opened)?;
            all.extend(waits);
            Ok::<_, DisksError>(())
        })?
        .map_err(|e| e.to_string())?;
        let unseen = self.luns.hides() && !self.luns.allow.iter().any(|rule| rule.luns.contains(&number));
        let note = if unseen {
            format!("\nnote: nobody may see it: linerate fcoe lun allow WWPN={number}")
        } else {
            String::new()
        };
        self.luns.served.push(Served { spec, line: line.clone() });
        self.luns.tell();
        Ok(format!("{line}{note}\n"))
    }

    /// Serves LUNs in place of those with their numbers. Where one cannot be served, the one before goes on.
    fn replace(&mut self, specs: Vec<LunSpec>) -> Vec<Result<String, String>> {
        let (mut done, mut next, mut failed) = (Vec::new(), Vec::new(), Vec::new());
        let numbers: Vec<u16> = specs.iter().map(|spec| spec.number).collect();
        for spec in specs {
            // What a LUN has is opened when that has let go, if it is to; all else before initiators lose anything.
            let holds = |served: &Served| numbers.contains(&served.spec.number) && served.spec.place() == spec.place();
            let is_held = self.luns.served.iter().any(holds);
            match (!is_held).then(|| self.luns.open(&spec, false)).transpose() {
                Ok(opened) => next.push((spec, opened)),
                Err(why) if self.luns.has(spec.number) => done.push(Err(format!("{why}; it goes on as it was"))),
                Err(why) => done.push(Err(why)),
            }
        }
        let is_next = |served: &&Served| next.iter().any(|(spec, _)| spec.number == served.spec.number);
        let before: Vec<_> = self.luns.served.iter().filter(is_next).map(|served| served.spec.clone()).collect();
        done.extend(before.iter().map(|old| self.remove(old.number)));
        for (spec, opened) in next {
            let old = before.iter().find(|old| old.number == spec.number);
            let served = match opened {
                Some(opened) => self.serve(spec, opened),
                None => self.add(spec),
            };
            match (served, old) {
                (Err(why), Some(old)) => failed.push((why, old)),
                (served, _) => done.push(served),
            }
        }
        for (why, old) in failed {
            done.push(Err(match self.add(old.clone()) {
                Ok(_) => format!("{why}; it goes on as it was"),
                Err(again) => format!("{why}; nor can it be what it was: {again}"),
            }));
        }
        done
    }

    fn remove(&mut self, number: u16) -> Result<String, String> {
        self.disks(move |disks, all| {
            disks.remove(number)?;
            all.retain(|(of, _)| *of != number);
            Ok::<_, DisksError>(())
        })?
        .map_err(|e| e.to_string())?;
        self.luns.served.retain(|served| served.spec.number != number);
        self.luns.tell();
        let later = if self.have_closed(PATIENCE)? {
            ""
        } else {
            "; its device is closed when what it has under way has ended"
        };
        Ok(format!("LUN {number}: removed{later}\n"))
    }

    fn resize(&mut self, number: u16) -> Result<String, String> {
        let (bytes, losses) = self.disks(move |disks, waits| (disks.refresh(number), losses(waits)))?;
        let bytes = bytes.map_err(|e| e.to_string())?;
        let mut line = format!("LUN {number}: {bytes} bytes");
        if let Some(served) = self.luns.served.iter_mut().find(|served| served.spec.number == number)
            && let Some((_, path)) = served.line.split_once(" bytes")
        {
            line = format!("LUN {number}: {}, {bytes} bytes{path}", served.spec.device);
            served.line.clone_from(&line);
        }
        self.luns.tell();
        let loss = losses.iter().find(|(lun, _)| *lun == number);
        line += &loss.map_or_else(String::new, |(_, loss)| format!("; {loss}"));
        Ok(format!("{line}\n"))
    }

    fn allow(&mut self, rule: Allow) -> Result<String, String> {
        if let Some(unknown) = rule.luns.iter().find(|lun| !self.luns.has(**lun)) {
            return Err(DisksError::Unknown(*unknown).to_string());
        }
        self.luns.check_open(std::slice::from_ref(&rule))?;
        let mut all = self.luns.allow.clone();
        match all.iter_mut().find(|known| known.wwpn == rule.wwpn) {
            Some(known) => {
                known.open = rule.open;
                rule.luns.iter().for_each(|lun| {
                    if !known.luns.contains(lun) {
                        known.luns.push(*lun);
                    }
                });
            }
            None => all.push(rule),
        }
        self.allow_only(all)
    }

    fn deny(&mut self, wwpn: Wwn) -> Result<String, String> {
        let mut all = self.luns.allow.clone();
        let Some(known) = all.iter_mut().find(|known| known.wwpn == wwpn) else {
            return Err(format!("{wwpn} is not allowed anything by name"));
        };
        // Its name stays: without any name everybody would see everything.
        known.luns.clear();
        known.open = false;
        self.allow_only(all)
    }

    fn allow_only(&mut self, all: Vec<Allow>) -> Result<String, String> {
        let rules: Vec<_> = all.iter().map(|rule| (rule.wwpn, rule.luns.clone())).collect();
        self.luns.check_open(&all)?;
        self.disks(move |disks, _| disks.allow_only(&rules))?;
        let open = open_names(&all);
        let change = move |nodes: &mut Nodes| {
            let now = monotonic_ns();
            nodes.iter_mut().for_each(|node| node.watcher().1.open_to(now, open.clone()));
        };
        self.caller.call(change).map_err(|e| e.to_string())?;
        self.luns.allow = all;
        let seen = |rule: &Allow| {
            let luns: Vec<_> = rule.luns.iter().map(ToString::to_string).collect();
            let luns = if luns.is_empty() { "none".to_owned() } else { luns.join(", ") };
            let open = if rule.open { ", and need not prove its name" } else { "" };
            format!("{} sees LUN {luns}{open}\n", rule.wwpn)
        };
        let text: String = self.luns.allow.iter().map(seen).collect();
        Ok(if text.is_empty() { "every initiator sees every LUN\n".into() } else { text })
    }

    /// Reads the configuration file again, and becomes what it says: LUNs that it has no more are removed, those whose
    /// device has another text are replaced, sizes are taken over. A file that is wrong changes nothing, and so does one
    /// without LUNs: it is being written, or was emptied by mistake.
    pub(super) fn reread(&mut self) -> Vec<Result<String, String>> {
        let Some(path) = self.file.clone() else { return Vec::new() };
        let wrong = |why: String| vec![Err(format!("{why}; nothing is changed"))];
        let File { luns, allow, .. } = match config::read_again(&path) {
            Ok(file) => file,
            Err(trouble) => return wrong(trouble.to_string()),
        };
        if luns.is_empty() && !self.fixed.0 {
            return wrong(format!("{}: it has no LUN: write a [[lun]]", path.display()));
        }
        let mut done = Vec::new();
        if !self.fixed.0 {
            let wanted = |known: &LunSpec| luns.iter().any(|spec| spec.number == known.number);
            let gone: Vec<_> = self.luns.served.iter().filter(|served| !wanted(&served.spec)).collect();
            let gone: Vec<u16> = gone.into_iter().map(|served| served.spec.number).collect();
            done.extend(gone.into_iter().map(|number| self.remove(number)));
            let is_served = |spec: &LunSpec| self.luns.served.iter().any(|served| served.spec.is_same(spec));
            let (same, new): (Vec<_>, Vec<_>) = luns.into_iter().partition(is_served);
            done.extend(same.into_iter().filter_map(|spec| self.grown(spec.number)));
            done.extend(self.replace(new));
        }
        if !self.fixed.1 && (!allow.is_empty() || self.luns.hides()) {
            done.push(self.allow_only(allow));
        }
        done
    }

    /// Takes over another size, if there is one; a device that keeps its size is no trouble.
    fn grown(&mut self, number: u16) -> Option<Result<String, String>> {
        let before = self.luns.served.iter().find(|served| served.spec.number == number)?.line.clone();
        let said = self.resize(number).ok()?;
        (said.trim_end() != before).then_some(Ok(said))
    }

    /// Does what SIGHUP asks for, and tells of it.
    pub(super) fn hang_up(&mut self, silent: bool) {
        for said in self.reread() {
            match said {
                Ok(text) if silent => drop(text),
                Ok(text) => print(&text),
                Err(line) => crate::print::remark(&format!("linerate: {line}")),
            }
        }
    }
}
