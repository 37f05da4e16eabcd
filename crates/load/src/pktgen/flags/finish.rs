//! Checks that need the values of all flags.

use super::Command;
use super::Scope::{Makes, Marks, Threads};
use super::state::State;
use super::value::{ACCESS, INDIRECT};
use crate::pktgen::address;
use crate::pktgen::captured::ReplayConfig;
use crate::pktgen::config::{Config, options};
use crate::pktgen::sizes::Sizes;
use linerate_text::short;

impl State {
    /// Makes the command of the flags; flags without effect are left out with a remark.
    pub(super) fn finish(mut self, mut left_out: Vec<String>) -> Result<Command, String> {
        let config = &mut self.config;
        config.port = self.port.ok_or("no port; give one with -i, as -i cable:lab{1")?;
        left_out.extend(without_effect(config)?);
        config.remarks.append(&mut left_out);
        if config.replay.is_some() && config.threads > 1 {
            return Err(format!("-p {}: a capture is replayed by one thread; leave it out", config.threads));
        }
        if config.mode.single && config.threads > 1 {
            let line = format!("-p {}: -f {} has one thread; left out", config.threads, config.mode.name);
            config.remarks.push(line);
            config.threads = 1;
        }
        config.sizes = match (self.len, self.least, self.mix) {
            (None, _, Some(mix)) => mix,
            (Some(_), _, Some(_)) => return Err("--imix: -l says other sizes; give one of them".into()),
            (Some(len), Some(least), None) if least < len => Sizes::Range(least, len - 1),
            (Some(len), Some(least), None) if least > len => {
                return Err(format!("-l {least}: the second -l is the smaller; give -l {least} -l {len}"));
            }
            (Some(len), ..) => Sizes::Fixed(len),
            (None, ..) => config.sizes.clone(),
        };
        let (src, dst) = if config.v6 { ("fd00::1", "fd00::2") } else { ("10.0.0.1", "10.1.0.1") };
        config.src_text = self.src.unwrap_or_else(|| src.into());
        config.dst_text = self.dst.unwrap_or_else(|| dst.into());
        config.src = address::range(&config.src_text, config.v6)
            .map_err(|why| format!("-s {}: {why}", short(&config.src_text, 80)))?;
        config.dst = address::range(&config.dst_text, config.v6)
            .map_err(|why| format!("-d {}: {why}", short(&config.dst_text, 80)))?;
        Ok(Command::Run(Box::new(self.config)))
    }

    pub(super) fn replay(&self) -> Result<Option<ReplayConfig>, String> {
        let Self { config, capture, interface, loops, speed, .. } = self;
        if config.packet_file.is_some() && config.has(options::RUBBISH) {
            return Err("-P: -r (-o 256) sends something else; give one of them".into());
        }
        let Some(path) = capture else {
            let alone = [("--loop", loops.is_some()), ("--speed", speed.is_some())];
            return match alone.iter().find(|(_, given)| *given && config.mode.name == "tx") {
                Some((name, _)) => Err(format!("{name}: nothing is replayed; give --pcap file, or leave it out")),
                None => Ok(None),
            };
        };
        if config.packet_file.is_some() || config.has(options::RUBBISH) {
            return Err("--pcap: -P and -r (-o 256) send something else; give one of them".into());
        }
        if config.rate.is_some() && speed.is_some() {
            return Err("--speed: -R sets the rate; give one of them".into());
        }
        let speed = speed.unwrap_or(if config.rate.is_some() { 0.0 } else { 1.0 });
        Ok(Some(ReplayConfig { path: path.clone(), interface: *interface, loops: loops.unwrap_or(1), speed }))
    }
}

/// Clears the bits of `-o` that have no effect here; returns a line for each.
fn without_effect(config: &mut Config) -> Result<Vec<String>, String> {
    use options::{COPY, DUMP, MEMCPY, PREFETCH, RANDOM_DST, RANDOM_SRC, RUBBISH, TS, UPDATE_CSUM};
    let mode = config.mode.name;
    let nothing = format!("has no effect with -f {mode}");
    let mut lines = Vec::new();
    let mut no = |config: &mut Config, bits: u32, why: &str| {
        let set = config.options & bits;
        for bit in (0..32).map(|k| 1 << k).filter(|bit| set & bit != 0) {
            config.options &= !bit;
            lines.push(format!("-o {bit}: {why}; left out"));
        }
    };
    no(config, ACCESS, "every byte received is read and checked anyway");
    no(config, INDIRECT, "linerate has no indirect buffers");
    if mode != "tx" && mode != "txseq" {
        no(config, PREFETCH | COPY | MEMCPY, &nothing);
    }
    if mode != "tx" {
        no(config, RUBBISH, &nothing);
    }
    if !Marks.holds(config) || config.mode.receives() {
        no(config, TS, &nothing);
    }
    if !Threads.holds(config) {
        no(config, DUMP, &nothing);
    }
    if !Makes.holds(config) {
        no(config, RANDOM_SRC | RANDOM_DST | TS, &format!("no frames are made with -f {mode} here"));
    }
    if config.has(COPY) && config.has(MEMCPY) {
        return Err("-o 12: COPY (4) and MEMCPY (8) are two ways to copy; give one of them".into());
    }
    if config.has(RUBBISH) {
        no(config, COPY | MEMCPY, "rubbish is not copied");
    }
    if !config.captured() {
        no(config, UPDATE_CSUM, "frames made here always have right checksums, it is for captured ones (-P, --pcap)");
    }
    Ok(lines)
}
