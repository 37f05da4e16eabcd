//! `doctor --fix`, `--prove` and `--undo`.

use super::{Arguments, OtherEnd, document, judged, look};
use crate::commands::kept::Db;
use crate::commands::shared::{conclude, place};
use crate::print::{print, remark};
use crate::trouble::Trouble;
use linerate_host::adapter::Machine;
use linerate_host::shell::word;
use linerate_lab::doctor::{
    self, Did, Examination, ProofServer, Proven, Rounds, Step, TakenBack, Verdict, fix, left_out, made, new_file, plan,
    planned, proof, prove,
};
use linerate_lab::qualify::begin;
use linerate_lab::run::seconds;
use linerate_rt::{Stop, monotonic_ns};
use serde::Serialize;
use std::io::{IsTerminal, Write, stdin};
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// Findings, and the changes that were made.
#[derive(Serialize)]
struct Fixed<'a> {
    before: &'a Examination,
    changes: &'a [Did],
    undo: Option<&'a PathBuf>,
    after: &'a Examination,
}

/// Takes back what an earlier process tried and did not come to take back.
pub(super) fn recover() -> Result<(), Trouble> {
    let back = doctor::recover(&mut Machine::new()).map_err(Trouble::failed)?;
    for line in back.done.iter().chain(&back.left) {
        remark(&format!("of an earlier --prove: {line}"));
    }
    Ok(())
}

/// Takes back what a file has.
pub(super) fn undo(file: &Path) -> Result<ExitCode, Trouble> {
    let back = doctor::undo(&mut Machine::new(), file).map_err(Trouble::usage)?;
    print(&back.done.iter().map(|line| format!("{line}\n")).collect::<String>());
    if back == TakenBack::default() {
        print("nothing to take back: it is so already\n");
    }
    left(&back).map(|()| ExitCode::SUCCESS)
}

fn left(back: &TakenBack) -> Result<(), Trouble> {
    back.left.iter().for_each(|line| remark(line));
    match back.left.len() {
        0 => Ok(()),
        1 => Err(Trouble::failed("a value is not as it was; the line above says which and why")),
        n => Err(Trouble::failed(format!("{n} values are not as they were; the lines above say which and why"))),
    }
}

/// Proves what was found, mends it, or both.
pub(super) fn mend(
    parsed: &Arguments,
    examined: &Examination,
    mut remote: Option<OtherEnd>,
    command: Vec<String>,
    stop: &Stop,
) -> Result<ExitCode, Trouble> {
    // What is proven is taken back.
    let steps = plan(examined, &parsed.only, !parsed.fix);
    let left_out = left_out(examined, &steps);
    if !left_out.is_empty() && parsed.only.is_empty() {
        remark(&format!("changed only if they are named (--only RULE): {}", left_out.join(", ")));
    }
    if steps.is_empty() {
        let by_hand = examined.findings.iter().filter(|finding| finding.mend.is_some()).count();
        if !parsed.json {
            print(&format!("nothing to change; by hand: {by_hand} findings (linerate doctor)\n"));
        } else {
            document(&Fixed { before: examined, changes: &[], undo: None, after: examined });
        }
        return Ok(judged(examined));
    }
    let agreed = |what: &str, steps: &[Step]| match parsed.yes {
        true => Ok(true),
        false => asked(what, steps, stop),
    };
    let what = match (parsed.prove, parsed.fix) {
        (false, _) => "Make these changes?",
        (true, true) => "Try these changes, and keep what helps?",
        (true, false) => "Try these changes, and take them back?",
    };
    if !agreed(what, &steps)? {
        return kept(stop);
    }
    let server = match (remote.as_mut(), parsed.peer) {
        _ if !parsed.prove => None,
        (Some(end), _) => Some(end.visit.serve(stop).map_err(Trouble::failed)?),
        (None, peer) => peer.map(ProofServer::usual),
    };
    let Some(server) = server else { return fixed(parsed, (examined, remote.as_ref()), &steps, stop) };
    let rounds = Rounds { server, pairs: parsed.rounds, seconds: parsed.seconds };
    let (run, began) = (begin(command), monotonic_ns());
    let place = place(None, &run)?;
    let told = |proven: &Proven| print(&format!("{}\n", proof(proven)));
    let proved = prove(&mut Machine::new(), &steps, &rounds, stop, told).map_err(Trouble::failed)?;
    left(&proved.1)?;
    let run = doctor::proofs(run, &proved.0, &rounds, seconds(monotonic_ns() - began), stop);
    conclude(&run, "", Some(place), false, &Db::default())?;
    if let Some(signal) = stop.signal() {
        return Ok(ExitCode::from(128 + signal));
    }
    let helps = |step: &Step| {
        let is = |one: &Proven| (one.rule, &one.subject, &one.what) == (step.rule, &step.subject, &step.what);
        let verdict = proved.0.iter().find(|one| is(one)).and_then(|one| one.measured.as_ref().ok());
        verdict.is_some_and(|measured| measured.verdict == Verdict::Helps)
    };
    let steps: Vec<Step> = steps.into_iter().filter(helps).collect();
    match (parsed.fix, steps.is_empty()) {
        (true, false) => fixed(parsed, (examined, remote.as_ref()), &steps, stop),
        (true, true) => {
            print("nothing helps, nothing is kept\n");
            Ok(judged(examined))
        }
        (false, _) => Ok(judged(examined)),
    }
}

/// Nothing was changed.
fn kept(stop: &Stop) -> Result<ExitCode, Trouble> {
    match stop.signal() {
        Some(signal) => Ok(ExitCode::from(128 + signal)),
        None => Err(Trouble::failed("nothing was changed")),
    }
}

/// Makes changes, and looks again.
fn fixed(
    parsed: &Arguments,
    (before, remote): (&Examination, Option<&OtherEnd>),
    steps: &[Step],
    stop: &Stop,
) -> Result<ExitCode, Trouble> {
    let file = new_file().map_err(Trouble::failed)?;
    let done = fix(&mut Machine::new(), steps, &file, stop).map_err(Trouble::failed)?;
    let file = Some(file).filter(|file| file.exists());
    let refused = done.iter().filter(|did| did.refused.is_some()).count();
    // What is still wrong is said even if it was asked to stop meanwhile.
    let after = look(parsed, remote, stop).unwrap_or_default();
    if parsed.json {
        document(&Fixed { before, changes: &done, undo: file.as_ref(), after: &after });
    } else {
        print(&made(&done));
        if let Some(file) = &file {
            print(&format!("To take it back: linerate doctor --undo {}\n", word(file)));
        }
    }
    match (stop.signal(), refused) {
        (Some(signal), _) => Ok(ExitCode::from(128 + signal)),
        (None, 0) => Ok(judged(&after)),
        (None, 1) => Err(Trouble::failed("a change was refused; the lines above say which and why")),
        (None, n) => Err(Trouble::failed(format!("{n} changes were refused; the lines above say which and why"))),
    }
}

/// Asks on the terminal; false for anything but yes.
fn asked(what: &str, steps: &[Step], stop: &Stop) -> Result<bool, Trouble> {
    if !stdin().is_terminal() {
        return Err(Trouble::usage("--fix asks before it changes anything, and there is no terminal; give --yes"));
    }
    print(&planned(steps));
    print(&format!("{what} [y/N] "));
    let _ = std::io::stdout().flush();
    // A signal ends the wait, not the call that waits.
    let (tell, answer) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let _ = stdin().read_line(&mut line);
        let _ = tell.send(line);
    });
    loop {
        match answer.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => return Ok(matches!(line.trim(), "y" | "Y" | "yes")),
            Err(RecvTimeoutError::Timeout) if !stop.asked() => {}
            Err(_) => return Ok(false),
        }
    }
}
