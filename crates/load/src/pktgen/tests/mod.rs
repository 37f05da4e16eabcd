//! Tests of pkt-gen as a whole, on in-memory ports.

mod flags;
#[cfg(target_os = "linux")]
mod judged;
mod ledger;
mod modes;

use super::run::{Captures, run_on};
use super::*;
use crate::lines::Lines;
use linerate_port::{Port, open_all};
use linerate_ring::flags as slot;
use linerate_rt::Stop;
use std::sync::{Arc, Mutex};

/// Output of a run.
struct Left {
    out: String,
    log: String,
    result: linerate_result::RunResult,
    /// Frames that arrived at the other end, as slots.
    frames: Vec<Vec<Vec<u8>>>,
}

impl Left {
    /// The frames, reassembled.
    fn whole(&self) -> Vec<Vec<u8>> {
        self.frames.iter().map(|slots| slots.concat()).collect()
    }
}

fn config(text: &str) -> Result<Config, String> {
    let arguments: Vec<String> = text.split_whitespace().map(str::to_owned).collect();
    match Config::parse(&arguments)? {
        Command::Run(config) => Ok(*config),
        Command::Print(text) => Err(text),
    }
}

/// Both ends of a cable with these options.
fn cable(options: &str) -> Vec<Port> {
    open_all(&[format!("cable:t{{1{options}"), "cable:t}1".into()]).unwrap()
}

/// Runs `-i (one end of a cable) TEXT`, after the other end has sent `arriving`; returns the output and the frames
/// received there.
fn run_with(options: &str, text: &str, arriving: &[Vec<u8>]) -> Result<Left, String> {
    let mut config = config(&format!("-i cable:t{{1 {text}"))?;
    let mut ports = cable(options);
    let mut far = ports.pop().unwrap();
    // Of several queues the last one has the first frame.
    let mut back: Vec<_> = (0..).map_while(|queue| far.take_tx(queue)).collect();
    back.reverse();
    for (k, frame) in arriving.iter().enumerate() {
        let at = k % back.len();
        let mut batch = back[at].ring.reserve(1);
        assert!(batch.put(0, frame));
        batch.commit(1);
    }
    back.iter_mut().for_each(|tx| tx.sync());
    // A queue is registered at the cable with its first sync; after that, frames sent arrive even if the sender is
    // gone.
    let mut far: Vec<_> = (0..).map_while(|queue| far.take_rx(queue)).collect();
    far.iter_mut().for_each(|rx| rx.sync());
    let (out, log) = (Lines::default(), Lines::default());
    let stop = Stop::new().unwrap();
    let documents = config.json || config.ndjson;
    let output = Arc::new(Output::new(Box::new(out.clone()), Box::new(log.clone()), documents, &stop));
    let captures = Captures::load(&mut config).map_err(|e| e.to_string())?;
    let finished =
        run_on(config, captures, ports, vec!["pkt-gen".into()], &stop, &output).map_err(|e| e.to_string())?;
    let (mut frames, mut chain) = (Vec::new(), Vec::new());
    for mut rx in far {
        rx.sync();
        let mut batch = rx.ring.batch(u32::MAX);
        let n = batch.len();
        for i in 0..n {
            let (frame, flags) = batch.frame(i).unwrap();
            chain.push(frame.to_vec());
            if flags & slot::MOREFRAG == 0 {
                frames.push(std::mem::take(&mut chain));
            }
        }
        batch.release(n);
    }
    Ok(Left { out: out.text(), log: log.text(), result: finished.result, frames })
}

/// Sends 20 frames.
fn tx(text: &str) -> Left {
    run_with("", &format!("-f tx -n 20 {text}"), &[]).unwrap()
}

/// Frames that a sender with these flags puts on the wire.
fn frames(text: &str) -> Vec<Vec<u8>> {
    tx(text).whole()
}
