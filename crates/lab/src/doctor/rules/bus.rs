//! The adapter on its bus, its firmware and its driver.

use crate::doctor::configured::{is_one_name, number, options};
use crate::doctor::finding::{Finding, Severity};
use crate::doctor::rule::{FAST, Found, INTERFACE, Proof, Rule, healthy};
use crate::doctor::view::{View, have};
use linerate_host::shell::word;

pub(super) const RULES: &[Rule] = &[
    INTERFACE.by("pcie-width", pcie_width),
    INTERFACE.by("pcie-speed", pcie_speed),
    INTERFACE.by("pcie-bridge", pcie_bridge),
    INTERFACE.by("pcie-errors", pcie_errors),
    INTERFACE.by("emulated", emulated),
    INTERFACE.by("firmware-stored", firmware_stored),
    INTERFACE.by("driver-firmware", driver_firmware),
    INTERFACE.by("module-options", module_options),
    INTERFACE.by("pcie-requests", pcie_requests).proof(Proof::Stream),
    INTERFACE.by("usb-speed", usb_speed),
    INTERFACE.by("aspm", aspm).proof(Proof::Requests),
    INTERFACE.by("iommu", iommu).proof(Proof::Stream),
];

fn pcie_width(view: &View<'_>) -> Found {
    view.slow_pci("current_link_width", |link| [link.width.into(), link.width_most.into()], |lanes| format!("x{lanes}"))
}

fn pcie_speed(view: &View<'_>) -> Found {
    view.slow_pci("current_link_speed", |link| [link.speed, link.speed_most], |speed| format!("{speed} GT/s"))
}

fn pcie_bridge(view: &View<'_>) -> Found {
    let pci = have(&have(&view.adapter.device)?.pci)?;
    let found = pci.narrows.iter().map(|(bridge, link)| {
        Finding::new(Severity::Warning, format!("the bridge {bridge} above it is narrower than the card"))
            .seen(
                format!("x{} at {} GT/s", link.width, link.speed),
                format!("/sys/bus/pci/devices/{bridge}/current_link_width, current_link_speed"),
            )
            .mend("a slot on another bridge; 'lspci -tv' shows which")
    });
    Ok(found.collect())
}

fn firmware_stored(view: &View<'_>) -> Found {
    let devlink = have(&view.adapter.devlink)?;
    let handle = word(&devlink.handle);
    let pending: Vec<_> = devlink.pending().collect();
    let Some((name, running, stored)) = pending.first() else { return healthy() };
    let first = Finding::new(Severity::Warning, format!("{name} {running} runs, {stored} is stored"));
    pending
        .iter()
        .fold(first, |finding, (name, running, stored)| {
            finding.seen(format!("{name}: running {running}, stored {stored}"), format!("devlink dev info {handle}"))
        })
        .mend(format!("devlink dev reload {handle} action fw_activate, or restart the machine"))
        .alone()
}

/// Drivers whose own version is that of their firmware's release.
const TOGETHER: &[&str] = &["be2net", "oce"];
/// Builds of one release lie so near to each other: 4.0.355.1 of the 2012 tuning note, with the firmware 4.0.360.15.
const BUILDS: u32 = 64;

/// True for versions of one release: the first two numbers are the same, and the third, of the build, is near.
pub(super) fn is_one_release(one: &str, other: &str) -> bool {
    let numbers = |version: &str| version.split('.').map(|part| part.parse::<u32>().ok()).take(3).collect::<Vec<_>>();
    let (one, other) = (numbers(one), numbers(other));
    let near = |at: usize| match (one.get(at).copied().flatten(), other.get(at).copied().flatten()) {
        (Some(one), Some(other)) => one.abs_diff(other) <= BUILDS,
        _ => true,
    };
    one.iter().take(2).eq(other.iter().take(2)) && near(2)
}

fn driver_firmware(view: &View<'_>) -> Found {
    let driver = have(&view.adapter.driver)?;
    let together = TOGETHER.iter().find(|name| driver.name.as_deref() == Some(name));
    let (Some(name), Some(version), Some(firmware)) = (together, &driver.version, &driver.firmware) else {
        return healthy();
    };
    if is_one_release(version, firmware) {
        return healthy();
    }
    Finding::new(Severity::Warning, format!("the driver is {name} {version}, the firmware {firmware}"))
        .seen(format!("version {version}, firmware-version {firmware}"), format!("ethtool -i {}", view.typed()))
        .mend("install driver and firmware of one release, as the vendor's compatibility list has them")
        .alone()
}

fn module_options(view: &View<'_>) -> Found {
    let of_device = view.adapter.device.as_ref().ok().and_then(|device| device.driver.clone().ok());
    let module = match of_device {
        Some(name) => name,
        None => have(&view.adapter.driver)?.name.clone().ok_or("its driver has no name")?,
    };
    let module = module.replace('-', "_");
    let folder = format!("sys/module/{module}/parameters");
    // Some names are of no module ("802.1Q VLAN Support").
    let parameters = match module.chars().all(|c| c.is_ascii_alphanumeric() || c == '_') {
        true => view.names(&folder),
        false => Vec::new(),
    };
    if parameters.is_empty() {
        return healthy();
    }
    let said = options(view, &module)?;
    // What the kernel's command line says as well may be in force.
    let boot = view.file("proc/cmdline").unwrap_or_default();
    let is_at_boot = |parameter: &str| {
        let names = boot.split_whitespace().filter_map(|word| word.split(['=', ' ']).next()?.split_once('.'));
        names.into_iter().any(|(of, name)| is_one_name(of, &module) && is_one_name(name, parameter))
    };
    let mut found = Vec::new();
    for parameter in parameters.iter().filter(|parameter| !is_at_boot(parameter)) {
        let Some(last) = said.iter().rev().find(|one| is_one_name(&one.name, parameter)) else { continue };
        // Some are there to be written only.
        let Ok(now) = view.file(&format!("{folder}/{parameter}")) else { continue };
        if is_in_force(&last.value, &now) {
            continue;
        }
        found.push(
            Finding::new(
                Severity::Warning,
                format!("{module} runs with {parameter} {now}, and {} says {}", last.file, last.value),
            )
            .seen(format!("{parameter} {now}"), format!("/{folder}/{parameter}"))
            .seen(format!("options {module} {parameter}={}", last.value), last.file.as_str())
            .mend(format!(
                "modprobe -r {module} && modprobe {module}, which takes its interfaces down; before it, renew the \
                     initramfs if the module is in there (update-initramfs -u, dracut -f)"
            ))
            .gain(format!("{parameter} is {}", last.value)),
        );
    }
    Ok(found)
}

/// True if a parameter has the value that it was given; of a list, as many as were given.
fn is_in_force(given: &str, now: &str) -> bool {
    if let "Y" | "N" = now {
        return truth(given) == Some(now == "Y");
    }
    let (given, now): (Vec<&str>, Vec<&str>) = (given.split(',').collect(), now.split(',').collect());
    given.len() <= now.len() && given.iter().zip(&now).all(|(given, now)| number(given) == number(now))
}

/// A truth in the forms that the kernel takes.
fn truth(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_bytes() {
        [b'y' | b't' | b'1', ..] | [b'o', b'n', ..] => Some(true),
        [b'n' | b'f' | b'0', ..] | [b'o', b'f', ..] => Some(false),
        _ => None,
    }
}

/// Device Control and Link Control of the adapter's PCI Express capability, from its configuration space.
fn controls(view: &View<'_>) -> Result<[u16; 2], String> {
    let device = have(&view.adapter.device)?;
    have(&device.pci)?;
    let space = view.bytes(&format!("{}/config", device.path))?;
    let byte = |at: usize| space.get(at).copied();
    let half = |at: usize| Some(u16::from_le_bytes([byte(at)?, byte(at + 1)?]));
    // The list of capabilities begins at the byte 0x34; that of PCI Express has the number 0x10.
    let mut at = usize::from(byte(0x34).unwrap_or(0));
    for _ in 0..48 {
        match byte(at).filter(|_| at >= 0x40) {
            Some(0x10) => return half(at + 8).zip(half(at + 16)).map(|(device, link)| [device, link]).ok_or_else(cut),
            Some(_) => at = usize::from(byte(at + 1).unwrap_or(0) & 0xfc),
            None => break,
        }
    }
    Err(cut())
}

fn cut() -> String {
    "its configuration space is told to root alone, or has no PCI Express".to_owned()
}

/// Mb/s from which short reads and their order matter.
const READS: u32 = 40_000;
const ORDER: u32 = 100_000;

/// True for a virtual function, whose own Device Control is reserved: that of the physical one counts (SR-IOV, 3.5.4).
fn is_virtual(view: &View<'_>) -> bool {
    let device = view.adapter.device.as_ref().ok();
    let has_owner = device.is_some_and(|device| view.names(&device.path).iter().any(|name| name == "physfn"));
    // In a guest it shows no owner, and its link has no lanes.
    let lanes = device.map(|device| view.number::<u32>(&format!("{}/current_link_width", device.path)));
    has_owner || view.is_guest() && lanes == Some(Ok(0)) || view.driver().is_some_and(|driver| driver.ends_with("vf"))
}

fn pcie_requests(view: &View<'_>) -> Found {
    let Some(speed) = view.speed().filter(|speed| *speed >= FAST && !is_virtual(view)) else { return healthy() };
    let [device, _] = controls(view)?;
    let address = word(&have(&have(&view.adapter.device)?.pci)?.address);
    let read = 128_u32 << (device >> 12 & 7);
    let mut found = Vec::new();
    if read < 512 || speed >= READS && read < 1024 {
        let severity = if read < 512 { Severity::Warning } else { Severity::Note };
        found.push(
            Finding::new(severity, format!("the adapter reads at most {read} bytes of memory at once"))
                .seen(format!("MaxReadReq {read} bytes"), format!("lspci -vv -s {address}"))
                .mend(format!(
                    "setpci -s {address} CAP_EXP+8.w=5000:7000, or 'Max Read Request' in the firmware's set-up"
                ))
                .gain("requests of 4096 bytes"),
        );
    }
    if speed >= ORDER && device & 0x10 == 0 {
        found.push(
            Finding::new(Severity::Note, "what the adapter writes waits for what it wrote before: relaxed ordering is off")
                .seen("RlxdOrd-", format!("lspci -vv -s {address}"))
                .mend(format!("setpci -s {address} CAP_EXP+8.w=0010:0010, if its driver has not switched it off for a fault of the machine"))
                .gain("the full rate where processors have several ways to memory"),
        );
    }
    Ok(found)
}

/// Mb/s of the USB port on which the adapter is, and where that is told.
fn usb(view: &View<'_>) -> Option<(u32, String)> {
    let path = view.adapter.device.as_ref().ok().and_then(|device| device.path.rsplit_once('/'));
    let file = path.filter(|(port, _)| port.contains("/usb")).map(|(port, _)| format!("{port}/speed"));
    if let Some((file, speed)) = file.and_then(|file| Some((file.clone(), view.number(&file).ok()?))) {
        return Some((speed, format!("/{file}")));
    }
    // The log: "r8152 1-3:1.0 enx00e04c680001: carrier on", "usb 1-3: new high-speed USB device number 7".
    let lines = view.logged(&[&format!(" {}: ", view.name()), ":1."]);
    let function = lines.last()?.split_whitespace().find(|word| word.contains(":1.") && word.contains('-'))?;
    let port = format!("usb {}: new ", function.split(':').next()?);
    let said = view.logged(&[&port]).pop()?;
    let speed = [("full-speed", 12), ("high-speed", 480)].iter().find(|(word, _)| said.contains(word))?.1;
    Some((speed, format!("dmesg: {}", said.trim())))
}

fn usb_speed(view: &View<'_>) -> Found {
    let (Some(link), Some((port, read))) = (view.speed(), usb(view)) else { return healthy() };
    if link <= port {
        return healthy();
    }
    // Many of 1000 Mb/s are made for that port.
    let severity = if link > 1000 { Severity::Warning } else { Severity::Note };
    Finding::new(severity, format!("its link has {link} Mb/s, and the USB port it is on {port}"))
        .seen(format!("USB at {port} Mb/s"), read)
        .mend("a port of USB 3 (5 Gb/s), with a cable and hub of that; 'lsusb -t' shows the speed of each")
        .gain(format!("{link} Mb/s instead of less than {port}"))
        .alone()
}

/// Errors of the signal, by their bit in the status and their name in sysfs; an advisory one is none.
const MENDED: [(&str, u32); 5] = [("RxErr", 0), ("BadTLP", 6), ("BadDLLP", 7), ("Rollover", 8), ("Timeout", 12)];

/// Correctable Error Status of a configuration space: its first extended capability is that of Advanced Error Reporting.
fn corrected(space: &[u8]) -> Option<u32> {
    let whole = |at: usize| Some(u32::from_le_bytes(*space.get(at..)?.first_chunk()?));
    let mut at = 0x100;
    for _ in 0..48 {
        let head = whole(at)?;
        if head & 0xffff == 1 {
            return whole(at + 0x10);
        }
        at = usize::try_from(head >> 20).ok().filter(|next| *next > 0x100)?;
    }
    None
}

fn pcie_errors(view: &View<'_>) -> Found {
    let device = have(&view.adapter.device)?;
    let address = have(&device.pci)?.address.clone();
    let counts = view.file(&format!("{}/aer_dev_correctable", device.path));
    let bits = view.bytes(&format!("{}/config", device.path)).ok().and_then(|space| corrected(&space));
    let log = view.logged(&[&address, "everity=Corrected"]).len() + view.logged(&[&address, "Corrected error"]).len();
    let signal = view.counted("rx_pci_signal_integrity|tx_pci_signal_integrity");
    let signal = signal.iter().map(|one| one.value).max().unwrap_or(0);
    if counts.is_err() && bits.is_none() && log == 0 && signal == 0 {
        return Err("no file, register or log tells them".to_owned());
    }
    let text = counts.unwrap_or_default();
    let count =
        |name: &str| text.lines().find_map(|line| line.strip_prefix(name)?.trim().parse::<u64>().ok()).unwrap_or(0);
    let all: u64 = MENDED.iter().map(|(name, _)| count(name)).sum();
    let set: Vec<&str> = MENDED.iter().filter(|(_, bit)| bits.unwrap_or(0) >> bit & 1 == 1).map(|one| one.0).collect();
    if all == 0 && set.is_empty() && log == 0 && signal == 0 {
        return healthy();
    }
    let often = all >= 100 || log >= 3 || signal >= 1000;
    let severity = if often { Severity::Warning } else { Severity::Note };
    let typed = word(&address);
    let mut finding = Finding::new(severity, "its PCIe link mends errors of the signal");
    if all > 0 {
        finding =
            finding.seen(format!("{all} of them counted"), format!("/sys/bus/pci/devices/{typed}/aer_dev_correctable"));
    }
    if !set.is_empty() {
        finding = finding.seen(format!("CESta {}", set.join(", ")), format!("lspci -vv -s {typed}"));
    }
    if log > 0 {
        finding = finding.seen(format!("{log} lines of corrected errors"), "dmesg");
    }
    if signal > 0 {
        finding = finding.seen(format!("pci_signal_integrity {signal}"), format!("ethtool -S {}", view.typed()));
    }
    finding.mend("seat card and riser anew, or take another slot; then firmware of card and machine").alone()
}

/// Drivers of chips that QEMU, VirtualBox and VMware imitate.
const OLD: &[&str] = &["e1000", "e1000e", "8139cp", "8139too", "pcnet32", "ne2k-pci"];

fn emulated(view: &View<'_>) -> Found {
    let Some(driver) = view.driver().filter(|driver| OLD.contains(driver)) else { return healthy() };
    if !view.is_guest() {
        return healthy();
    }
    Finding::new(Severity::Warning, format!("this is a virtual machine, and its adapter an emulated one ({driver})"))
        .seen(format!("driver {driver}, and a hypervisor"), format!("ethtool -i {}; lscpu", view.typed()))
        .mend("in the machine's set-up on its host: virtio (libvirt: model type='virtio'; VMware: vmxnet3) instead")
        .gain("several times the rate, with a fraction of the processor time")
        .alone()
}

fn aspm(view: &View<'_>) -> Found {
    let lost = view.logged(&[view.name(), "PCIe link lost"]).pop();
    if lost.is_none() && view.speed().is_none_or(|speed| speed < FAST) {
        return healthy();
    }
    let [_, link] = controls(view)?;
    let states = match link & 3 {
        0 => return healthy(),
        1 => "L0s",
        2 => "L1",
        _ => "L0s and L1",
    };
    let address = word(&have(&have(&view.adapter.device)?.pci)?.address);
    if let Some(line) = lost {
        return Finding::new(Severity::Warning, format!("its PCIe link may sleep ({states}), and the adapter was lost on the bus"))
            .seen(line.trim(), "dmesg")
            .seen(format!("ASPM {states} Enabled"), format!("lspci -vv -s {address}"))
            .meaning("some adapters do not come back from a PCIe link that sleeps: it is gone when it was idle, up to the next restart")
            .mend(
                "echo performance > /sys/module/pcie_aspm/parameters/policy, and pcie_aspm=off or pcie_aspm.policy=performance on the kernel's \
                 command line; or 'l1 aspm' off in the machine's firmware",
            )
            .alone();
    }
    Finding::new(Severity::Note, format!("its PCIe link may sleep ({states})"))
        .seen(format!("ASPM {states} Enabled"), format!("lspci -vv -s {address}"))
        .mend("echo performance > /sys/module/pcie_aspm/parameters/policy, or pcie_aspm.policy=performance on the kernel's command line")
        .gain("microseconds less for a frame after a pause")
        .alone()
}

fn iommu(view: &View<'_>) -> Found {
    if view.speed().is_none_or(|speed| speed < FAST) {
        return healthy();
    }
    let at = format!("{}/iommu_group/type", have(&view.adapter.device)?.path);
    // Without an IOMMU there is no group.
    let line = view.file("proc/cmdline").unwrap_or_default();
    let strict = ["iommu.strict=1", "intel_iommu=strict", "intel_iommu=on,strict", "iommu=strict"];
    let strict = line.split_whitespace().find(|word| strict.contains(word)).map(str::to_owned);
    let Ok(kind) = view.file(&at) else {
        let Some(word) = strict else { return healthy() };
        return Finding::new(Severity::Warning, "each of its buffers is taken out of the IOMMU at once (strict)")
            .seen(word, "/proc/cmdline")
            .mend("nothing, if what the adapter may reach is to be guarded so; otherwise iommu.strict=0, or iommu=pt, on the kernel's command line")
            .alone();
    };
    // DMA-FQ flushes many at once; identity maps nothing anew.
    if kind != "DMA" {
        return healthy();
    }
    Finding::new(Severity::Note, "each of its buffers is taken out of the IOMMU at once (strict)")
        .seen("iommu_group type DMA", format!("/{at}"))
        .mend("nothing, if what the adapter may reach is to be guarded so; otherwise iommu.strict=0 on the kernel's command line")
        .gain("flushes of the IOMMU's caches for many buffers at once")
        .alone()
}
