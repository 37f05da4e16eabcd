//! The texts of a host, and which program prints each.

use super::{FreebsdAdapter, Ifconfig, InstalledPackage, LoaderConf, Mbufs, PciFunction, SysctlText};
use crate::absent::{Absent, Part};
use std::io;

/// Names of the files in a recorded tree's folder `freebsd`, and the command whose output each has. Those
/// behind the packages, with descriptions of variables and with buffers, may be missing.
pub const FREEBSD_FILES: [(&str, &str); 9] = [
    ("ifconfig", "ifconfig -m"),
    ("sysctl", "sysctl -a"),
    ("pciconf", "pciconf -lcv"),
    ("loader.conf", "cat /boot/loader.conf"),
    ("pkg", "pkg info"),
    ("sysctl-d", "sysctl -ad"),
    ("netstat-m", "netstat -m"),
    ("dmesg", "dmesg"),
    ("netstat-i", "netstat -i"),
];

/// Outputs of the programs of a host.
#[derive(Clone, Debug, PartialEq)]
pub struct FreebsdTexts {
    pub interfaces: Part<Vec<Ifconfig>>,
    pub sysctl: Part<SysctlText>,
    pub pci: Part<Vec<PciFunction>>,
    /// Settings of the boot.
    pub loader: Part<LoaderConf>,
    pub packages: Part<Vec<InstalledPackage>>,
    /// Descriptions of sysctl's variables.
    pub descriptions: Part<SysctlText>,
    /// Buffers of the network.
    pub mbufs: Part<Mbufs>,
    /// The kernel's messages.
    pub messages: Part<String>,
    /// Counters of interfaces (`netstat -i`).
    pub counted: Part<String>,
    /// Texts whose end is missing.
    pub cut: Vec<String>,
}

impl FreebsdTexts {
    /// Parses the texts that `get` returns for the names of [`FREEBSD_FILES`].
    pub fn read(get: impl Fn(&str) -> io::Result<Vec<u8>>) -> Self {
        let mut cut = Vec::new();
        let [interfaces, sysctl, pci, loader, packages, descriptions, mbufs, messages, counted] =
            FREEBSD_FILES.map(|(name, command)| {
                let bytes = get(name).map_err(|e| match e.kind() {
                    io::ErrorKind::NotFound => {
                        Absent::told(format!("not recorded; write it by: {command} >freebsd/{name}"))
                    }
                    _ => Absent::from(e),
                })?;
                if bytes.last().is_some_and(|last| *last != b'\n') {
                    cut.push(name.to_owned());
                }
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            });
        Self {
            interfaces: interfaces.map(|text: String| Ifconfig::parse(&text)),
            sysctl: sysctl.map(|text| SysctlText::parse(&text)),
            pci: pci.map(|text| PciFunction::parse(&text)),
            loader: loader.map(|text| LoaderConf::parse(&text)),
            packages: packages.map(|text| InstalledPackage::parse(&text)),
            descriptions: descriptions.map(|text| SysctlText::parse(&text)),
            mbufs: mbufs.map(|text| Mbufs::parse(&text)),
            messages,
            counted,
            cut,
        }
    }

    /// Function of an interface's device on the PCI bus.
    #[must_use]
    pub fn function(&self, interface: &str) -> Option<&PciFunction> {
        self.pci.as_ref().ok()?.iter().find(|one| one.name == interface)
    }

    /// Everything about an interface.
    ///
    /// # Errors
    /// The reason: ENODEV if there is none of that name.
    pub fn adapter(&self, name: &str) -> Part<FreebsdAdapter> {
        let all = self.interfaces.as_ref().map_err(Absent::clone)?;
        let found = all.iter().find(|one| one.name == name).ok_or_else(|| Absent::new(19, None))?;
        Ok(FreebsdAdapter::of(found.clone(), self))
    }
}
