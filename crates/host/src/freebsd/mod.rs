//! Adapters of a FreeBSD host, from what its programs print: ifconfig(8), sysctl(8), pciconf(8), pkg-info(8), and the
//! file `/boot/loader.conf`. Each text is parsed by one file; nothing here runs a program or opens a file.
//!
//! Texts may be cut or made up. A last line without its end was cut, and is left out, so a cut text says nothing that
//! the whole one does not. What is not told is absent with a reason, as of Linux's adapters.

mod bits;
mod card;
mod ifconfig;
mod loader;
mod mbufs;
mod packages;
mod pciconf;
mod sysctl;
#[cfg(test)]
mod tests;
mod texts;

pub use bits::NamedBits;
pub use card::{DriverSysctl, FreebsdAdapter};
pub use ifconfig::{IfCapability, Ifconfig};
pub use loader::LoaderConf;
pub use mbufs::Mbufs;
pub use packages::InstalledPackage;
pub use pciconf::{PciExpress, PciFunction};
pub use sysctl::SysctlText;
pub use texts::{FREEBSD_FILES, FreebsdTexts};

/// Lines that are complete.
fn lines(text: &str) -> impl Iterator<Item = &str> {
    let whole = text.split_inclusive('\n').filter_map(|line| line.strip_suffix('\n'));
    whole.map(|line| line.strip_suffix('\r').unwrap_or(line))
}
