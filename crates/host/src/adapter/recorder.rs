//! Recording: a source that writes what is read from another one to a tree. What goes in is bounded in size, and what may be secret
//! stays out, whatever asks for it.

use super::notation;
use super::recorded::INTERFACE;
use super::source::{Question, Source, Subject};
use crate::absent::Part;
use crate::netlink::message::{Message, attribute, attributes, text};
use std::cell::RefCell;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// Longest file, and most answers to a question.
const LONGEST: usize = 1 << 20;
const MOST: usize = 4096;
/// Files that hold nothing but settings; others have keys of networks and passwords beside them.
const SETTINGS: [&str; 3] = ["sysctl.d/", "modprobe.d/", ".link"];
/// Words in the names of values that are secret.
const SECRET: [&str; 6] = ["key", "secret", "password", "passwd", "psk", "token"];
/// The program that moves interrupts, of which alone processes are recorded.
const MOVES: &[u8] = b"irqbalance";

pub struct Recorder<S> {
    inner: S,
    root: PathBuf,
    /// First failure of a write.
    failure: RefCell<Option<io::Error>>,
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET.iter().any(|secret| name.contains(secret))
}

/// Settings without those whose names are of secrets: lines of a file, or words of the kernel's command line.
fn plain(bytes: &[u8], between: char) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let kept = |part: &&str| !is_secret(part.split('=').next().unwrap_or_default());
    text.split(between).filter(kept).collect::<Vec<_>>().join(&between.to_string()).into_bytes()
}

/// Lines of sockets that listen, and the names of the columns.
fn listening(bytes: &[u8]) -> Vec<u8> {
    let text = String::from_utf8_lossy(bytes);
    let kept = |line: &&str| ["st", "0A"].contains(&line.split_whitespace().nth(3).unwrap_or_default());
    text.lines().filter(kept).flat_map(|line| [line, "\n"]).collect::<String>().into_bytes()
}

/// The kept part of a file, if any of it is kept.
fn kept(path: &str, bytes: &[u8]) -> Option<Vec<u8>> {
    let process = path.strip_prefix("proc/").filter(|rest| rest.starts_with(|c: char| c.is_ascii_digit()));
    if bytes.len() > LONGEST || is_secret(path) {
        return None;
    }
    match path {
        "proc/cmdline" => Some(plain(bytes, ' ')),
        // Sockets that listen, and nobody's connections.
        "proc/net/tcp" | "proc/net/tcp6" => Some(listening(bytes)),
        // The first process shows that there are any.
        _ if process.is_some_and(|rest| rest != "1/comm") => bytes.starts_with(MOVES).then(|| bytes.to_vec()),
        "etc/sysctl.conf" => Some(plain(bytes, '\n')),
        _ if path.starts_with("proc/") || path.starts_with("sys/") => Some(bytes.to_vec()),
        _ => SETTINGS.iter().any(|one| path.contains(one)).then(|| plain(bytes, '\n')),
    }
}

/// Expressions of a filter's rule that tell what it does; of others the name is enough.
const TOLD: [&str; 7] = ["reject", "limit", "counter", "numgen", "rt", "exthdr", "immediate"];
const NFTA_RULE_EXPRESSIONS: u16 = 4;
const NFTA_CHAIN_USE: u16 = 6;
const NFTA_EXPR_NAME: u16 = 1;
const NFTA_EXPR_DATA: u16 = 2;
const NFTA_TARGET_NAME: u16 = 1;
const NESTED: u16 = 0x8000;
/// Longest data of an expression: a verdict, or the size of a segment.
const SHORT: usize = 64;

/// An answer without what a filter compares with, comments and names of sets.
fn told(question: Question, answer: &[u8]) -> Vec<u8> {
    let mut message = Message::about(0, 0, &[]);
    match question {
        Question::Chains => attributes(answer)
            .filter(|(kind, _)| *kind <= NFTA_CHAIN_USE)
            .for_each(|(kind, value)| message.attribute(kind, value)),
        Question::FilterRules => {
            let named = attributes(answer).filter(|(kind, _)| *kind < NFTA_RULE_EXPRESSIONS);
            named.for_each(|(kind, value)| message.attribute(kind, value));
            message.nest(NFTA_RULE_EXPRESSIONS | NESTED, |all| {
                let list = attribute(answer, NFTA_RULE_EXPRESSIONS).unwrap_or_default();
                attributes(list).for_each(|(kind, one)| all.nest(kind | NESTED, |to| expression(to, one)));
            });
        }
        _ => return answer.to_vec(),
    }
    message.into_body()
}

fn expression(to: &mut Message, of: &[u8]) {
    let name = attribute(of, NFTA_EXPR_NAME).map(text).unwrap_or_default();
    let data = attribute(of, NFTA_EXPR_DATA).unwrap_or_default();
    to.text(NFTA_EXPR_NAME, &name);
    if TOLD.contains(&name.as_str()) && data.len() <= SHORT {
        to.attribute(NFTA_EXPR_DATA, data);
    } else if name == "target" {
        let target = attribute(data, NFTA_TARGET_NAME).map(text).unwrap_or_default();
        to.nest(NFTA_EXPR_DATA | NESTED, |data| data.text(NFTA_TARGET_NAME, &target));
    }
}

impl<S: Source> Recorder<S> {
    /// Makes a recorder of an interface into a directory that does not exist yet.
    pub fn new(inner: S, root: &Path, interface: &str) -> io::Result<Self> {
        fs::create_dir(root)?;
        fs::write(root.join(INTERFACE), format!("{interface}\n"))?;
        Ok(Self { inner, root: root.to_path_buf(), failure: RefCell::new(None) })
    }

    /// Ends the recording.
    ///
    /// # Errors
    /// The first write that failed.
    pub fn finish(self) -> io::Result<()> {
        self.failure.into_inner().map_or(Ok(()), Err)
    }

    fn keep(&self, path: &str, write: impl FnOnce(&Path) -> io::Result<()>) {
        let at = self.root.join(path);
        // What a list has named before is an empty file, though it is a folder.
        let listed = at.ancestors().skip(1).filter(|above| above.starts_with(&self.root));
        let emptied = listed.filter(|above| above.is_file()).try_for_each(fs::remove_file);
        let made = emptied.and_then(|()| at.parent().map_or(Ok(()), fs::create_dir_all));
        if let Err(e) = made.and_then(|()| write(&at)) {
            self.failure.borrow_mut().get_or_insert(e);
        }
    }
}

impl<S: Source> Source for Recorder<S> {
    fn file(&self, path: &str) -> io::Result<Vec<u8>> {
        let bytes = self.inner.file(path)?;
        if let Some(kept) = kept(path, &bytes) {
            self.keep(path, |at| fs::write(at, &kept));
        }
        Ok(bytes)
    }

    fn names(&self, path: &str) -> io::Result<Vec<String>> {
        let names = self.inner.names(path)?;
        // Of other folders what is read is there by itself.
        let is_list = path.starts_with("sys/") || path.starts_with("proc/irq");
        if is_list {
            self.keep(path, |at| {
                fs::create_dir_all(at)?;
                // Entries that are read later are files by then.
                names.iter().filter(|name| !at.join(name).exists()).try_for_each(|name| {
                    if path.ends_with("/queues") {
                        fs::create_dir_all(at.join(name))
                    } else {
                        fs::write(at.join(name), "")
                    }
                })
            });
        }
        Ok(names)
    }

    fn real(&self, path: &str) -> io::Result<String> {
        let real = self.inner.real(path)?;
        self.keep(path, |at| {
            let target = self.root.join(&real);
            fs::create_dir_all(&target)?;
            if at.exists() {
                return Ok(());
            }
            // Up from where the link really is, and down to its target.
            let root = self.root.canonicalize()?;
            let from = at.parent().unwrap_or(&root).canonicalize()?;
            let depth = from.strip_prefix(&root).map_or(0, |below| below.components().count());
            std::os::unix::fs::symlink(format!("{}{real}", "../".repeat(depth)), at)
        });
        Ok(real)
    }

    fn ask(&mut self, question: Question, of: Option<&Subject>) -> Part<Vec<Vec<u8>>> {
        let answers = self.inner.ask(question, of);
        // Bytes of the structure before the attributes.
        let header = match question {
            Question::Link => 16,
            Question::Dcb => super::dcb::HEADER,
            Question::Addresses => 8,
            Question::Neighbours | Question::Routes => 12,
            Question::Qdiscs | Question::Classes | Question::Filters => 20,
            _ if question.file().starts_with("ioctl") => usize::MAX,
            _ => 0,
        };
        // The list of all interfaces has the one, too.
        if !(question == Question::Link && of.is_some() && self.root.join(question.file()).exists()) {
            let few = answers.clone().map(|all| all.iter().take(MOST).map(|one| told(question, one)).collect());
            let text = notation::write(&few, header);
            self.keep(&question.file(), |at| fs::write(at, text));
        }
        answers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_may_be_secret_is_not_kept() {
        let kept = |path: &str, text: &str| {
            kept(path, text.as_bytes()).map(|bytes| String::from_utf8_lossy(&bytes).into_owned())
        };
        let whole = |path: &str, text: &str| assert_eq!(kept(path, text).as_deref(), Some(text), "{path}");
        let none = |path: &str, text: &str| assert_eq!(kept(path, text), None, "{path}");
        whole("proc/sys/net/ipv4/tcp_rmem", "4096 131072 6291456");
        whole("sys/class/net/eth0/mtu", "1500");
        whole("proc/1/comm", "systemd");
        whole("proc/812/comm", "irqbalance\n");
        whole("etc/systemd/network/10-a.link", "[Link]\nTCPSegmentationOffload=no\n");
        for path in [
            "proc/sys/net/ipv4/tcp_fastopen_key",
            "proc/sys/net/ipv6/conf/eth0/stable_secret",
            "proc/812/environ",
            "proc/812/cmdline",
            "etc/NetworkManager/system-connections/a.nmconnection",
            "etc/netplan/01.yaml",
            "etc/systemd/network/wg0.network",
            "etc/rc.local",
            "etc/shadow",
        ] {
            none(path, "x");
        }
        none("proc/net/arp", &"x".repeat(LONGEST + 1));
        assert_eq!(kept("proc/cmdline", "quiet rd.password=a iommu=pt").as_deref(), Some("quiet iommu=pt"));
        assert_eq!(
            kept("etc/sysctl.d/a.conf", "a=1\nnet.ipv4.tcp_fastopen_key = 7\nb=2\n").as_deref(),
            Some("a=1\nb=2\n")
        );
    }

    #[test]
    fn a_filters_rule_keeps_its_effect_and_not_what_it_compares_with() {
        let rule = "1 text t\n2 text c\n3 hex 0000000000000007\n4 {\n1 {\n1 text cmp\n2 {\n3 {\n1 hex 02deadbeef07\n}\n}\n}\n\
                    1 {\n1 text immediate\n2 {\n1 hex 00000000\n2 {\n2 {\n1 hex 00000000\n}\n}\n}\n}\n\
                    1 {\n1 text target\n2 {\n1 text TCPMSS\n3 hex 1234\n}\n}\n}\n7 hex 736563726574\n";
        let body = notation::read(rule).unwrap().pop().unwrap();
        let text = notation::write(&Ok(vec![told(Question::FilterRules, &body)]), 0);
        assert!(!["02deadbeef07", "736563726574", "1234"].iter().any(|hidden| text.contains(hidden)), "{text}");
        for part in ["text cmp", "text immediate", "text TCPMSS"] {
            assert!(text.contains(part), "{text}");
        }
        for end in 0..body.len() {
            told(Question::FilterRules, &body[..end]);
            told(Question::Chains, &body[..end]);
        }
    }
}
