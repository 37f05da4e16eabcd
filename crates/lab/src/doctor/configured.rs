//! Settings that files make at each start: sysctls (sysctl.d(5)) and options of modules (modprobe.d(5)).

use super::view::View;
use std::collections::BTreeMap;

/// Folders above those of the files. Of two files with one name, that of the first folder counts.
const ABOVE: [&str; 5] = ["etc", "run", "usr/local/lib", "usr/lib", "lib"];

/// A setting in a file.
pub(super) struct Configured {
    /// Path of a sysctl below `/proc/sys`, which may be a pattern; or name of a module's parameter.
    pub(super) name: String,
    pub(super) value: String,
    pub(super) file: String,
}

/// Paths and texts of the files `*.conf` in all folders of that name, in the order of the files' names.
fn files(view: &View<'_>, folder: &str) -> Result<Vec<(String, String)>, String> {
    let mut paths = BTreeMap::new();
    for above in ABOVE {
        let at = format!("{above}/{folder}");
        for name in view.names(&at).into_iter().filter(|name| name.ends_with(".conf")) {
            paths.entry(name).or_insert_with_key(|name| format!("{at}/{name}"));
        }
    }
    paths.into_values().map(|path| Ok((format!("/{path}"), view.file(&path)?))).collect()
}

/// File that sysctl(8) reads behind all others, and systemd not at all.
pub(super) const LAST: &str = "/etc/sysctl.conf";

/// Settings of sysctls, in the order in which they are made.
///
/// # Errors
/// No such file is there, or one that is there cannot be read; or this is not the network namespace that they are for.
pub(super) fn sysctls(view: &View<'_>) -> Result<Vec<Configured>, String> {
    // Only the first namespace shows it.
    if view.sysctl("net.core.netdev_max_backlog").is_err() {
        return Err("files set the sysctls of the first network namespace, and this is another".to_owned());
    }
    let mut texts = files(view, "sysctl.d")?;
    if texts.is_empty() || view.names("etc").iter().any(|name| name == "sysctl.conf") {
        texts.push((LAST.to_owned(), view.file("etc/sysctl.conf")?));
    }
    Ok(texts.iter().flat_map(|(file, text)| text.lines().filter_map(|line| sysctl(line, file))).collect())
}

fn sysctl(line: &str, file: &str) -> Option<Configured> {
    let line = line.trim();
    if line.starts_with(['#', ';']) {
        return None;
    }
    let (key, value) = line.split_once('=')?;
    let key = key.trim();
    // Before a name: that it may fail.
    let key = key.strip_prefix('-').unwrap_or(key).trim();
    let name = match key.find(['.', '/']).map(|at| key.as_bytes()[at]) {
        Some(b'.') => interchanged(key),
        _ => key.to_owned(),
    };
    // It becomes a path, and a part of a command.
    let is_plain = name.chars().all(|c| c.is_ascii_alphanumeric() || "_-./:@+*?[]!^".contains(c));
    let is_inside = name.split('/').all(|part| !matches!(part, "" | "." | ".."));
    (is_plain && is_inside).then(|| Configured { name, value: value.trim().to_owned(), file: file.to_owned() })
}

/// Name of a sysctl for its path, or its path for its name: dots and slashes are interchanged.
pub(super) fn interchanged(name: &str) -> String {
    let other = |c| match c {
        '.' => '/',
        '/' => '.',
        c => c,
    };
    name.chars().map(other).collect()
}

/// True for a pattern, rather than a path.
pub(super) fn is_pattern(name: &str) -> bool {
    name.contains(['*', '?', '['])
}

/// True if a path is that of a setting, or its pattern's. A pattern with a set of characters is taken to match.
pub(super) fn covers(pattern: &str, path: &str) -> bool {
    let (patterns, parts): (Vec<&str>, Vec<&str>) = (pattern.split('/').collect(), path.split('/').collect());
    patterns.len() == parts.len() && patterns.iter().zip(&parts).all(|(pattern, part)| matches(pattern, part))
}

/// Matches a part of a path, going back to the last asterisk where it does not fit.
fn matches(pattern: &str, part: &str) -> bool {
    if pattern.contains('[') {
        return true;
    }
    let (pattern, part): (Vec<char>, Vec<char>) = (pattern.chars().collect(), part.chars().collect());
    let (mut at, mut read, mut asterisk) = (0, 0, None);
    while read < part.len() {
        match pattern.get(at) {
            Some('*') => {
                asterisk = Some((at, read));
                at += 1;
            }
            Some(c) if *c == '?' || *c == part[read] => {
                at += 1;
                read += 1;
            }
            _ => {
                let Some((star, from)) = asterisk else { return false };
                asterisk = Some((star, from + 1));
                at = star + 1;
                read = from + 1;
            }
        }
    }
    pattern[at..].iter().all(|c| *c == '*')
}

/// Options of a module, in the order in which they are given to it.
///
/// # Errors
/// No such file is there, or one that is there cannot be read.
pub(super) fn options(view: &View<'_>, module: &str) -> Result<Vec<Configured>, String> {
    let texts = files(view, "modprobe.d")?;
    if texts.is_empty() {
        return Err("there is no file of modprobe.d".to_owned());
    }
    let mut all = Vec::new();
    for (file, text) in texts {
        for line in text.replace("\\\n", " ").lines() {
            let mut words = line.split_whitespace();
            let own = words.next() == Some("options") && words.next().is_some_and(|name| is_one_name(name, module));
            all.extend(words.filter(|_| own).map(|word| {
                // A name alone is a truth.
                let (name, value) = word.split_once('=').unwrap_or((word, "Y"));
                Configured { name: name.to_owned(), value: value.trim_matches('"').to_owned(), file: file.clone() }
            }));
        }
    }
    Ok(all)
}

/// True for one name of a module or a parameter: hyphens and underscores are the same.
pub(super) fn is_one_name(one: &str, other: &str) -> bool {
    one.replace('-', "_") == other.replace('-', "_")
}

/// True if the kernel takes two texts of a sysctl for the same values.
pub(super) fn is_same(one: &str, other: &str) -> bool {
    one.split_whitespace().map(number).eq(other.split_whitespace().map(number))
}

/// A number in the notation in which the kernel shows it; other words as they are.
pub(super) fn number(word: &str) -> String {
    let (sign, digits) = word.strip_prefix('-').map_or(("", word), |digits| ("-", digits));
    let hex = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"));
    let value = match hex {
        Some(hex) => u64::from_str_radix(hex, 16),
        None if digits.len() > 1 && digits.starts_with('0') => u64::from_str_radix(digits, 8),
        None => digits.parse(),
    };
    value.map_or_else(|_| word.to_owned(), |value| format!("{sign}{value}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_sysctls_are_read_as_systemd_reads_them() {
        for (line, wanted) in [
            ("net.core.rmem_max = 8388608", Some(("net/core/rmem_max", "8388608"))),
            ("  net/core/rmem_max=8388608 ", Some(("net/core/rmem_max", "8388608"))),
            ("- net.ipv4.ip_forward=1", Some(("net/ipv4/ip_forward", "1"))),
            ("net.ipv4.conf.eth0/200.forwarding = 1", Some(("net/ipv4/conf/eth0.200/forwarding", "1"))),
            ("net/ipv4/conf/eth0.200/forwarding = 1", Some(("net/ipv4/conf/eth0.200/forwarding", "1"))),
            ("net.ipv4.tcp_rmem = 4096 131072\t6291456", Some(("net/ipv4/tcp_rmem", "4096 131072\t6291456"))),
            ("-net.ipv4.conf.all.rp_filter", None),
            ("# net.core.rmem_max = 1", None),
            ("; net.core.rmem_max = 1", None),
            ("../../etc/shadow = 1", None),
            ("net...ipv4 = 1", None),
            ("/net/core/rmem_max = 1", None),
            ("net.core.$(reboot) = 1", None),
            ("=", None),
            ("", None),
        ] {
            let read = sysctl(line, "f").map(|one| (one.name, one.value));
            assert_eq!(read, wanted.map(|(name, value)| (name.to_owned(), value.to_owned())), "{line}");
        }
    }

    #[test]
    fn patterns_cover_parts_of_paths() {
        for (pattern, path, wanted) in [
            ("net/core/rmem_max", "net/core/rmem_max", true),
            ("net/ipv4/conf/*/rp_filter", "net/ipv4/conf/all/rp_filter", true),
            ("net/*/rp_filter", "net/ipv4/conf/all/rp_filter", false),
            ("net/core/?mem_max", "net/core/wmem_max", true),
            ("net/core/*m*x", "net/core/rmem_max", true),
            ("net/core/*m*y", "net/core/rmem_max", false),
            ("net/core/[rw]mem_max", "net/core/rmem_max", true),
            ("net/core/rmem", "net/core/rmem_max", false),
            ("net/core/rmem_max?", "net/core/rmem_max", false),
            ("", "net", false),
        ] {
            assert_eq!(covers(pattern, path), wanted, "{pattern} {path}");
        }
    }

    #[test]
    fn values_are_compared_as_the_kernel_reads_them() {
        for (one, other, wanted) in [
            ("4096 131072 6291456", "4096\t131072\t6291456", true),
            ("0x10", "16", true),
            ("010", "8", true),
            ("-1", "-0x1", true),
            ("cubic", "cubic", true),
            ("cubic", "reno", false),
            ("1", "1 2", false),
            ("", "0", false),
            ("99999999999999999999", "1", false),
        ] {
            assert_eq!(is_same(one, other), wanted, "{one} {other}");
        }
    }
}
