//! Checks of flags that do not go together.

use crate::xdd::config::{AccessOrder, Amount, Config, Verify};
use crate::xdd::engine::{is_file, kind_of};
use crate::xdd::pattern::Base;
use linerate_text::short;

/// Largest request, bytes: the size of one buffer.
pub(super) const REQUEST: u64 = 16 << 20;
/// Why only LUNs on a port have `-pi`: SG_IO passes data alone, and Linux's drivers want protection information apart
/// from it.
const NO_PROTECTION: &str =
    "-pi: neither SG_IO nor a file passes protection information; leave it out, or give a LUN on a port (fcoe:PORT)";
/// Greatest size of all buffers together, bytes.
const BUFFERS: u64 = 4 << 30;

impl Config {
    /// Checks for settings that do not go together.
    pub(super) fn check(&self) -> Result<(), String> {
        if self.targets.is_empty() {
            return Err("no target; give -targets 1 NAME".into());
        }
        let mut buffers = 0u64;
        for (number, target) in self.targets.iter().enumerate() {
            let trouble = |why: &str| Err(format!("target {number} ({}): {why}", short(&target.name, 80)));
            let Some(bytes) = target.block_size.checked_mul(target.request_blocks).filter(|n| *n <= REQUEST) else {
                return trouble("its requests are larger than 16 MiB; give smaller -reqsize or -blocksize");
            };
            buffers = buffers.saturating_add(bytes.saturating_mul(target.depth.into()));
            if target.amount == Amount::Whole && self.runtime.is_none() {
                return trouble("no end; give -numreqs, -mbytes or -runtime");
            }
            if target.delete && !is_file(target) {
                return trouble("-deletefile: it is no file; leave it out");
            }
            let reads = target.reads > 0;
            if target.verify != Verify::Nothing && !reads {
                return trouble("-verify: nothing is read; give -rwratio, or leave it out");
            }
            if (target.sync_write || target.flush_every.is_some()) && !target.writes() {
                return trouble("-syncwrite and -flushwrite: nothing is written; leave them out");
            }
            if target.truncate.is_some() && !(target.writes() && is_file(target)) {
                return trouble("-pretruncate: it is no file that is written; leave it out");
            }
            if target.randomize && target.seek.way != AccessOrder::Random {
                return trouble("-randomize: places are not random; give -seek random too");
            }
            if target.pattern.replicate && !matches!(target.pattern.base, Base::Text(_)) {
                return trouble("-datapattern replicate: there is no text; give ascii TEXT or hex HEX too");
            }
            if target.pattern.prefix.is_some() && !target.pattern.moves() {
                return trouble("-datapattern prefix: the pattern has no words; give sequenced or random too");
            }
            if target.pass_offset > 0 && target.seek.way == AccessOrder::Random {
                return trouble("-passoffset: places are random; leave it out");
            }
            if target.direct && !is_file(target) {
                return trouble("-dio: it is no file; leave it out");
            }
            let protected = target.pi.is_some_and(|pi| pi.guard.is_some());
            if protected && !kind_of(&target.name, target.sg).protects {
                return trouble(NO_PROTECTION);
            }
            if target.wwpn.is_some() && !kind_of(&target.name, target.sg).protects {
                return trouble("--wwpn: only a LUN on a port (fcoe:PORT) is logged in at; leave it out");
            }
            if target.sg && !target.name.starts_with('/') {
                return trouble("-sgio: it is no device of this machine; leave it out");
            }
        }
        if buffers > BUFFERS {
            return Err("-queuedepth, -reqsize and -targets: buffers of more than 4 GiB in all; give less".into());
        }
        if self.step.is_some() && self.targets.len() == 1 {
            return Err("-syncio: there is one target, which waits for no other; leave it out".into());
        }
        if self.pass_delay > std::time::Duration::ZERO && self.passes == 1 && self.runtime.is_none() {
            return Err("-passdelay: there is one pass; give -passes, or leave it out".into());
        }
        Ok(())
    }
}
