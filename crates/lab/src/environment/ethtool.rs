//! Firmware and offloads as the `ethtool` program prints them. Without the program they stay unknown.

use std::collections::BTreeMap;
use std::io::Read;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use linerate_result::Interface;

use super::interface::is_name;

/// Fills in what sysfs does not show.
pub(super) fn complete(name: &str, interface: &mut Interface) {
    if !cfg!(target_os = "linux") || !is_name(name) {
        return;
    }
    if let Some(text) = run(&["-i", name]) {
        interface.firmware = value(&text, "firmware-version");
        interface.driver = interface.driver.take().or_else(|| value(&text, "driver"));
    }
    interface.offloads = run(&["-k", name]).map(|text| offloads(&text)).filter(|map| !map.is_empty());
}

/// `on` and `off` of every feature in `ethtool -k`, whose lines are `name: on [fixed]`.
fn offloads(text: &str) -> BTreeMap<String, bool> {
    let feature = |line: &str| {
        let (name, state) = line.trim().split_once(": ")?;
        let on = match state.split_whitespace().next()? {
            "on" => true,
            "off" => false,
            _ => return None,
        };
        Some((name.to_owned(), on))
    };
    text.lines().filter_map(feature).collect()
}

/// A value of `ethtool -i`; empty ones and `N/A` are unknown.
fn value(text: &str, name: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?.trim();
    (!value.is_empty() && value != "N/A").then(|| value.to_owned())
}

/// What `ethtool` prints, if it ends well within two seconds; more than a pipe holds (64 KiB) is not awaited.
fn run(arguments: &[&str]) -> Option<String> {
    // Distributions keep it out of users' paths.
    let mut child = ["ethtool", "/usr/sbin/ethtool"].into_iter().find_map(|program| {
        let mut command = Command::new(program);
        command.args(arguments).env("LC_ALL", "C");
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().ok()
    })?;
    let limit = Instant::now() + Duration::from_secs(2);
    let status = loop {
        match child.try_wait() {
            Ok(Some(status)) => break Some(status),
            Ok(None) if Instant::now() < limit => thread::sleep(Duration::from_millis(2)),
            _ => break None,
        }
    };
    let Some(status) = status else {
        // It may have ended meanwhile; either way it must not stay behind as a zombie.
        let _ = child.kill();
        let _ = child.wait();
        return None;
    };
    let mut text = String::new();
    child.stdout.take()?.take(1 << 20).read_to_string(&mut text).ok()?;
    status.success().then_some(text)
}

#[cfg(test)]
mod tests {
    use super::{offloads, value};

    #[test]
    fn features_are_on_or_off() {
        let text = "Features for eth0:\nrx-checksumming: on [fixed]\ntx-checksumming: on\n\ttx-checksum-ipv4: off [fixed]\n\
                    \ttx-nocache-copy: maybe\nnonsense\n";
        let map = offloads(text);
        let list: Vec<_> = map.iter().map(|(name, &on)| (name.as_str(), on)).collect();
        assert_eq!(list, [("rx-checksumming", true), ("tx-checksum-ipv4", false), ("tx-checksumming", true)]);
    }

    #[test]
    fn driver_and_firmware() {
        let text = "driver: cxgb4\nversion: 6.1\nfirmware-version: 1.27.0.0, TP 0.1.4.9\nexpansion-rom-version: \n";
        assert_eq!(value(text, "firmware-version").as_deref(), Some("1.27.0.0, TP 0.1.4.9"));
        assert_eq!(value(text, "driver").as_deref(), Some("cxgb4"));
        assert_eq!(value(text, "expansion-rom-version"), None);
        assert_eq!(value(text, "bus-info"), None);
    }
}
