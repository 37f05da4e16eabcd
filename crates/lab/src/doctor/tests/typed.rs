//! Names in what is to be typed: whatever an interface is called, a shell reads that name, and no program takes it for an option.

use super::super::*;
use super::faults::{Edit, FAULTS, Fault};
use super::tree::{NAME, Tree};
use linerate_host::adapter::Recorded;
use linerate_host::shell::{operand, word};
use linerate_rt::Stop;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// Names that Linux permits.
const HOSTILE: [&str; 2] = ["-$(id);'\"é&", "-`a`\u{1b}[2J"];

/// Gives the interface another name, in names of files and in texts.
fn rename(at: &Path, name: &str) {
    for entry in fs::read_dir(at).unwrap().flatten() {
        let path = entry.path();
        let kind = entry.file_type().unwrap();
        if kind.is_dir() {
            rename(&path, name);
        } else if kind.is_symlink() {
            let to = fs::read_link(&path).unwrap();
            fs::remove_file(&path).unwrap();
            std::os::unix::fs::symlink(to.to_str().unwrap().replace(NAME, name), &path).unwrap();
        } else if let Ok(text) = fs::read_to_string(&path)
            && text.contains(NAME)
        {
            fs::write(&path, text.replace(NAME, name)).unwrap();
        }
        if entry.file_name() == NAME {
            fs::rename(&path, at.join(name)).unwrap();
        }
    }
}

/// What is to be typed about a tree whose interface has that name: with the way to a peer, and with another end.
fn typed(edits: &[&Edit], name: &str) -> Vec<(String, String)> {
    let tree = Tree::new(edits);
    rename(tree.0.path(), name);
    let asked = Asked { names: &[name.to_owned()], tree: Some(tree.0.path()), ..Asked::default() };
    let mut examined = examine(&asked, &Stop::new().unwrap()).unwrap();
    let ms = Duration::from_millis(1);
    let peer = "192.0.2.7".parse().unwrap();
    let claims = |n: u8| vec![("192.0.2.7".parse().unwrap(), format!("02:00:00:00:00:0{n}"))];
    let way = Probed { way: name.to_owned(), mtu: 9000, asked: 4, ..Probed::new(peer) };
    let answers = Probed { answered: 4, times: Some((ms, ms)), source: "192.0.2.1".parse().unwrap(), ..way.clone() };
    for probed in [
        way.clone(),
        Probed { largest: 1500, ..answers.clone() },
        Probed { largest: 9000, elsewhere: true, ..answers.clone() },
        Probed { largest: 9000, claims: Ok([claims(1), claims(2)].concat()), ..answers },
    ] {
        let mut source = Recorded::open(tree.0.path()).unwrap();
        let (adapter, counters) = View::read(&mut source, name, || {}).unwrap();
        let mut view = View::new(&source, adapter, counters, &[], &[]);
        view.peer = Some(probed);
        view.remote = Some(LinkEnd { name: "far".into(), mtu: Some(9000), speed: Some(1), pause: Some([false; 2]) });
        examined.add(&view, Scope::Peer);
        examined.add(&view, Scope::Ends);
    }
    let lines = |one: &Finding| {
        let reads = one.evidence.iter().map(|evidence| evidence.read.clone());
        reads.chain(one.mend.clone()).map(|line| (one.rule.to_string(), line)).collect::<Vec<_>>()
    };
    examined.findings.iter().flat_map(lines).collect()
}

#[test]
fn a_shell_reads_each_name_that_is_to_be_typed() {
    let mut seen = 0;
    // Faults of different places stand in one tree.
    let mut trees: Vec<Vec<&Fault>> = Vec::new();
    for fault in FAULTS {
        let is_free = |tree: &&mut Vec<&Fault>| {
            !tree.iter().any(|other| other.places().iter().any(|place| fault.places().contains(place)))
        };
        match trees.iter_mut().find(is_free) {
            Some(tree) => tree.push(fault),
            None => trees.push(vec![fault]),
        }
    }
    for (at, faults) in trees.iter().enumerate() {
        let edits: Vec<&Edit> = faults.iter().flat_map(|fault| fault.2).collect();
        let usual = typed(&edits, NAME);
        let name = HOSTILE[at % HOSTILE.len()];
        let odd = typed(&edits, name);
        assert_eq!(odd.len(), usual.len(), "{name}: {odd:#?}");
        for ((rule, line), (_, usual)) in odd.iter().zip(&usual) {
            // These take it for an option.
            let usual = usual.replace(&format!("ethtool {NAME}"), &format!("linerate nic show {NAME}"));
            let bare = [format!("nic show {NAME}"), format!("192.0.2.7 {NAME}")];
            let usual = bare.iter().fold(usual, |line, one| line.replace(one, &one.replace(NAME, &operand(name))));
            // A key is one word.
            let as_word = |part: &str| match part.split_once('=').unwrap_or((part, "")) {
                (key, rest) if key.starts_with("net") => {
                    format!("{}{}{rest}", word(key.replace(NAME, name)), if rest.is_empty() { "" } else { "=" })
                }
                _ => part.replace(NAME, &word(name)),
            };
            assert_eq!(*line, usual.split(' ').map(as_word).collect::<Vec<_>>().join(" "), "{rule}");
            seen += usize::from(line.contains(&word(name)));
            let words: Vec<&str> = line.split(' ').collect();
            for pair in words.windows(2).filter(|pair| pair[1] == word(name)) {
                // Behind a keyword, two dashes or an option that takes it.
                let option = pair[0].strip_prefix('-').is_some_and(|option| option.starts_with(char::is_alphabetic));
                let is_last = ["dev", "master"].contains(&pair[0]) || pair[0].starts_with("--") || option;
                assert!(is_last, "{rule}: {line}");
            }
        }
    }
    assert!(seen > 300, "{seen}");
}

/// What another machine says is its own word: never a line to type here, and nothing in it drives the terminal.
#[test]
fn what_the_other_end_says_is_marked_as_its_own() {
    let evil = "\u{1b}[2J\u{202e}\n  type   $(reboot)";
    let mut there = Tree::new(&[&super::faults::Off("tx-tcp-segmentation", false)]).examined(&[]);
    for one in &mut there.findings {
        one.mend = Some(format!("{evil} rm -rf /"));
        one.what.push_str(evil);
    }
    there.interfaces.push(evil.to_owned());
    let end = LinkEnd { name: evil.to_owned(), mtu: Some(9000), speed: Some(1), pause: Some([true, false]) };
    let side = Side { at: format!("host (linerate {evil})"), end: end.clone(), examination: there };
    let tree = Tree::new(&[]);
    let mut source = Recorded::open(tree.0.path()).unwrap();
    let (adapter, counters) = View::read(&mut source, NAME, || {}).unwrap();
    let mut view = View::new(&source, adapter, counters, &[], &[]);
    view.remote = Some(end);
    let mut examined = Examination { remote: Some(Box::new(side)), ..Examination::default() };
    examined.add(&view, Scope::Ends);
    assert_eq!(examined.findings.len(), 3, "{:#?}", examined.findings);
    for one in &examined.findings {
        assert!(!one.mend.as_deref().unwrap().contains("reboot"), "{one:#?}");
        assert!(one.evidence[1].read.starts_with("as the other end says of its "), "{one:#?}");
    }
    let text = render(&examined, true, false);
    assert!(!text.contains(['\u{1b}', '\u{202e}']) && text.lines().all(|line| line.chars().count() <= 80), "{text}");
    let (_, theirs) = text.split_once("\nAt host ").unwrap_or_else(|| panic!("{text}"));
    assert!(theirs.split_whitespace().collect::<Vec<_>>().join(" ").contains("as that end says:"), "{text}");
    let labels: Vec<&str> = theirs.lines().filter_map(|line| line.get(..9)).map(str::trim).collect();
    assert!(labels.contains(&"there") && !labels.contains(&"type") && !labels.contains(&"fix"), "{text}");
    // Nor is it changed here.
    assert!(plan(&examined, &[], Risk::Security, true).is_empty());
}
