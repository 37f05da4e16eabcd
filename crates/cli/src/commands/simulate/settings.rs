//! Settings of a simulated SAN, from the command line, a file, or both.

use super::read;
use crate::commands::fcoe::{applications, vlan};
use crate::commands::shared::rate;
use crate::commands::switch::queues::Queues;
use crate::trouble::Trouble;
use clap::Args;
use linerate_load::fcoe::Mix;
use linerate_load::simulate::{Link, San};
use linerate_port::switch::Span;
use linerate_text::path::from_text;
use linerate_text::{bytes, decimal};
use linerate_wire::VlanTag;
use std::io::Read;
use std::path::Path;
use std::time::Duration;

/// Most bytes of a file.
const LONGEST: u64 = 64 << 10;
/// Probability of one, in billionths.
const ONE: u64 = 1_000_000_000;

#[derive(Args, Clone, Debug)]
pub(super) struct Settings {
    /// Initiators, 1 to 16.
    #[arg(long, value_name = "N", default_value_t = 4, value_parser = clap::value_parser!(u16).range(1..=16))]
    initiators: u16,
    /// Disks of each initiator, 1 to 64, in the target's memory.
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u16).range(1..=64))]
    luns: u16,
    /// Bytes of each disk, as 4M, up to 1G.
    #[arg(long, value_name = "BYTES", default_value = "4M", value_parser = disk)]
    disk: u64,
    /// What requests do: read, write, or readwrite (half of each).
    #[arg(long, value_name = "OP", default_value = "read", value_parser = op)]
    op: Mix,
    /// Bytes of a request, a multiple of 512, as 4K.
    #[arg(long, value_name = "BYTES", default_value = "4K", value_parser = block)]
    block: u32,
    /// Requests under way at once on each disk, 1 to 256.
    #[arg(long, value_name = "N", default_value_t = 16, value_parser = clap::value_parser!(u16).range(1..=256))]
    depth: u16,
    /// Bit/s of each cable, as 40G.
    #[arg(long, value_name = "BIT/S", default_value = "10G", value_parser = rate)]
    rate: u64,
    /// Metres of each cable, at 5 ns each, up to 100000.
    #[arg(long, value_name = "METRES", default_value_t = 10, value_parser = clap::value_parser!(u32).range(0..=100_000))]
    length: u32,
    /// Bit/s of the target's cable; otherwise that of the others.
    #[arg(long, value_name = "BIT/S", value_parser = rate)]
    target_rate: Option<u64>,
    /// Metres of the target's cable; otherwise those of the others.
    #[arg(long, value_name = "METRES", value_parser = clap::value_parser!(u32).range(0..=100_000))]
    target_length: Option<u32>,
    /// Plain IP hosts on cables like the initiators', 0 to 16. Each sends UDP datagrams to an IP host on the target's port.
    #[arg(long, value_name = "N", default_value_t = 0, value_parser = clap::value_parser!(u16).range(0..=16))]
    hosts: u16,
    /// Have them send as much as TCP lets them, over one connection each that asks for ECN.
    #[arg(long, requires = "hosts", conflicts_with_all = ["host_rate", "datagram"])]
    host_tcp: bool,
    /// Bit/s that each of them sends, framing included.
    #[arg(long, value_name = "BIT/S", default_value = "1G", value_parser = rate)]
    host_rate: u64,
    /// Bytes of a datagram, 8 to 1472.
    #[arg(long, value_name = "BYTES", default_value_t = 1472, value_parser = clap::value_parser!(u16).range(8..=1472))]
    datagram: u16,
    /// Frames of each ring, a power of two from 64 to 65536: those that wait at a port of the switch, and on its cable.
    #[arg(long, value_name = "N", default_value_t = 256, value_parser = slots)]
    slots: u32,
    /// Let frames wait at their sender for room, instead of dropping them at the switch.
    #[arg(long, conflicts_with = "buffers")]
    lossless: bool,
    #[command(flatten)]
    queues: Queues,
    /// The VLAN of the SAN's frames, 1 to 4094; their priority is 3. Those of the hosts have no tag, and priority 0.
    #[arg(long, value_name = "VID", value_parser = vlan)]
    vlan: Option<VlanTag>,
    /// Probability from 0 to 1 that a frame is lost on a cable.
    #[arg(long, value_name = "P", default_value = "0", value_parser = loss)]
    loss: u64,
    /// Virtual milliseconds under load before anything counts, 0 to 10000.
    #[arg(long, value_name = "MS", default_value_t = 5, value_parser = clap::value_parser!(u64).range(0..=10_000))]
    warm: u64,
    /// Virtual milliseconds that count, 1 to 600000.
    #[arg(long, value_name = "MS", default_value_t = 50, value_parser = clap::value_parser!(u64).range(1..=600_000))]
    time: u64,
    /// Seed of all that is random.
    #[arg(long, value_name = "N", default_value_t = 1)]
    seed: u64,
    /// Read settings from a TOML file, by the names of these options; the command line goes before.
    #[arg(long, value_name = "FILE")]
    config: Option<String>,
    /// Print one JSON document.
    #[arg(long)]
    pub(super) json: bool,
}

fn disk(text: &str) -> Result<u64, String> {
    bytes(text).filter(|n| (8192..=1 << 30).contains(n)).ok_or_else(|| "give 8K to 1G".to_owned())
}

fn block(text: &str) -> Result<u32, String> {
    let fits = bytes(text).filter(|n| (512..=8 << 20).contains(n) && n.is_multiple_of(512));
    fits.and_then(|n| u32::try_from(n).ok()).ok_or_else(|| "give a multiple of 512, up to 8M".to_owned())
}

fn op(text: &str) -> Result<Mix, String> {
    Mix::parse(text).ok_or_else(|| format!("give one of {}", Mix::ALL.map(Mix::word).join(", ")))
}

fn slots(text: &str) -> Result<u32, String> {
    let fits = text.parse().ok().filter(|n: &u32| n.is_power_of_two() && (64..=65_536).contains(n));
    fits.ok_or_else(|| "give a power of two from 64 to 65536".to_owned())
}

fn loss(text: &str) -> Result<u64, String> {
    let fits = decimal(text, 9).filter(|p| *p <= ONE);
    fits.ok_or_else(|| "give a number from 0 to 1 with at most 9 digits behind the point".to_owned())
}

impl Settings {
    /// The same with what a file says besides, if one is named. `words`: the whole command line.
    pub(super) fn with_file(self, words: &[String]) -> Result<Self, Trouble> {
        let Some(file) = &self.config else { return Ok(self) };
        let oops = |why: String| Trouble::usage(format!("{file}: {why}"));
        let all = written(&from_text(file)).map_err(oops)?;
        let (command, own) = words.split_at(words.len().min(2));
        let all: Vec<String> = command.iter().chain(&all).chain(own).cloned().collect();
        read(&all).map_err(oops)
    }

    pub(super) fn san(&self) -> Result<San, Trouble> {
        let (rate, length) = (self.target_rate.unwrap_or(self.rate), self.target_length.unwrap_or(self.length));
        let longest = Span { rate: rate.max(self.rate), metres: length.max(self.length) };
        Ok(San {
            seed: self.seed,
            initiators: self.initiators,
            luns: self.luns,
            disk: self.disk,
            block: self.block,
            depth: self.depth,
            reads: self.op.reads(),
            initiator: Link { rate: self.rate, length: self.length },
            target: Link { rate, length },
            hosts: self.hosts,
            host_tcp: self.host_tcp,
            host_rate: self.host_rate,
            datagram: self.datagram,
            slots: self.slots,
            lossless: self.lossless,
            buffers: self.queues.buffers(longest)?,
            dcb: self.queues.offered()?.map(|mut offered| {
                if offered.applications.is_empty() {
                    offered.applications = applications();
                }
                offered
            }),
            vlan: self.vlan,
            loss: self.loss,
            warm: Duration::from_millis(self.warm),
            time: Duration::from_millis(self.time),
        })
    }
}

/// A file's settings as words of a command line.
fn written(path: &Path) -> Result<Vec<String>, String> {
    let mut text = String::new();
    let file = std::fs::File::open(path).map_err(|e| format!("{e}; name a file that can be read"))?;
    file.take(LONGEST + 1).read_to_string(&mut text).map_err(|e| format!("{e}; give a file of text"))?;
    if text.len() as u64 > LONGEST {
        return Err("it is longer than 64 KiB; give a file of settings".to_owned());
    }
    let table: toml::Table = text.parse().map_err(|e: toml::de::Error| {
        let before = text.bytes().take(e.span().map_or(0, |span| span.start));
        let line = 1 + before.filter(|byte| *byte == b'\n').count();
        format!("line {line}: {}; write lines as rate = \"40G\"", e.message())
    })?;
    let mut words = Vec::new();
    for (name, value) in table {
        let value = match value {
            toml::Value::Boolean(false) => continue,
            toml::Value::Boolean(true) => None,
            toml::Value::String(text) => Some(text),
            toml::Value::Integer(n) => Some(n.to_string()),
            toml::Value::Float(n) => Some(n.to_string()),
            _ => return Err(format!("{name}: not one value; write a line as rate = \"40G\"")),
        };
        if matches!(name.as_str(), "config" | "json" | "help") {
            return Err(format!("{name}: not in a file; give --{name}"));
        }
        words.push(value.map_or(format!("--{name}"), |value| format!("--{name}={value}")));
    }
    Ok(words)
}
