//! README.md, CONTRIBUTING.md and the guides in docs/: the binary understands each command, blocks marked `sh run` succeed as they
//! stand, links lead somewhere, and the README names each guide. ARCHITECTURE.md and each crate's DESIGN.md name files that exist.
#![cfg(target_os = "linux")]

use crate::process::{BINARY, Process};
use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

/// Names under which the binary is called.
const PROGRAMS: [&str; 7] = ["linerate", "pkt-gen", "iperf3", "iperf", "netperf", "netserver", "xdd"];
/// Commands whose last words are settings, to which clap leaves no `--help`.
const FREE: [&str; 4] = ["nic set ", "nic vi add ", "nic vi set ", "nic filter add "];
/// The command behind whose `--` another program's words stand.
const RUN: [&str; 2] = ["netmap", "run"];
/// The most that the README may have.
const BUDGET: usize = 10 << 10;
/// The most bytes of ARCHITECTURE.md, and of a crate's DESIGN.md.
const ARCHITECTURE: usize = 12_000;
const DESIGN: usize = 8 << 10;
/// Time limit of a block; the longest takes a few seconds.
const PATIENCE: Duration = Duration::from_secs(300);

struct Page {
    /// Path from the root of the repository.
    name: String,
    prose: String,
    blocks: Vec<Block>,
}

/// Fenced or indented lines.
#[derive(Default)]
struct Block {
    /// Page and line, for messages.
    place: String,
    /// Words behind the fence.
    info: String,
    text: String,
}

/// A directory for one block: an empty home, and the binary under each of its names in the path.
struct Home(tempfile::TempDir);

/// All processes of a block, which end with it.
struct Group(u32);

impl Drop for Group {
    fn drop(&mut self) {
        let group = format!("-{}", self.0);
        let _ = Command::new("kill").args(["-s", "KILL", "--", &group]).stderr(std::process::Stdio::null()).status();
    }
}

impl Home {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        for name in ["bin", "work", "run"] {
            fs::create_dir(dir.path().join(name)).unwrap();
        }
        for program in PROGRAMS {
            symlink(BINARY, dir.path().join("bin").join(program)).unwrap();
        }
        Self(dir)
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn command(&self, program: impl AsRef<Path>) -> Command {
        let path = std::env::var("PATH").unwrap_or_default();
        let mut command = Command::new(program.as_ref());
        command
            .current_dir(self.path("work"))
            .env("PATH", format!("{}:{path}", self.path("bin").display()))
            .env("HOME", self.0.path())
            .env("XDG_RUNTIME_DIR", self.path("run"));
        for kind in ["DATA", "CONFIG", "STATE"] {
            command.env(format!("XDG_{kind}_HOME"), self.path(kind));
        }
        command
    }

    /// Why the binary does not take these words. Each word is read in turn, so that a `--help` behind them is reached only if all
    /// were understood. What is missing, and what does not go together, is not seen so. Words behind the `--` of [`RUN`] are another
    /// program's.
    fn misunderstood(&self, words: &[String]) -> Option<String> {
        let (program, words) = words.split_first().unwrap();
        let own = words.iter().position(|word| word == "--").filter(|_| words.starts_with(&RUN.map(Into::into)));
        let words = &words[..own.unwrap_or(words.len())];
        let out = self.command(self.path("bin").join(program)).args(words).arg("--help").output().unwrap();
        let log = String::from_utf8_lossy(&out.stderr).into_owned();
        let understood = if FREE.iter().any(|free| words.join(" ").starts_with(free)) {
            log.contains("-help: no such ")
        } else {
            out.status.success() && String::from_utf8_lossy(&out.stdout).contains("Usage: ")
        };
        (!understood).then_some(log)
    }
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// Paths of all guides.
fn guides() -> Vec<String> {
    let files = fs::read_dir(root().join("docs")).unwrap().map(|file| file.unwrap().file_name().into_string().unwrap());
    let mut guides: Vec<String> =
        files.filter(|name| name.ends_with(".md")).map(|name| format!("docs/{name}")).collect();
    guides.sort_unstable();
    guides
}

fn pages() -> Vec<Page> {
    let names = ["README.md", "CONTRIBUTING.md", "ARCHITECTURE.md", "examples/README.md"].map(str::to_owned);
    let read = |name: String| page(&name, &fs::read_to_string(root().join(&name)).unwrap());
    names.into_iter().chain(guides()).chain(designs().into_keys()).map(read).collect()
}

/// Each crate's DESIGN.md, and the crate's folder.
fn designs() -> BTreeMap<String, String> {
    let crates = fs::read_dir(root().join("crates")).unwrap();
    let names = crates.map(|entry| format!("crates/{}", entry.unwrap().file_name().to_str().unwrap()));
    let designs = names.map(|folder| (format!("{folder}/DESIGN.md"), folder));
    designs.filter(|(file, _)| root().join(file).exists()).collect()
}

fn page(name: &str, text: &str) -> Page {
    let mut page = Page { name: name.to_owned(), prose: String::new(), blocks: Vec::new() };
    let (mut fenced, mut indented, mut before) = (false, false, "");
    for (at, line) in text.lines().enumerate() {
        let place = || format!("{name}:{}", at + 1);
        let inside = if let Some(info) = line.strip_prefix("```") {
            fenced = !fenced;
            if fenced {
                page.blocks.push(Block { place: place(), info: info.to_owned(), text: String::new() });
            }
            None
        } else if fenced {
            Some(line)
        } else {
            let inside = line.strip_prefix("    ").filter(|_| indented || before.is_empty());
            if inside.is_some() && !indented {
                page.blocks.push(Block { place: place(), ..Block::default() });
            }
            indented = inside.is_some();
            if !indented {
                page.prose += &format!("{line}\n");
            }
            inside
        };
        if let (Some(line), Some(block)) = (inside, page.blocks.last_mut()) {
            block.text += &format!("{line}\n");
        }
        before = line;
    }
    assert!(!fenced, "{name}: a fence is not closed");
    page
}

/// Commands between grave accents: what begins with the program's name and goes on.
fn quoted(prose: &str) -> Vec<String> {
    // An accent without its fellow spoils its paragraph alone.
    let paragraphs = prose.split("\n\n").map(|paragraph| paragraph.replace('\n', " ").replace("\\|", "|"));
    let spans = paragraphs.flat_map(|text| text.split('`').skip(1).step_by(2).map(str::to_owned).collect::<Vec<_>>());
    spans.filter(|span| span.starts_with("linerate ")).collect()
}

/// Words of each command at the beginning of a line, as the shell splits them: it runs functions of the programs' names, which
/// print their words, and has no other program.
fn commands(home: &Home, place: &str, text: &str) -> Vec<Vec<String>> {
    let functions =
        PROGRAMS.map(|name| format!("{name}() {{ printf '%s\\37' {name} \"$@\" $'\\36' >&3; }}\n")).concat();
    let text = text.replace("\\\n", " ");
    let begins = |line: &&str| PROGRAMS.iter().any(|program| line.split(' ').next() == Some(program));
    let lines: Vec<&str> = text.lines().filter(begins).collect();
    let script = format!("exec 3>&1\nPATH=\nsleep() {{ :; }}\n{functions}{}\nwait", lines.join("\n"));
    let out = home.command("bash").args(["-c", &script]).output().unwrap();
    assert!(out.stderr.is_empty(), "{place}: {}", String::from_utf8_lossy(&out.stderr));
    let said = String::from_utf8(out.stdout).unwrap();
    let found: Vec<Vec<String>> = said
        .split_terminator("\u{1e}\u{1f}")
        .map(|words| words.split_terminator('\u{1f}').map(str::to_owned).collect())
        .collect();
    assert!(found.len() >= lines.len(), "{place}: {found:?}");
    found
}

/// Spans between grave accents that are paths of the repository, and whether there is such a file. They begin in one of `bases`,
/// or in the folder of a path before them in the same paragraph or row of a table.
fn paths(bases: &[PathBuf], text: &str) -> Vec<(String, bool)> {
    let mut found = Vec::new();
    let parts = text.split("\n\n").flat_map(|part| match part.starts_with('|') {
        true => part.lines().map(str::to_owned).collect(),
        false => vec![part.replace('\n', " ")],
    });
    for part in parts {
        let mut bases = bases.to_vec();
        for span in part.split('`').skip(1).step_by(2).filter(|span| !span.starts_with('/') && !span.contains(' ')) {
            let first = span.split_once('/').map(|(first, _)| first);
            let begins = first.is_some_and(|first| bases.iter().any(|base| base.join(first).is_dir()));
            if !begins && ![".rs", ".md", ".toml"].iter().any(|end| span.ends_with(end)) {
                continue;
            }
            let file = bases.iter().map(|base| base.join(span)).find(|file| file.exists());
            found.push((span.to_owned(), file.is_some()));
            bases.extend(file.and_then(|file| Some(file.parent()?.to_owned())));
        }
    }
    found
}

/// The names by which a page's headings are linked, as GitHub makes them.
fn anchors(page: &Page) -> Vec<String> {
    let headings = page.prose.lines().filter(|line| line.starts_with('#')).map(|line| line.trim_matches(['#', ' ']));
    let kept =
        |heading: &str| heading.chars().filter(|c| c.is_alphanumeric() || " -_".contains(*c)).collect::<String>();
    headings.map(|heading| kept(heading).to_lowercase().replace(' ', "-")).collect()
}

/// Targets of the links to other files of the repository, or within the page.
fn links(page: &Page) -> Vec<&str> {
    let targets = page.prose.split("](").skip(1).map(|rest| rest.split(')').next().unwrap_or_default());
    targets.filter(|target| !target.contains("://")).collect()
}

/// What is wrong with a page's links.
fn astray(page: &Page, anchors: &BTreeMap<&str, Vec<String>>) -> Vec<String> {
    let astray = |link: &&str| {
        let (file, anchor) = link.split_once('#').unwrap_or((link, ""));
        let folder = Path::new(&page.name).parent().unwrap();
        let there = if file.is_empty() { root().join(&page.name) } else { root().join(folder).join(file) };
        let Ok(there) = there.canonicalize() else { return true };
        let name = there.strip_prefix(root().canonicalize().unwrap()).unwrap().to_str().unwrap().to_owned();
        !anchor.is_empty() && !anchors.get(name.as_str()).is_some_and(|known| known.iter().any(|one| one == anchor))
    };
    links(page).into_iter().filter(astray).map(|link| format!("{}: ({link}) leads nowhere", page.name)).collect()
}

#[test]
fn each_command_of_the_guides_is_understood() {
    let (home, mut count, mut wrong) = (Home::new(), 0, Vec::new());
    for page in pages() {
        let spans = quoted(&page.prose).into_iter().map(|span| (page.name.clone(), span));
        let blocks = page.blocks.iter().map(|block| (block.place.clone(), block.text.clone()));
        for (place, text) in blocks.chain(spans) {
            for words in commands(&home, &place, &text) {
                count += 1;
                wrong.extend(home.misunderstood(&words).map(|log| format!("{place}: {}: {log}", words.join(" "))));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.concat());
    assert!(count > 150, "{count}");
}

#[test]
fn a_command_that_was_renamed_is_not_understood() {
    let home = Home::new();
    for wrong in [
        "linerate docter",
        "linerate doctor eth0 --four tcp",
        "linerate doctor eth0 --for rain & sleep 1",
        "linerate fcoe lst -i 'cable:san}1'    # a comment",
        "linerate nic set eth0 mtuu=9000",
        "linerate nic filter add -i null: flow-type udp4 dst-prt 9",
        "linerate sweep t5-nic --dry >plan.txt",
        "netperf -H 10.0.0.1 -- -m 1472 -Q 128K",
        "pkt-gen -i eth0 -f send",
        "xdd -op read -targets 1 disk.img -queuedeepth 16",
    ] {
        let found = commands(&home, wrong, wrong);
        assert!(found.len() == 1 && home.misunderstood(&found[0]).is_some(), "{wrong}: {found:?}");
    }
    let found =
        commands(&home, "", "cargo run\n# xdd\nlinerate nic set -i 'a b' \\\n  -lro; pkt-gen -i \"x{1\" & wait\n");
    assert_eq!(found.concat(), ["linerate", "nic", "set", "-i", "a b", "-lro", "pkt-gen", "-i", "x{1"]);
}

/// Each page's blocks in a row, all pages at once: most of their time is waited for.
#[test]
fn blocks_that_are_marked_run_end_well() {
    let pages = pages();
    let run = |block: &Block| {
        let home = Home::new();
        // A block that fails does not leave its servers behind, for which the test would wait.
        let script = format!("trap 'kill $(jobs -p) || true' ERR\n{}", block.text);
        let mut command = home.command("bash");
        command.args(["-euo", "pipefail", "-c", &script]).process_group(0);
        let process = Process::start(command).within(PATIENCE);
        let _group = Group(process.id());
        // Also a process that a block leaves behind is waited for.
        let ended = process.end();
        assert_eq!(ended.code, Some(0), "{}: {}", block.place, ended.said());
    };
    let marked = |page: &Page| page.blocks.iter().filter(|block| block.info == "sh run").map(run).count();
    std::thread::scope(|scope| {
        let runs: Vec<_> = pages.iter().map(|page| scope.spawn(|| (page.name.clone(), marked(page)))).collect();
        let counts: BTreeMap<String, usize> = runs.into_iter().map(|run| run.join().unwrap()).collect();
        for name in ["README.md", "docs/packets.md", "docs/sockets.md", "docs/disks.md", "docs/throughput.md"] {
            assert!(counts[name] >= 3, "{counts:?}");
        }
        for name in ["docs/hosts.md", "docs/runs.md"] {
            assert!(counts[name] >= 3, "{counts:?}");
        }
    });
}

#[test]
fn links_lead_to_files_and_headings_and_the_readme_names_each_guide() {
    let pages = pages();
    let headings: BTreeMap<&str, Vec<String>> = pages.iter().map(|page| (page.name.as_str(), anchors(page))).collect();
    let wrong: Vec<String> = pages.iter().flat_map(|page| astray(page, &headings)).collect();
    assert!(wrong.is_empty(), "{wrong:?}");
    let count = pages.iter().map(|page| links(page).len()).sum::<usize>();
    assert!(count > 20, "{count}");
    let bad = page("docs/bad.md", "[a](none.md) [b](packets.md#none) [c](#here) [d](runs.md)\n# Here\n");
    assert_eq!(astray(&bad, &headings).len(), 3, "no heading is known of a page that is not among them");

    let readme = fs::read_to_string(root().join("README.md")).unwrap();
    assert!(readme.len() <= BUDGET, "README.md has {} bytes of {BUDGET}", readme.len());
    for guide in guides() {
        let names = |line: &str| line.starts_with("| [") && line.contains(&format!("]({guide}) | "));
        assert!(readme.lines().any(names), "README.md has no row for {guide}");
    }
}

#[test]
fn files_that_the_architecture_and_designs_name_exist() {
    let folders = |names: &[&str]| names.iter().map(|name| root().join(name)).collect::<Vec<_>>();
    let of_crate = |(file, folder): (String, String)| (file, DESIGN, folders(&["", &folder, &format!("{folder}/src")]));
    let pages = std::iter::once(("ARCHITECTURE.md".to_owned(), ARCHITECTURE, folders(&["", "crates"])));
    let (mut count, mut wrong) = (0, Vec::new());
    for (name, most, bases) in pages.chain(designs().into_iter().map(of_crate)) {
        let text = fs::read_to_string(root().join(&name)).unwrap();
        assert!(text.len() <= most, "{name} has {} bytes of {most}", text.len());
        let named = paths(&bases, &text);
        count += named.len();
        wrong.extend(named.iter().filter(|(_, exists)| !exists).map(|(path, _)| format!("{name}: no {path}")));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 200, "{count}");
    let text = "`ring/src/rx.rs`, `tx.rs` of `/proc/stat` and `PORT/vi1`\n\n`tx.rs`, `ring/src/no`\n\n| `no.rs` |\n| `bench/size` |";
    let right: Vec<bool> = paths(&folders(&["", "crates"]), text).into_iter().map(|(_, exists)| exists).collect();
    assert_eq!(right, [true, true, false, false, false, true]);
}
