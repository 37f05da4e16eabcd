//! `doctor --fix`, `--prove` and `--undo`.

use super::{Arguments, OtherEnd, document, judged, look};
use crate::commands::kept::Db;
use crate::commands::shared::{conclude, place};
use crate::print::{print, remark};
use crate::trouble::Trouble;
use linerate_host::adapter::Machine;
use linerate_host::shell::word;
use linerate_lab::doctor::{
    self, Did, Examination, Guard, ProofServer, Proven, Risk, Rounds, Step, TakenBack, Verdict, fix, left_out, made,
    new_file, plan, planned, proof, prove, unconfirmed_file,
};
use linerate_lab::qualify::begin;
use linerate_lab::run::seconds;
use linerate_rt::{Stop, monotonic_ns};
use linerate_text::path::from_text;
use serde::Serialize;
use std::io::{IsTerminal, Write, stdin};
use std::net::IpAddr;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{ExitCode, Stdio};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::{Duration, Instant};

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

/// Says what earlier calls left behind, and what to type.
pub(super) fn tell_of_left() {
    for file in doctor::abandoned().unwrap_or_default() {
        remark(&format!(
            "an earlier --prove was ended halfway, and what it tried may still be set; to take it back: linerate doctor --undo {}",
            word(&file)
        ));
    }
    for file in doctor::waiting().unwrap_or_default() {
        remark(&format!(
            "changes wait to be confirmed; to keep them: linerate doctor --confirm; to take them back: linerate doctor --undo {}",
            word(&file)
        ));
    }
}

/// Keeps what waits to be confirmed.
pub(super) fn confirm() -> Result<ExitCode, Trouble> {
    let mut kept = 0;
    for file in doctor::waiting().map_err(Trouble::failed)? {
        if let Some(file) = doctor::confirm(&file).map_err(Trouble::failed)? {
            kept += 1;
            print(&format!("Kept. To take it back: linerate doctor --undo {}\n", word(&file)));
        }
    }
    match kept {
        0 => Err(Trouble::failed("no changes wait to be confirmed: if they were made, they are taken back")),
        _ => Ok(ExitCode::SUCCESS),
    }
}

/// Waits for a confirmation of what that file has, apart from who made the changes.
pub(super) fn wait(file: &str, seconds: &str, stop: &Stop) -> Result<ExitCode, Trouble> {
    let seconds = seconds.parse().map_err(|_| Trouble::usage(format!("{seconds}: no number of seconds")))?;
    doctor::wait(&mut Machine::new(), &from_text(file), Duration::from_secs(seconds), stop).map_err(Trouble::failed)?;
    Ok(ExitCode::SUCCESS)
}

/// Takes back what a file has.
pub(super) fn undo(file: &Path) -> Result<ExitCode, Trouble> {
    let back = doctor::undo(&mut Machine::new(), file).map_err(Trouble::usage)?;
    print(&back.done.iter().map(|line| format!("{line}\n")).collect::<String>());
    if back == TakenBack::default() {
        print("nothing to take back: it is so already\n");
    }
    left_over(&back).map(|()| ExitCode::SUCCESS)
}

fn left_over(back: &TakenBack) -> Result<(), Trouble> {
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
    let steps = plan(examined, &parsed.only, parsed.fix.unwrap_or(Risk::Traffic), parsed.fix.is_none());
    let [interrupting, by_name] = left_out(examined, &steps);
    if !interrupting.is_empty() && parsed.only.is_empty() {
        let names = interrupting.join(", ");
        remark(&format!("changed only by --fix=traffic, as traffic is interrupted for a moment: {names}"));
    }
    if !by_name.is_empty() && parsed.only.is_empty() {
        remark(&format!("changed only if they are named (--only RULE): {}", by_name.join(", ")));
    }
    if steps.is_empty() {
        let by_hand = examined.findings.iter().filter(|finding| finding.mend.is_some()).count();
        if !parsed.json {
            print(&format!(
                "nothing to change; by hand: {} (linerate doctor)\n",
                linerate_text::many(by_hand, "finding")
            ));
        } else {
            document(&Fixed { before: examined, changes: &[], undo: None, after: examined });
        }
        return Ok(judged(examined));
    }
    let agreed = |what: &str, steps: &[Step]| match parsed.yes {
        true => Ok(true),
        false => asked(what, steps, stop),
    };
    let what = match (parsed.prove, parsed.fix.is_some()) {
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
    let place = place(None, &run, &Db::default())?;
    let told = |proven: &Proven| print(&format!("{}\n", proof(proven)));
    let proved = prove(&mut Machine::new(), &steps, &rounds, stop, told).map_err(Trouble::failed)?;
    left_over(&proved.1)?;
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
    match (parsed.fix.is_some(), steps.is_empty()) {
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
    let guard = Guard::of(&mut Machine::new(), steps, parsed.peer);
    let (done, file) = match guard {
        None => {
            let file = new_file().map_err(Trouble::failed)?;
            (fix(&mut Machine::new(), steps, &file, || Ok(()), stop).map_err(Trouble::failed)?, file)
        }
        Some(guard) => guarded(parsed, &guard, steps, stop)?,
    };
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
    let line = answered(&format!("{what} [y/N] "), || false, stop);
    Ok(line.is_some_and(|line| matches!(line.trim(), "y" | "Y" | "yes")))
}

/// A line from the terminal; none if it is gone, or does not come in time.
fn answered(question: &str, is_over: impl Fn() -> bool, stop: &Stop) -> Option<String> {
    print(question);
    let _ = std::io::stdout().flush();
    // A signal ends the wait, not the call that waits.
    let (tell, answer) = channel();
    std::thread::spawn(move || {
        let mut line = String::new();
        let read = stdin().read_line(&mut line);
        let _ = tell.send(Some(line).filter(|_| read.is_ok_and(|bytes| bytes > 0)));
    });
    loop {
        match answer.recv_timeout(Duration::from_millis(50)) {
            Ok(line) => return line,
            Err(RecvTimeoutError::Timeout) if !stop.asked() && !is_over() => {}
            Err(_) => return None,
        }
    }
}

/// Makes changes that may cut the way to this machine, and takes them back unless they are confirmed.
fn guarded(parsed: &Arguments, guard: &Guard, steps: &[Step], stop: &Stop) -> Result<(Vec<Did>, PathBuf), Trouble> {
    let within = Duration::from_secs(parsed.within.into());
    let names: Vec<&str> = guard.interfaces.iter().map(String::as_str).collect();
    remark(&format!("this may cut the way to this machine ({}): {}", names.join(", "), guard.words()));
    let file = unconfirmed_file().map_err(Trouble::failed)?;
    let began = Instant::now();
    let mut waits = None;
    // Apart from this process, whose terminal may go.
    let ready = || {
        let mut command = std::process::Command::new("/proc/self/exe");
        command.args(["doctor", "--unless-confirmed"]).arg(&file).arg(parsed.within.to_string()).process_group(0);
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        waits = Some(command.spawn().map_err(|e| format!("a process that takes the changes back: {e}"))?);
        Ok(())
    };
    let done = fix(&mut Machine::new(), steps, &file, ready, stop).map_err(Trouble::failed)?;
    let Some(mut waits) = waits else { return Ok((done, file)) };
    // Who waits counts from a moment later.
    let until = began + within;
    let lost = guard.lost(&mut Machine::new(), within / 2, stop);
    let left = until.saturating_duration_since(Instant::now()).as_secs();
    let question = format!(
        "Keep this? Enter within {left} s, or 'linerate doctor --confirm' in another session; else it is taken back: "
    );
    let is_over = || Instant::now() >= until || !file.exists();
    let is_well = lost.is_empty() && !stop.asked();
    let kept = match is_well && (parsed.yes || answered(&question, is_over, stop).is_some() || !file.exists()) {
        true => doctor::confirm(&file).map_err(Trouble::failed)?,
        false => None,
    };
    let outcome = if let Some(file) = kept {
        Ok((done, file))
    } else {
        let back = doctor::refuse(&mut Machine::new(), &file).map_err(Trouble::failed)?;
        print(&back.done.iter().map(|line| format!("{line}\n")).collect::<String>());
        let why = match &lost[..] {
            [] => "it was not confirmed".to_owned(),
            lost => {
                format!("no answer any more from {}", lost.iter().map(IpAddr::to_string).collect::<Vec<_>>().join(", "))
            }
        };
        match left_over(&back) {
            Ok(()) if stop.asked() => Ok((Vec::new(), file)),
            Ok(()) => Err(Trouble::failed(format!("{why}: all was taken back"))),
            Err(trouble) => Err(trouble),
        }
    };
    let _ = waits.wait();
    outcome
}
