//! Knobs: values of the machine that the doctor changes, and that it can take back: a setting of an interface, or a file of
//! /proc or /sys.

use super::configured::covers;
use super::finding::Risk;
use linerate_host::adapter::{Subject, find};
use linerate_host::tunables::{self, Aim, Change, Group, Outcome, Target, Value, Wish, group_of_name};
use serde::{Deserialize, Serialize};
use std::fmt;

/// Beginnings of the files that may be written: what a file says that a user hands in must not become a way to others.
const FILES: [&str; 5] =
    ["proc/sys/net/", "proc/sys/vm/", "proc/irq/", "sys/devices/system/clocksource/", "sys/devices/system/cpu/"];

/// Files of an interface that may be written; `device` among them leads to all of a card.
const OF_INTERFACE: [&str; 1] = ["gro_flush_timeout"];

/// Sysctls by which an administrator may have closed a way, or answered an attack, by their patterns below `/proc/sys`.
const GUARDS: &[&str] = &[
    "net/ipv4/ip_forward",
    "net/ipv4/ip_default_ttl",
    "net/ipv4/ip_no_pmtu_disc",
    "net/ipv4/ipfrag_*",
    "net/ipv6/ip6frag_*",
    "net/ipv?/icmp*",
    "net/ipv4/icmp*/*",
    "net/ipv?/icmp/*",
    "net/ipv?/conf/*/*",
    "net/ipv?/neigh/*/*_solicit",
    "net/ipv4/tcp_sack",
    "net/ipv4/tcp_timestamps",
    "net/ipv4/tcp_syncookies",
    "net/ipv4/tcp_fastopen*",
    "net/ipv4/tcp_rfc1337",
    "net/ipv4/tcp_challenge_ack_limit",
    "net/ipv4/tcp_min_snd_mss",
    "net/core/bpf_*",
    "net/bridge/*",
    "net/netfilter/*_timeout*",
];

/// Longest text of such a file.
const LONGEST: usize = 4096;

/// A value that can be changed, and taken back.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Knob {
    Setting {
        interface: String,
        /// Name of the setting, as `nic set` has it.
        name: String,
    },
    /// A file, without the slash in front.
    File(String),
}

impl fmt::Display for Knob {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Setting { interface, name } => write!(f, "{interface} {name}"),
            Self::File(path) => match path.strip_prefix("proc/sys/") {
                Some(sysctl) => f.write_str(&sysctl.replace('/', ".")),
                None => write!(f, "/{path}"),
            },
        }
    }
}

/// Words of a value with one blank between: the kernel shows tabs.
fn plain(value: &Value) -> String {
    value.to_string().split_whitespace().collect::<Vec<_>>().join(" ")
}

pub(super) fn same(one: &Value, other: &Value) -> bool {
    tunables::same(one, other) || plain(one) == plain(other)
}

fn subject(target: &mut dyn Target, name: &str) -> Result<Subject, String> {
    let found = find(target, name).map_err(|absent| format!("{name}: {absent}"))?;
    Ok(Subject { index: found.index, name: found.name })
}

/// The path, if it is of a file that may be written.
fn allowed(path: &str) -> Result<&str, String> {
    let clean = path.split('/').all(|part| !matches!(part, "" | "." | "..")) && !path.contains(char::is_control);
    let of_interface = path.strip_prefix("sys/class/net/").and_then(|rest| rest.split_once('/'));
    let ours = FILES.iter().any(|start| path.starts_with(start))
        || of_interface.is_some_and(|(_, file)| OF_INTERFACE.contains(&file));
    if clean && ours { Ok(path) } else { Err(format!("/{path:?}: no file that the doctor changes")) }
}

impl Knob {
    pub(super) fn risk(&self) -> Risk {
        match self {
            Self::File(path) => match path.strip_prefix("proc/sys/") {
                Some(sysctl) if GUARDS.iter().any(|guard| covers(guard, sysctl)) => Risk::Security,
                _ => Risk::Safe,
            },
            // Drivers set moderation while frames pass.
            Self::Setting { name, .. } if group_of_name(name) == Group::Coalesce => Risk::Safe,
            Self::Setting { .. } => Risk::Traffic,
        }
    }

    /// Present value.
    pub fn read(&self, target: &mut dyn Target) -> Result<Value, String> {
        match self {
            Self::Setting { interface, name } => {
                let subject = subject(target, interface)?;
                let state = tunables::read(target, &subject);
                let value = state.get(name).map(tunables::Tunable::kept);
                value.ok_or_else(|| tunables::why_not(&state, name).to_string())
            }
            Self::File(path) => {
                let bytes = target.file(allowed(path)?).map_err(|e| format!("/{path}: {e}"))?;
                Ok(Value::Text(plain(&Value::Text(String::from_utf8_lossy(&bytes).into_owned()))))
            }
        }
    }

    /// Changes the value, and reads it back.
    ///
    /// # Errors
    /// The kernel's words, or that it did something else.
    pub fn set(&self, target: &mut dyn Target, to: &Value) -> Result<(), String> {
        match self {
            Self::Setting { interface, name } => {
                match settings(target, interface, &[(name, to)], Aim::Effect)?.refused.first() {
                    Some(refused) => Err(refused.why.to_string()),
                    None => Ok(()),
                }
            }
            Self::File(path) => {
                let text = plain(to);
                if text.len() > LONGEST || text.contains(char::is_control) {
                    return Err("no value of it".to_owned());
                }
                let change = Change::File { path: allowed(path)?.to_owned(), text };
                let nobody = Subject { index: 0, name: String::new() };
                target.tell(&nobody, &change).map_err(|absent| absent.to_string())?;
                match self.read(target)? {
                    now if same(&now, to) => Ok(()),
                    now => Err(format!("the kernel made {now} of it")),
                }
            }
        }
    }
}

/// Changes settings of an interface together: some need others.
pub(super) fn settings(
    target: &mut dyn Target,
    interface: &str,
    wanted: &[(&String, &Value)],
    aim: Aim,
) -> Result<Outcome, String> {
    let subject = subject(target, interface)?;
    let wish = |(name, value): &(&String, &Value)| {
        Wish::kept(name, value).ok_or_else(|| format!("{name}: {value} is no value of it"))
    };
    let wishes = wanted.iter().map(wish).collect::<Result<Vec<_>, _>>()?;
    let outcome = tunables::apply(target, &subject, &wishes, aim);
    if outcome.gone { Err(format!("{interface}: the interface is gone")) } else { Ok(outcome) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_doctors_files_are_written() {
        for path in [
            "sys/class/net/eth0/gro_flush_timeout",
            "proc/sys/net/core/rmem_max",
            "proc/irq/24/smp_affinity_list",
            "sys/devices/system/cpu/cpu0/x",
        ] {
            assert_eq!(allowed(path), Ok(path));
        }
        for path in [
            "sys/class/net/eth0/device/gro_flush_timeout",
            "sys/class/net/eth0/ifalias",
            "etc/shadow",
            "proc/sys/kernel/core_pattern",
            "proc/sys/net/../kernel/core_pattern",
            "proc/sys/net//x",
            "proc/sys/net/./x",
            "/proc/sys/net/x",
            "proc/sys/net/x\n",
            "",
        ] {
            assert!(allowed(path).is_err(), "{path:?}");
        }
    }

    #[test]
    fn what_may_guard_is_told_from_what_is_for_speed() {
        for (path, risk) in [
            ("proc/sys/net/ipv4/conf/all/rp_filter", Risk::Security),
            ("proc/sys/net/ipv4/conf/eth0.5/accept_redirects", Risk::Security),
            ("proc/sys/net/ipv6/conf/eth0/hop_limit", Risk::Security),
            ("proc/sys/net/ipv4/ip_forward", Risk::Security),
            ("proc/sys/net/ipv4/icmp_echo_ignore_all", Risk::Security),
            ("proc/sys/net/ipv4/tcp_sack", Risk::Security),
            ("proc/sys/net/netfilter/nf_conntrack_tcp_timeout_established", Risk::Security),
            ("proc/sys/net/bridge/bridge-nf-call-iptables", Risk::Security),
            ("proc/sys/net/ipv4/tcp_rmem", Risk::Safe),
            ("proc/sys/net/core/rmem_max", Risk::Safe),
            ("proc/irq/7/smp_affinity_list", Risk::Safe),
        ] {
            assert_eq!(Knob::File(path.to_owned()).risk(), risk, "{path}");
        }
        for (name, risk) in [
            ("rx-usecs", Risk::Safe),
            ("ring-rx", Risk::Traffic),
            ("mtu", Risk::Traffic),
            ("combined", Risk::Traffic),
            ("rx-gro", Risk::Traffic),
            ("eee", Risk::Traffic),
            // One that nobody knows.
            ("nosuch", Risk::Traffic),
        ] {
            let knob = Knob::Setting { interface: "eth0".to_owned(), name: name.to_owned() };
            assert_eq!(knob.risk(), risk, "{name}");
        }
    }

    #[test]
    fn values_are_one_whatever_is_between_their_words() {
        let text = |text: &str| Value::Text(text.to_owned());
        assert!(same(&text("4096\t131072\t6291456"), &text("4096 131072 6291456")));
        assert!(same(&Value::Number(1), &text("1")));
        assert!(!same(&text("1 2"), &text("12")));
    }
}
