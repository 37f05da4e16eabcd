//! C programs of our own, each for one behaviour, compiled against our header and run with the library preloaded.
#![cfg(target_os = "linux")]

use linerate_port::switch::{Listener, Switch};
use linerate_port::{Link, open};
use linerate_skip::{is_installed, skip};
use std::io::{BufRead, BufReader, Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::OnceLock;
use std::time::{Duration, Instant};

/// Time limit of a program; the longest takes two seconds.
const PATIENCE: Duration = Duration::from_secs(120);

/// The library. Cargo builds none for tests of a crate that is nothing else.
fn library() -> &'static Path {
    static LIBRARY: OnceLock<PathBuf> = OnceLock::new();
    LIBRARY.get_or_init(|| {
        let program = std::env::current_exe().unwrap();
        let target = program.ancestors().nth(3).unwrap();
        let out = Command::new(env!("CARGO"))
            .args(["build", "--quiet", "--offline", "--package", env!("CARGO_PKG_NAME"), "--target-dir"])
            .arg(target)
            // Whoever sets it for this program means no other: all would be built anew.
            .env_remove("RUSTC_BOOTSTRAP")
            .current_dir(env!("CARGO_MANIFEST_DIR"))
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        target.join("debug/liblinerate_netmap.so")
    })
}

/// A directory for the programs and sockets of one test.
struct Place(tempfile::TempDir);

impl Place {
    /// None, with the skip reported, without a compiler.
    fn new() -> Option<Self> {
        if !is_installed("cc") {
            skip!("cc is not installed");
            return None;
        }
        Some(Self(tempfile::tempdir().unwrap()))
    }

    fn compiled(&self, source: &Path, flags: &[&str]) -> PathBuf {
        let here = Path::new(env!("CARGO_MANIFEST_DIR"));
        let program = self.0.path().join(source.file_stem().unwrap());
        let out = Command::new("cc")
            .args(["-std=gnu11", "-O2", "-Wall", "-Wextra", "-Werror", "-pthread"])
            .args(flags)
            .arg("-I")
            .arg(here.join("include"))
            .arg(here.join(source))
            .arg("-o")
            .arg(&program)
            .output()
            .unwrap();
        assert!(out.status.success(), "{}", String::from_utf8_lossy(&out.stderr));
        program
    }

    fn program(&self, name: &str) -> PathBuf {
        self.compiled(Path::new(&format!("tests/programs/{name}.c")), &[])
    }

    /// A command with the library preloaded.
    fn preloaded(&self, program: &Path, words: &[&str]) -> Command {
        let mut command = Command::new(program);
        command.args(words).env("LD_PRELOAD", library()).env("XDG_RUNTIME_DIR", self.0.path());
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        command
    }

    fn start(&self, program: &Path, words: &[&str]) -> Running {
        Running(self.preloaded(program, words).spawn().unwrap())
    }
}

/// A program that is killed if it is not done in time.
struct Running(Child);

impl Running {
    /// Waits for its end, which must be good; what it wrote to standard error.
    fn done(mut self) -> String {
        let end = Instant::now() + PATIENCE;
        let status = loop {
            match self.0.try_wait().unwrap() {
                Some(status) => break Some(status),
                None if Instant::now() > end => break None,
                None => std::thread::sleep(Duration::from_millis(5)),
            }
        };
        if status.is_none() {
            self.0.kill().unwrap();
        }
        let mut said = String::new();
        self.0.stderr.take().unwrap().read_to_string(&mut said).unwrap();
        let status = status.unwrap_or_else(|| panic!("not done in {PATIENCE:?}: {said}"));
        assert!(status.success(), "{status}: {said}");
        said
    }

    /// The next line of its output.
    fn line(&mut self) -> String {
        let mut line = String::new();
        BufReader::new(self.0.stdout.as_mut().unwrap()).read_line(&mut line).unwrap();
        line
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Runs a program that needs no other.
fn run(name: &str) -> String {
    let Some(place) = Place::new() else { return String::new() };
    place.start(&place.program(name), &[]).done()
}

#[test]
fn a_hundred_thousand_frames_pass_between_two_programs_whole_and_in_order() {
    let Some(place) = Place::new() else { return };
    let [receive, send] = ["receive", "send"].map(|name| place.program(name));
    let mut receiver = place.start(&receive, &["netmap:cable:x{1", "100000"]);
    assert_eq!(receiver.line(), "open\n");
    let sender = place.start(&send, &["netmap:cable:x}1", "100000"]);
    assert_eq!((sender.done(), receiver.done()), (String::new(), String::new()));
}

#[test]
fn a_pipe_between_two_programs_is_a_cable() {
    let Some(place) = Place::new() else { return };
    let [receive, send] = ["receive", "send"].map(|name| place.program(name));
    let mut receiver = place.start(&receive, &["netmap:pipe{7", "1000"]);
    assert_eq!(receiver.line(), "open\n");
    let sender = place.start(&send, &["netmap:pipe}7", "1000"]);
    assert_eq!((sender.done(), receiver.done()), (String::new(), String::new()));
}

#[test]
fn ports_of_a_switch_pass_what_it_sends_them() {
    let Some(place) = Place::new() else { return };
    let program = place.program("switch");
    let name = format!("nm{}", std::process::id());
    let (listener, mut switch) = (Listener::open(&name, None).unwrap(), Switch::new());
    let mut command = place.preloaded(&program, &[&name]);
    let mut program = Running(command.env_remove("XDG_RUNTIME_DIR").stdin(Stdio::piped()).spawn().unwrap());
    let (begun, mut told) = (Instant::now(), false);
    while program.0.try_wait().unwrap().is_none() && begun.elapsed() < PATIENCE {
        listener.admit(&mut switch);
        switch.poll(u64::try_from(begun.elapsed().as_nanos()).unwrap());
        if !told && switch.ports().len() == 3 {
            program.0.stdin.as_mut().unwrap().write_all(b"\n").unwrap();
            told = true;
        }
    }
    assert_eq!(program.done(), "");
}

#[test]
fn each_way_to_wait_ends_for_a_frame_or_by_its_time_out() {
    run("waits");
}

#[test]
fn nothing_that_a_program_writes_does_harm() {
    let said = run("hostile");
    if !said.is_empty() {
        for line in ["the ring is set back", "a frame that cannot be sent is dropped", "which is none"] {
            assert_eq!(said.matches(line).count(), 1, "{line}: {said}");
        }
    }
}

#[test]
fn a_ring_of_frames_that_cannot_be_sent_is_the_programs_again_at_once() {
    let said = run("refused");
    let slots = open(&format!("cable:refused-{}{{1", std::process::id())).unwrap().info().slots;
    let told = format!("linerate netmap: {} frames could not be sent and were dropped\n", 2 * (slots - 1) + 4);
    assert!(said.is_empty() || said.ends_with(&told), "{told}: {said}");
}

#[test]
fn a_frame_of_several_slots_is_never_joined_to_the_next_and_one_of_too_many_is_dropped_whole() {
    run("chains");
}

#[test]
fn requests_are_answered_or_refused_by_errno_with_one_line_each() {
    let said = run("requests");
    for line in said.lines() {
        assert!(line.starts_with("linerate netmap: ") && line.len() < 200, "{line}");
    }
    for what in ["SYNC_KLOOP_STOP", "CSB_ENABLE", "option CSB", "option 1234", "nr_cmd 3"] {
        assert!(said.is_empty() || said.matches(&format!("{what} is not served")).count() == 1, "{what}: {said}");
    }
    for what in
        ["null: has no host rings (SW): give it a port for them", "null:: a monitor sees ports that its own program"]
    {
        assert!(said.is_empty() || said.contains(what), "{what}: {said}");
    }
}

#[test]
fn host_rings_are_those_of_the_port_that_the_user_gives_for_them() {
    let Some(place) = Place::new() else { return };
    let mut command = place.preloaded(&place.program("host"), &[]);
    let table = "wire=cable:wire{1,queues=2\nwire^=cable:host{1\nmany=cable:many{1\nmany^=cable:crowd{1";
    assert_eq!(Running(command.env("LINERATE_NETMAP_PORTS", table).spawn().unwrap()).done(), "");
}

#[test]
fn a_monitor_gets_copies_of_what_a_port_sends_and_receives_and_holds_nothing_up() {
    run("monitors");
}

#[test]
fn a_program_runs_the_switch_that_nobody_runs_and_attaches_ports_to_it() {
    let Some(place) = Place::new() else { return };
    let mut command = place.preloaded(&place.program("attached"), &["lab"]);
    let table = "wire=cable:wire{1\nwire^=cable:host{1\ntwo=cable:two{1";
    let said = Running(command.env("LINERATE_NETMAP_PORTS", table).spawn().unwrap()).done();
    let told = "linerate netmap: two is attached to switch lab no longer: the program that attached it ends\n";
    assert_eq!(said.matches(told).count(), 1, "{said}");
    assert!(said.contains("per is attached to no switch; attach it first (VALE_ATTACH)"), "{said}");
}

#[test]
fn another_program_takes_part_in_the_switch_that_a_program_runs() {
    let Some(place) = Place::new() else { return };
    let [receive, send, attach] = ["receive", "send", "attach"].map(|name| place.program(name));
    let mut receiver = place.start(&receive, &["valelab:a", "500"]);
    assert_eq!(receiver.line(), "open\n");
    // What it attaches is a port of that switch.
    let table = "wire=cable:wire{1";
    let mut command = place.preloaded(&attach, &["valelab:wire"]);
    let mut attaches = Running(command.env("LINERATE_NETMAP_PORTS", table).stdin(Stdio::piped()).spawn().unwrap());
    assert_eq!(attaches.line(), "attached\n");
    let sender = place.start(&send, &["netmap:cable:wire}1", "500"]);
    assert_eq!((sender.done(), receiver.done()), (String::new(), String::new()));
    attaches.0.stdin.take();
    assert_eq!(attaches.done(), "");
}

#[test]
fn a_port_of_a_switch_has_virtio_nets_header_before_its_frames_if_it_is_asked_for() {
    run("headers");
}

#[test]
fn a_port_of_no_interface_has_the_rings_that_are_asked_for() {
    run("nowhere");
}

#[test]
fn a_program_without_descriptors_for_a_port_is_told_so() {
    let said = run("limits");
    assert_eq!(said.lines().filter(|line| !line.contains("Too many open files")).count(), 0, "{said}");
}

#[test]
fn two_rings_of_a_port_on_two_descriptors_stay_apart() {
    run("rings");
}

#[test]
fn what_a_sync_had_to_leave_is_sent_while_the_program_waits_for_something_else() {
    run("left");
}

/// On a slow wire, so that most of them have not left when the program ends.
#[test]
fn what_a_program_has_committed_leaves_before_it_ends() {
    let Some(place) = Place::new() else { return };
    let [receive, ends] = ["receive", "ends"].map(|name| place.program(name));
    for how in ["close", "exit"] {
        let mut receiver = place.start(&receive, &["netmap:cable:x{1,rate=10M", "500"]);
        assert_eq!(receiver.line(), "open\n");
        let sender = place.start(&ends, &["netmap:cable:x}1", "500", how]);
        assert_eq!((sender.done(), receiver.done()), (String::new(), String::new()));
    }
}

#[test]
fn epoll_tells_of_netmaps_descriptors_among_others() {
    run("epolls");
}

#[test]
fn buffers_are_exchanged_between_ports() {
    run("swap");
}

#[test]
fn a_poll_ends_when_another_thread_closes_its_descriptor() {
    run("closed");
}

#[test]
fn a_child_of_fork_has_its_own_and_the_parent_goes_on() {
    run("forks");
}

#[test]
fn parent_and_child_share_rings_after_fork_and_a_child_keeps_them_when_its_parent_ends() {
    let said = run("shared");
    for line in
        ["asks for nothing else there", "the process that opened a descriptor has ended", "is of another program's"]
    {
        assert!(said.is_empty() || said.matches(line).count() == 1, "{line}: {said}");
    }
}

#[test]
fn rings_and_buffers_lie_in_memory_that_the_program_brings_and_takes_back() {
    let said = run("extmem");
    assert!(said.lines().all(|line| line.contains("option EXTMEM: ") || line.contains("no room for")), "{said}");
}

#[test]
fn a_signal_handler_polls_and_syncs_the_rings_that_it_interrupted() {
    run("handlers");
}

#[test]
fn the_older_way_to_open_ports_sends_and_receives() {
    let Some(place) = Place::new() else { return };
    let mut command = place.preloaded(&place.program("older"), &[]);
    let table = "older{1=cable:older{1,buf=4096\nolder}1=cable:older}1,buf=4096";
    assert_eq!(Running(command.env("LINERATE_NETMAP_PORTS", table).spawn().unwrap()).done(), "");
}

#[test]
fn a_poll_is_told_of_an_error_when_its_switch_ends() {
    let Some(place) = Place::new() else { return };
    let program = place.program("over");
    let name = format!("over{}", std::process::id());
    let (listener, mut switch) = (Listener::open(&name, None).unwrap(), Switch::new());
    let mut command = place.preloaded(&program, &[&name]);
    let mut program = Running(command.env_remove("XDG_RUNTIME_DIR").spawn().unwrap());
    let (ends, ended) = std::sync::mpsc::channel();
    let mut out = program.0.stdout.take().unwrap();
    let reader = std::thread::spawn(move || {
        let _ = ends.send(out.read_exact(&mut [0; 4]).is_ok());
    });
    let begun = Instant::now();
    while ended.try_recv().is_err() && begun.elapsed() < PATIENCE {
        listener.admit(&mut switch);
        switch.poll(u64::try_from(begun.elapsed().as_nanos()).unwrap());
    }
    drop((listener, switch));
    reader.join().unwrap();
    assert_eq!(program.done(), "");
}

#[test]
fn a_fortified_program_is_served() {
    let Some(place) = Place::new() else { return };
    let program =
        place.compiled(Path::new("tests/programs/fortified.c"), &["-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2"]);
    place.start(&program, &[]).done();
}

#[test]
fn the_example_sends_and_receives() {
    let Some(place) = Place::new() else { return };
    let program = place.compiled(Path::new("../../examples/netmap_ends.c"), &[]);
    let mut receiver = place.start(&program, &["recv", "netmap:cable:x{1"]);
    let sender = place.start(&program, &["send", "netmap:cable:x}1"]);
    assert_eq!(receiver.line(), "60 bytes: hello\n");
    assert_eq!((sender.done(), receiver.done()), (String::new(), String::new()));
}

#[test]
fn the_peer_of_a_program_that_is_killed_sees_its_link_go_down() {
    let Some(place) = Place::new() else { return };
    let name = format!("cable:killed-{}", std::process::id());
    let port = open(&format!("{name}{{1")).unwrap();
    let program = place.program("receive");
    let until = |link| {
        let end = Instant::now() + PATIENCE;
        while port.link() != link {
            assert!(Instant::now() < end, "the link is not {link:?}");
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    for _ in 0..5 {
        let mut command = place.preloaded(&program, &[&format!("netmap:{name}}}1"), "1"]);
        let mut program = Running(command.env_remove("XDG_RUNTIME_DIR").spawn().unwrap());
        assert_eq!(program.line(), "open\n");
        until(Link::Up);
        program.0.kill().unwrap();
        until(Link::Down);
    }
}
