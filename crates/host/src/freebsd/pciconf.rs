//! `pciconf -lcv`: functions on the PCI bus, with the names of vendor and device, and their PCI Express capability.

use super::lines;
use serde::Serialize;
use std::str::FromStr;

/// A PCI function as pciconf(8) prints it.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PciFunction {
    /// Driver and unit (`oce0`).
    pub name: String,
    /// Selector: domain, bus, slot, function (`pci0:3:0:0`).
    pub selector: String,
    pub vendor_id: Option<u16>,
    pub device_id: Option<u16>,
    /// Numbers of the card's vendor and of the card.
    pub card: Option<(u16, u16)>,
    /// Class, subclass and interface, a byte each.
    pub class_code: Option<u32>,
    pub revision: Option<u8>,
    pub vendor: Option<String>,
    pub device: Option<String>,
    pub class: Option<String>,
    pub subclass: Option<String>,
    pub express: Option<PciExpress>,
}

/// The PCI Express capability of a function.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PciExpress {
    pub version: u32,
    /// Kind of the function: `endpoint`, `root port`.
    pub kind: String,
    /// Bytes of a packet's payload: set, and at most.
    pub max_data: Option<(u32, u32)>,
    /// Bytes of a read request.
    pub max_read: Option<u32>,
    /// Lanes in use, and at most.
    pub lanes: Option<(u32, u32)>,
    /// GT/s of a lane: in use (0 if the link is down), and at most. Older versions do not print them.
    pub speed: Option<(f64, f64)>,
}

impl PciFunction {
    /// Parses the text, in its order.
    #[must_use]
    pub fn parse(text: &str) -> Vec<Self> {
        let mut all: Vec<Self> = Vec::new();
        let (mut inside, mut capability) = (false, String::new());
        for line in lines(text) {
            let deep = line.starts_with("        ") || line.starts_with("\t\t");
            if deep && !capability.is_empty() {
                capability += line;
                continue;
            }
            end_of(&mut capability, all.last_mut().filter(|_| inside));
            if !line.starts_with(char::is_whitespace) {
                let found = head(line);
                inside = found.is_some();
                all.extend(found);
            } else if let Some(last) = all.last_mut().filter(|_| inside) {
                last.add(line.trim(), &mut capability);
            }
        }
        end_of(&mut capability, all.last_mut().filter(|_| inside));
        all
    }

    fn add(&mut self, line: &str, capability: &mut String) {
        if line.starts_with("cap 10[") {
            line.clone_into(capability);
            return;
        }
        let Some((key, value)) = line.split_once('=') else { return };
        let value = value.trim();
        let value = value.strip_prefix('\'').and_then(|value| value.strip_suffix('\'')).unwrap_or(value).to_owned();
        match key.trim() {
            "vendor" => self.vendor = Some(value),
            "device" => self.device = Some(value),
            "class" => self.class = Some(value),
            "subclass" => self.subclass = Some(value),
            _ => {}
        }
    }
}

/// Reads a capability whose lines are complete.
fn end_of(capability: &mut String, function: Option<&mut PciFunction>) {
    let text = std::mem::take(capability);
    if let Some((function, found)) = function.zip(PciExpress::parse(&text)) {
        function.express = Some(found);
    }
}

/// The first line of a function: `oce0@pci0:3:0:0: class=0x020000 …`, ids of which have two forms by version.
fn head(line: &str) -> Option<PciFunction> {
    let (place, rest) = line.split_once(char::is_whitespace)?;
    let (name, selector) = place.trim_end_matches(':').split_once('@')?;
    if name.is_empty() || !selector.starts_with("pci") {
        return None;
    }
    let number = |key: &str| {
        let word = rest.split_whitespace().find_map(|word| word.strip_prefix(key)?.strip_prefix("=0x"))?;
        u32::from_str_radix(word, 16).ok()
    };
    let half = |number: u32| u16::try_from(number & 0xffff).ok();
    let pair = |first: &str, second: &str, both: &str| {
        let both = number(both);
        let vendor = number(first).or(both).and_then(half);
        (vendor, number(second).or(both.map(|both| both >> 16)).and_then(half))
    };
    let (vendor_id, device_id) = pair("vendor", "device", "chip");
    let (subvendor, subdevice) = pair("subvendor", "subdevice", "card");
    Some(PciFunction {
        name: name.to_owned(),
        selector: selector.to_owned(),
        vendor_id,
        device_id,
        card: subvendor.zip(subdevice),
        class_code: number("class"),
        revision: number("rev").and_then(|rev| u8::try_from(rev).ok()),
        ..PciFunction::default()
    })
}

impl PciExpress {
    /// Parses the capability's text, its lines put together.
    fn parse(text: &str) -> Option<Self> {
        let (_, text) = text.split_once("= PCI-Express ")?;
        let words: Vec<&str> = text.split_whitespace().collect();
        let kind: Vec<&str> =
            words.iter().skip(1).take_while(|word| !matches!(**word, "MSI" | "max")).copied().collect();
        // The word behind one or two others.
        let behind = |keys: &[&str]| {
            let at = words.windows(keys.len()).position(|some| some == keys)?;
            words.get(at + keys.len()).copied()
        };
        Some(Self {
            version: words.first()?.parse().ok()?,
            kind: kind.join(" "),
            max_data: behind(&["max", "data"]).and_then(pair),
            max_read: behind(&["max", "read"]).and_then(|word| word.parse().ok()),
            lanes: behind(&["link"]).and_then(|word| pair(&word.replace('x', ""))),
            speed: behind(&["speed"]).and_then(pair).filter(|(now, most)| sound(*now) && sound(*most) && *most > 0.0),
        })
    }
}

/// True for a speed that a lane can have; the program prints 0.0 for a link that is down.
fn sound(speed: f64) -> bool {
    speed.is_finite() && speed >= 0.0
}

/// Two numbers: `256(512)`.
fn pair<T: FromStr>(word: &str) -> Option<(T, T)> {
    let (first, second) = word.strip_suffix(')')?.split_once('(')?;
    Some((first.parse().ok()?, second.parse().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn express(text: &str) -> PciExpress {
        let text = format!("a0@pci0:1:0:0:\tclass=0x020000\n    cap 10[70] = {text}\n    ecap 0001[100] = AER 2\n");
        PciFunction::parse(&text).remove(0).express.unwrap()
    }

    #[test]
    fn the_link_is_read_as_each_version_prints_it() {
        // With FreeBSD 7, 9 and 13.
        let old = express("PCI-Express 1 endpoint max data 128(256) link x4(x8)");
        assert_eq!((old.lanes, old.speed, old.max_data), (Some((4, 8)), None, Some((128, 256))));
        let wrapped = express(
            "PCI-Express 2 endpoint max data 256(512) FLR link x8(x8)\n                 speed 5.0(5.0) ASPM disabled(L0s)",
        );
        assert_eq!((wrapped.lanes, wrapped.speed, wrapped.version), (Some((8, 8)), Some((5.0, 5.0)), 2));
        let new = express(
            "PCI-Express 2 root port MSI 1 max data 256(512) RO NS\n                 max read 512\n                 \
             link x16(x16) speed 8.0(16.0) ASPM L1(L0s/L1)\n                 slot 3 power limit 25000 mW",
        );
        assert_eq!((new.kind.as_str(), new.max_read, new.speed), ("root port", Some(512), Some((8.0, 16.0))));
        for (printed, speed) in [
            ("0.0(5.0)", Some((0.0, 5.0))),
            ("0.0(undef)", None),
            ("nan(5.0)", None),
            ("-1(5.0)", None),
            ("0(0)", None),
        ] {
            let down = express(&format!("PCI-Express 2 endpoint max data 128(512) link x0(x8) speed {printed}"));
            assert_eq!((down.lanes, down.speed), (Some((0, 8)), speed), "{printed}");
        }
    }

    #[test]
    fn ids_are_read_in_both_forms() {
        for line in [
            "oce0@pci0:3:0:0:\tclass=0x020000 card=0xe70210df chip=0x071019a2 rev=0x02 hdr=0x00\n",
            "oce0@pci0:3:0:0:\tclass=0x020000 rev=0x02 hdr=0x00 vendor=0x19a2 device=0x0710 subvendor=0x10df subdevice=0xe702\n",
        ] {
            let one = PciFunction::parse(line).remove(0);
            assert_eq!((one.name.as_str(), one.selector.as_str()), ("oce0", "pci0:3:0:0"));
            assert_eq!((one.vendor_id, one.device_id, one.card), (Some(0x19a2), Some(0x710), Some((0x10df, 0xe702))));
            assert_eq!((one.class_code, one.revision), (Some(0x2_0000), Some(2)));
        }
    }
}
