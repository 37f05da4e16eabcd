//! Configuration of a target: LUNs and the initiators that may see them, from the command line or a file.

use super::kept::Kept;
use crate::trouble::Trouble;
use linerate_fcoe::{Disks, DisksConfig, Naa, NaaError, ProtectionType, UnitOptions};
use linerate_rt::block::{DeviceSpec, LunOptions, Waits};
use linerate_wire::Wwn;
use serde::Deserialize;
use std::path::Path;
use std::str::FromStr;
use std::time::Duration;

/// Greatest LUN that a target can have: flat addressing has 14 bits (SAM-5, clause 4.7.6).
const MOST: u16 = 16383;

/// A LUN and its device.
#[derive(Clone, Debug)]
pub(super) struct LunSpec {
    number: u16,
    device: DeviceSpec,
    /// Names from a file, for devices whose text has none.
    serial: Option<String>,
    naa: Option<Naa>,
}

impl LunSpec {
    /// True if the device is an NBD server behind a UNIX socket.
    pub(super) fn has_socket(&self) -> bool {
        self.device.kind.name == "nbd+unix"
    }
}

fn number(text: &str) -> Result<u16, String> {
    let number = text.parse().ok().filter(|number| *number <= MOST);
    number.ok_or_else(|| format!("'{text}' is no LUN: give a number from 0 to {MOST}"))
}

impl FromStr for LunSpec {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (lun, device) = text.split_once('=').ok_or("write it as 0=ram:64M")?;
        let device = DeviceSpec::parse(device).map_err(|e| e.to_string())?;
        Ok(Self { number: number(lun)?, device, serial: None, naa: None })
    }
}

/// Initiator, and the LUNs that it may see.
#[derive(Clone, Debug)]
pub(super) struct Allow {
    wwpn: Wwn,
    luns: Vec<u16>,
}

impl FromStr for Allow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (wwpn, luns) = text.split_once('=').ok_or("write it as 20:00:52:54:00:00:00:01=0,1")?;
        let wwpn = wwpn.parse().map_err(|e: linerate_wire::Error| e.to_string())?;
        let luns = luns.split(',').filter(|lun| !lun.is_empty()).map(number).collect::<Result<_, _>>()?;
        Ok(Self { wwpn, luns })
    }
}

/// Configuration from a file, parsed.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) port: Option<String>,
    pub(super) hold: Option<u64>,
    pub(super) luns: Vec<LunSpec>,
    pub(super) allow: Vec<Allow>,
}

/// Configuration as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    port: Option<String>,
    hold: Option<u64>,
    #[serde(default)]
    lun: Vec<WrittenLun>,
    #[serde(default)]
    allow: Vec<WrittenAllow>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenLun {
    lun: u16,
    device: String,
    serial: Option<String>,
    naa: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct WrittenAllow {
    wwpn: String,
    luns: Vec<u16>,
}

/// Reads a configuration file.
pub(super) fn read(path: &Path) -> Result<File, Trouble> {
    let wrong = |what: String| Trouble::usage(format!("{}: {what}", path.display()));
    let text = std::fs::read_to_string(path).map_err(|e| wrong(format!("{e}; give a file that can be read")))?;
    let written: Written = toml::from_str(&text).map_err(|e| {
        let line = e.span().map_or(0, |span| text[..span.start].lines().count().max(1));
        wrong(format!("line {line}: {}; see linerate fcoe target --help", e.message()))
    })?;
    let lun = |WrittenLun { lun, device, serial, naa }| {
        let oops = |e: String| wrong(format!("lun {lun}: {e}"));
        let spec: LunSpec = format!("{lun}={device}").parse().map_err(oops)?;
        let naa = naa.map(|text| text.parse().map_err(|e: NaaError| oops(format!("naa '{text}': {e}")))).transpose()?;
        Ok::<_, Trouble>(LunSpec { serial, naa, ..spec })
    };
    let allow = |WrittenAllow { wwpn, luns }: WrittenAllow| {
        let named: Wwn = wwpn.parse().map_err(|e| wrong(format!("allow '{wwpn}': {e}")))?;
        match luns.iter().find(|lun| **lun > MOST) {
            Some(lun) => Err(wrong(format!("allow '{wwpn}': {lun} is no LUN: give numbers from 0 to {MOST}"))),
            None => Ok(Allow { wwpn: named, luns }),
        }
    };
    if written.hold.is_some_and(|seconds| seconds > LONGEST_HOLD) {
        return Err(wrong(format!("hold: give at most {LONGEST_HOLD} seconds")));
    }
    Ok(File {
        port: written.port,
        hold: written.hold,
        luns: written.lun.into_iter().map(lun).collect::<Result<_, _>>()?,
        allow: written.allow.into_iter().map(allow).collect::<Result<_, _>>()?,
    })
}

/// The opened LUNs of a target.
pub(super) struct Opened {
    pub(super) disks: Disks,
    /// Objects to sleep on while devices work.
    pub(super) waits: Vec<(u16, Waits)>,
    /// Number of each LUN, and a description of its device and path.
    pub(super) lines: Vec<(u16, String)>,
}

/// Longest time for which commands can be held, in seconds.
pub(super) const LONGEST_HOLD: u64 = 3600;
/// Bytes of buffers, shared by all commands on devices that are not memory.
const BUFFERS: usize = 256 << 20;

/// Opens all devices for a port with these names; commands to one that is out of reach are held for as long as `hold`. If
/// it only `checks`, nothing is made.
pub(super) fn open(
    luns: &[LunSpec],
    allow: &[Allow],
    (wwpn, wwnn): (Wwn, Wwn),
    (hold, checks): (Duration, bool),
) -> Result<Opened, Trouble> {
    let mut disks = Disks::new(&DisksConfig { wwpn, wwnn, buffers: BUFFERS });
    if let Some(kept) = (!checks).then(Kept::open).flatten() {
        disks.keep_with(Box::new(kept));
    }
    let (mut waits, mut lines) = (Vec::new(), Vec::new());
    for LunSpec { number, device, serial, naa } in luns {
        let seed = wwpn.0.rotate_left(16) ^ u64::from(*number);
        let options = LunOptions { seed, hold, checks, serial: serial.clone(), naa: naa.clone() };
        let opened = device.open(&options).map_err(|e| Trouble::usage(format!("LUN {number}: {e}")))?;
        let geometry = opened.backend.geometry();
        let size = u128::from(geometry.blocks) * u128::from(geometry.block_size);
        let ro = if geometry.read_only { ", read-only" } else { "" };
        lines.push((*number, format!("LUN {number}: {device}, {size} bytes{ro}: {}", opened.path)));
        waits.extend(opened.waits.map(|waits| (*number, waits)));
        let kinds = [ProtectionType::Type1, ProtectionType::Type2, ProtectionType::Type3];
        let protection = kinds.into_iter().find(|kind| kind.code() == opened.protection);
        let options = UnitOptions { protection, name: Some(opened.name) };
        disks.add_with(*number, opened.backend, options).map_err(|e| Trouble::usage(e.to_string()))?;
    }
    for Allow { wwpn, luns: seen } in allow {
        if let Some(unknown) = seen.iter().find(|lun| !luns.iter().any(|known| known.number == **lun)) {
            return Err(Trouble::usage(format!("--allow {wwpn}: there is no LUN {unknown}: add --lun {unknown}=…")));
        }
        disks.allow(*wwpn, seen);
    }
    Ok(Opened { disks, waits, lines })
}
