//! Configuration of a target: LUNs and the initiators that may see them, from the command line or a file.

use crate::trouble::Trouble;
use linerate_fcoe::{Naa, NaaError};
use linerate_rt::block::DeviceSpec;
use linerate_wire::Wwn;
use serde::Deserialize;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::str::FromStr;

/// Longest configuration file, in bytes: some more than all LUNs take.
const LONGEST: u64 = 16 << 20;

/// Greatest LUN that a target can have: flat addressing has 14 bits (SAM-5, clause 4.7.6).
const MOST: u16 = 16383;

#[derive(Clone, Debug)]
pub(in crate::commands::fcoe) struct LunSpec {
    pub(super) number: u16,
    pub(super) device: DeviceSpec,
    /// Names from a file, for devices whose text has none.
    pub(super) serial: Option<String>,
    pub(super) naa: Option<Naa>,
}

impl LunSpec {
    /// True if the device is an NBD server behind a UNIX socket.
    pub(super) fn has_socket(&self) -> bool {
        self.device.kind.name == "nbd+unix"
    }

    /// True if both are the same LUN with the same device and names.
    pub(super) fn is_same(&self, other: &Self) -> bool {
        let of = |spec: &Self| (spec.number, spec.device.to_string(), spec.serial.clone(), spec.naa.clone());
        of(self) == of(other)
    }

    /// Place of its device: that of two LUNs is the same only if their devices may be.
    pub(super) fn place(&self) -> String {
        self.device.absolute().map_or_else(|_| self.device.name.clone(), |device| device.name)
    }

    /// The LUN in one word, as another process understands it that is in another directory: see [`decoded`].
    pub(in crate::commands::fcoe) fn word(&self) -> Result<String, Trouble> {
        let device = self.device.absolute().map_err(|e| Trouble::usage(e.to_string()))?.to_string();
        let word = |c: char| if c == '%' || c.is_whitespace() { format!("%{:06x}", u32::from(c)) } else { c.into() };
        Ok(format!("{}={}", self.number, device.chars().map(word).collect::<String>()))
    }
}

/// Text of a word in which `%` and six hexadecimal digits stand for a character.
pub(super) fn decoded(word: &str) -> String {
    let mut parts = word.split('%');
    let mut text = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let c = part.get(..6).and_then(|digits| char::from_u32(u32::from_str_radix(digits, 16).ok()?));
        text.extend(c);
        text += if c.is_some() { &part[6..] } else { part };
    }
    text
}

/// Parses a LUN.
pub(in crate::commands::fcoe) fn number(text: &str) -> Result<u16, String> {
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
pub(in crate::commands::fcoe) struct Allow {
    pub(in crate::commands::fcoe) wwpn: Wwn,
    pub(in crate::commands::fcoe) luns: Vec<u16>,
    /// It need not prove its name.
    pub(in crate::commands::fcoe) open: bool,
}

/// Word among the LUNs of an initiator that need not prove its name.
pub(in crate::commands::fcoe) const OPEN: &str = "open";

impl FromStr for Allow {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (wwpn, luns) = text.split_once('=').ok_or("write it as 20:00:52:54:00:00:00:01=0,1")?;
        let wwpn = wwpn.parse().map_err(|e: linerate_wire::Error| e.to_string())?;
        let (open, luns): (Vec<_>, Vec<_>) =
            luns.split(',').filter(|lun| !lun.is_empty()).partition(|lun| *lun == OPEN);
        let luns = luns.into_iter().map(number).collect::<Result<_, _>>()?;
        Ok(Self { wwpn, luns, open: !open.is_empty() })
    }
}

/// Configuration from a file, parsed.
#[derive(Debug, Default)]
pub(super) struct File {
    pub(super) ports: Vec<String>,
    pub(super) hold: Option<u64>,
    pub(super) luns: Vec<LunSpec>,
    pub(super) allow: Vec<Allow>,
    pub(super) auth: Option<PathBuf>,
}

/// Configuration as written in the file.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(default)]
    port: Ports,
    hold: Option<u64>,
    auth: Option<String>,
    #[serde(default)]
    lun: Vec<WrittenLun>,
    #[serde(default)]
    allow: Vec<WrittenAllow>,
}

/// One port, or several in a list.
#[derive(Deserialize)]
#[serde(untagged, expecting = "give a port, or a list of ports")]
enum Ports {
    One(String),
    Several(Vec<String>),
}

impl Default for Ports {
    fn default() -> Self {
        Self::Several(Vec::new())
    }
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
    #[serde(default)]
    open: bool,
}

/// Reads a configuration file again, while the target runs: nobody waits for what a pipe may say.
pub(super) fn read_again(path: &Path) -> Result<File, Trouble> {
    if path.metadata().is_ok_and(|of| !of.is_file()) {
        return Err(Trouble::usage(format!("{}: it is no file that can be read again: make it one", path.display())));
    }
    read(path)
}

fn text_of(path: &Path) -> Result<String, String> {
    let mut bytes = Vec::new();
    std::fs::File::open(path)
        .and_then(|file| file.take(LONGEST + 1).read_to_end(&mut bytes))
        .map_err(|e| format!("{e}; give a file that can be read"))?;
    if bytes.len() as u64 > LONGEST {
        return Err(format!("it is longer than {LONGEST} bytes: give the file that says what the LUNs are"));
    }
    String::from_utf8(bytes)
        .map_err(|e| format!("byte {}: it is no UTF-8: write it as text", e.utf8_error().valid_up_to()))
}

pub(super) fn read(path: &Path) -> Result<File, Trouble> {
    let wrong = |what: String| Trouble::usage(format!("{}: {what}", path.display()));
    let text = text_of(path).map_err(wrong)?;
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
    let allow = |WrittenAllow { wwpn, luns, open }: WrittenAllow| {
        let named: Wwn = wwpn.parse().map_err(|e| wrong(format!("allow '{wwpn}': {e}")))?;
        match luns.iter().find(|lun| **lun > MOST) {
            Some(lun) => Err(wrong(format!("allow '{wwpn}': {lun} is no LUN: give numbers from 0 to {MOST}"))),
            None => Ok(Allow { wwpn: named, luns, open }),
        }
    };
    if written.hold.is_some_and(|seconds| seconds > LONGEST_HOLD) {
        return Err(wrong(format!("hold: give at most {LONGEST_HOLD} seconds")));
    }
    if let Some(at) =
        (1..written.lun.len()).find(|at| written.lun[..*at].iter().any(|lun| lun.lun == written.lun[*at].lun))
    {
        return Err(wrong(format!("lun {}: it stands twice: give each a number of its own", written.lun[at].lun)));
    }
    Ok(File {
        ports: match written.port {
            Ports::One(port) => vec![port],
            Ports::Several(ports) => ports,
        },
        hold: written.hold,
        auth: written.auth.map(PathBuf::from),
        luns: written.lun.into_iter().map(lun).collect::<Result<_, _>>()?,
        allow: written.allow.into_iter().map(allow).collect::<Result<_, _>>()?,
    })
}

/// Longest time for which commands can be held, in seconds.
pub(super) const LONGEST_HOLD: u64 = 3600;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lun_in_one_word_is_the_lun() {
        for text in
            ["0=ram:64M", "3=file:/a b/%25 c\td,ro", "1=nbd+unix:///e?socket=/x%20y", "2=file:/\u{10fe80}\u{3000}"]
        {
            let spec: LunSpec = text.parse().unwrap();
            let word = spec.word().unwrap();
            assert_eq!((word.split_whitespace().count(), decoded(&word)), (1, text.to_owned()));
        }
        let relative: LunSpec = "0=file:x y,block=4096".parse().unwrap();
        let here = std::env::current_dir().unwrap();
        assert_eq!(decoded(&relative.word().unwrap()), format!("0=file:{}/x y,block=4096", here.display()));
        assert_eq!(decoded("%zz%000020%"), "zz ");
    }
}
