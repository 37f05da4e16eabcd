//! Facts of this host, read from `/proc`, `/sys` and `/etc`. A fact that is missing or unreadable is `None`; nothing is
//! guessed.
//!
//! On systems without those trees the environment holds the facts that the standard library gives. Interface facts come
//! from `linerate_host`: sysfs, and ethtool for firmware and offloads, which sysfs does not show.

mod interface;

use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::OnceLock;

use linerate_result::{Environment, HugePages};

/// Version of the program with its commit, which this crate is not built anew for.
static VERSION: OnceLock<&str> = OnceLock::new();

/// Sets the version of the program that measures, with its commit, for all runs of this process.
pub fn built_as(version: &'static str) {
    VERSION.get_or_init(|| version);
}

/// Reads the facts of this host and of the named interfaces. Interfaces that do not exist are left out.
#[must_use]
pub fn read(interfaces: &[&str]) -> Environment {
    let mut environment = read_under(Path::new("/"), interfaces);
    environment.cores = environment
        .cores
        .or_else(|| std::thread::available_parallelism().ok().and_then(|count| u32::try_from(count.get()).ok()));
    environment.os = environment.os.or_else(|| Some(std::env::consts::OS.to_owned()));
    for (name, interface) in &mut environment.interfaces {
        interface::complete(name, interface);
    }
    environment
}

/// Reads the trees below `root` instead of `/`.
fn read_under(root: &Path, interfaces: &[&str]) -> Environment {
    let cpuinfo = text(root, "proc/cpuinfo").unwrap_or_default();
    let meminfo = text(root, "proc/meminfo").unwrap_or_default();
    Environment {
        linerate: Some(VERSION.get().unwrap_or(&env!("CARGO_PKG_VERSION")).to_string()),
        build: Some(env!("LINERATE_BUILD").to_owned()),
        host: text(root, "proc/sys/kernel/hostname").filter(|name| name != "(none)"),
        kernel: kernel(root),
        os: text(root, "etc/os-release").and_then(|text| os_name(&text)),
        cpu: field(&cpuinfo, "model name").or_else(|| field(&cpuinfo, "Model")),
        cores: u32::try_from(cpuinfo.lines().filter(|line| is_field(line, "processor")).count())
            .ok()
            .filter(|&cores| cores > 0),
        memory_bytes: field(&meminfo, "MemTotal")
            .and_then(|value| value.strip_suffix("kB")?.trim().parse::<u64>().ok()?.checked_mul(1024)),
        hypervisor: hypervisor(root, &cpuinfo),
        huge_pages_2m: huge_pages(root),
        interfaces: interfaces
            .iter()
            .filter_map(|&name| Some((name.to_owned(), interface::read(root, name)?)))
            .collect(),
    }
}

/// Text of a small file, trimmed; `None` when it is missing, empty or not UTF-8. At most 4 MiB are read, enough for
/// `/proc/cpuinfo` of a thousand processors.
fn text(root: &Path, path: &str) -> Option<String> {
    let mut text = String::new();
    File::open(root.join(path)).ok()?.take(4 << 20).read_to_string(&mut text).ok()?;
    let text = text.trim();
    (!text.is_empty()).then(|| text.to_owned())
}

/// The number in a file that holds one number. A negative number, by which sysfs means "not known", is `None`.
fn number<T: std::str::FromStr>(root: &Path, path: &str) -> Option<T> {
    text(root, path)?.parse().ok()
}

/// Value of the first line `name : value`.
fn field(text: &str, name: &str) -> Option<String> {
    let line = text.lines().find(|line| is_field(line, name))?;
    let value = line.split_once(':')?.1.trim();
    (!value.is_empty()).then(|| value.to_owned())
}

fn is_field(line: &str, name: &str) -> bool {
    line.split_once(':').is_some_and(|(key, _)| key.trim() == name)
}

fn kernel(root: &Path) -> Option<String> {
    let release = text(root, "proc/sys/kernel/osrelease")?;
    let name = text(root, "proc/sys/kernel/ostype");
    Some(name.map_or_else(|| release.clone(), |name| format!("{name} {release}")))
}

/// Value of `PRETTY_NAME` in os-release(5), whose quotes and backslashes follow shell rules.
fn os_name(text: &str) -> Option<String> {
    let value = text.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="))?.trim();
    let quoted = value.strip_prefix('"').and_then(|rest| rest.strip_suffix('"'));
    let name = quoted.or_else(|| value.strip_prefix('\'')?.strip_suffix('\'')).unwrap_or(value).replace('\\', "");
    (!name.is_empty()).then_some(name)
}

/// Hypervisor by its own name, by the maker of the machine, or by the processor's flag (CPUID 1, ECX bit 31).
fn hypervisor(root: &Path, cpuinfo: &str) -> Option<String> {
    if let Some(kind) = text(root, "sys/hypervisor/type") {
        return Some(kind);
    }
    let flags = field(cpuinfo, "flags")?;
    if !flags.split_whitespace().any(|flag| flag == "hypervisor") {
        return Some("none".to_owned());
    }
    let dmi = |name| text(root, &format!("sys/class/dmi/id/{name}"));
    let name: Vec<String> = ["sys_vendor", "product_name"].into_iter().filter_map(dmi).collect();
    Some(if name.is_empty() { "present, unnamed".to_owned() } else { name.join(" ") })
}

fn huge_pages(root: &Path) -> Option<HugePages> {
    let pool = "sys/kernel/mm/hugepages/hugepages-2048kB";
    Some(HugePages {
        total: number(root, &format!("{pool}/nr_hugepages"))?,
        free: number(root, &format!("{pool}/free_hugepages"))?,
    })
}

#[cfg(test)]
mod tests {
    use std::fs;
    use std::path::Path;

    use linerate_result::{Environment, HugePages, Queues};

    use super::{os_name, read, read_under};

    fn put(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    #[test]
    fn the_facts_of_a_made_up_host() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path();
        put(root, "proc/sys/kernel/osrelease", "6.1.2-test\n");
        put(root, "proc/sys/kernel/ostype", "Linux\n");
        put(root, "etc/os-release", "NAME=x\nPRETTY_NAME=\"Test OS 1\"\n");
        put(
            root,
            "proc/cpuinfo",
            "processor\t: 0\nmodel name\t: Test CPU @ 1 GHz\nflags\t\t: fpu hypervisor\n\nprocessor\t: 1\n",
        );
        put(root, "proc/meminfo", "MemTotal:       1000 kB\nMemFree: 10 kB\n");
        put(root, "sys/class/dmi/id/sys_vendor", "TEST\n");
        put(root, "sys/class/dmi/id/product_name", "VM 9\n");
        put(root, "sys/kernel/mm/hugepages/hugepages-2048kB/nr_hugepages", "64\n");
        put(root, "sys/kernel/mm/hugepages/hugepages-2048kB/free_hugepages", "60\n");
        put(root, "sys/class/net/t0/mtu", "9000\n");
        put(root, "sys/class/net/t0/speed", "-1\n");
        put(root, "sys/class/net/t0/operstate", "up\n");
        put(root, "sys/class/net/t0/device/numa_node", "-1\n");
        for queue in ["tx-0", "tx-1", "rx-0"] {
            put(root, &format!("sys/class/net/t0/queues/{queue}/x"), "");
        }
        let found = read_under(root, &["t0", "absent", "..", "t0/../t0", ""]);
        assert_eq!(found.kernel.as_deref(), Some("Linux 6.1.2-test"));
        assert_eq!(found.os.as_deref(), Some("Test OS 1"));
        assert_eq!(found.cpu.as_deref(), Some("Test CPU @ 1 GHz"));
        assert_eq!((found.cores, found.memory_bytes), (Some(2), Some(1_024_000)));
        assert_eq!(found.hypervisor.as_deref(), Some("TEST VM 9"));
        assert_eq!(found.huge_pages_2m, Some(HugePages { total: 64, free: 60 }));
        assert_eq!(found.interfaces.keys().collect::<Vec<_>>(), ["t0"]);
        let interface = &found.interfaces["t0"];
        assert_eq!((interface.mtu, interface.speed_mbps, interface.numa_node), (Some(9000), None, None));
        assert_eq!(interface.queues, Some(Queues { tx: 2, rx: 1 }));
        assert_eq!(interface.state.as_deref(), Some("up"));
    }

    #[test]
    fn an_empty_host_has_no_facts_but_our_version() {
        let dir = tempfile::tempdir().unwrap();
        let expected = Environment {
            linerate: Some(env!("CARGO_PKG_VERSION").to_owned()),
            build: Some(env!("LINERATE_BUILD").to_owned()),
            ..Environment::default()
        };
        assert_eq!(read_under(dir.path(), &["eth0"]), expected);
    }

    #[test]
    fn damaged_files_are_no_facts() {
        let dir = tempfile::tempdir().unwrap();
        put(dir.path(), "proc/meminfo", "MemTotal: 99999999999999999999999 kB\n");
        put(dir.path(), "proc/cpuinfo", "model name :\nflags : fpu\n:::\n");
        put(dir.path(), "etc/os-release", "PRETTY_NAME=\"\n");
        fs::write(dir.path().join("proc/version"), [0xff, 0xfe]).unwrap();
        let found = read_under(dir.path(), &[]);
        assert_eq!((found.memory_bytes, found.cpu, found.cores), (None, None, None));
        assert_eq!(found.hypervisor.as_deref(), Some("none"), "flags without `hypervisor` are bare metal");
        assert_eq!(os_name("PRETTY_NAME='A \\$ OS'").as_deref(), Some("A $ OS"));
    }

    /// The document lists offloads under the names that the `ethtool` program uses.
    #[test]
    #[cfg(target_os = "linux")]
    fn an_interface_of_this_host_has_offloads() {
        let found = read(&["lo"]);
        let Some(lo) = found.interfaces.get("lo") else { return linerate_skip::skip!("there is no loopback here") };
        match linerate_host::Ethtool::open() {
            Ok(_) => assert!(lo.offloads.as_ref().is_some_and(|map| map.contains_key("tx-checksumming")), "{lo:?}"),
            Err(e) => linerate_skip::skip!("{e}"),
        }
    }

    #[test]
    fn this_host_has_cores_and_an_os() {
        let found = read(&[]);
        assert!(found.cores.is_some_and(|cores| cores > 0));
        assert!(found.os.is_some());
    }
}
