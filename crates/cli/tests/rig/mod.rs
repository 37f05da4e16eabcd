//! Processes of a test with virtual machines: each is read until it has said what it is to say, and ended in time.

use std::io::{BufRead, BufReader, PipeReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, MutexGuard, PoisonError};

/// How long each process may take for all it does, seconds: machines are emulated, on cores that others use too.
const LIMIT: &str = "280";

/// One test after the other: each has a machine, which is emulated on a core.
pub(crate) fn alone() -> MutexGuard<'static, ()> {
    static ALONE: Mutex<()> = Mutex::new(());
    ALONE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Whether the machines can run; says why not.
pub(crate) fn is_there() -> bool {
    let built = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/rig");
    let there = std::env::var_os("RIG").map_or(built, PathBuf::from).join("out/stamp").exists();
    if !there {
        println!("skipped: the virtual machines are not built: run ./test tools");
    }
    there
}

/// A file of the rig.
pub(crate) fn file(name: &str) -> String {
    format!("{}/tests/rig/{name}", env!("CARGO_MANIFEST_DIR"))
}

/// A process that is ended when nobody needs it any more.
pub(crate) struct Process {
    child: Child,
    said: BufReader<PipeReader>,
    all: String,
}

impl Process {
    /// Starts a program; what it says in either way is one text.
    pub(crate) fn start(program: &str, arguments: &[&str]) -> Self {
        let (reader, writer) = std::io::pipe().unwrap();
        let mut command = Command::new("timeout");
        command.args(["--foreground", "-k", "5", LIMIT, program]).args(arguments).stdin(Stdio::null());
        command.stdout(writer.try_clone().unwrap()).stderr(writer);
        let child = command.spawn().unwrap();
        Self { child, said: BufReader::new(reader), all: String::new() }
    }

    /// `linerate …`
    pub(crate) fn ours(arguments: &[&str]) -> Self {
        Self::start(env!("CARGO_BIN_EXE_linerate"), arguments)
    }

    /// A machine on one end of a UNIX datagram link.
    pub(crate) fn machine(role: &str, link: &str, arguments: &[&str]) -> Self {
        let limits = ["--timeout", "270", "--lun-timeout", "120"];
        let all = [&["--role", role, "--quiet", "--unix", link], &limits[..], arguments].concat();
        Self::start(&file("run-vm.sh"), &all)
    }

    /// Reads on until a line has these words.
    pub(crate) fn until(&mut self, words: &str) {
        let mut line = String::new();
        while !line.contains(words) {
            line.clear();
            assert!(self.said.read_line(&mut line).unwrap() > 0, "it ended without '{words}': {}", self.all);
            self.all += &line;
        }
    }

    /// Sends a signal, by its name.
    pub(crate) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-s", name, &pid]).status().unwrap().success());
    }

    /// Waits for its end: its exit code, and all it said.
    pub(crate) fn ended(&mut self) -> (Option<i32>, String) {
        self.said.read_to_string(&mut self.all).unwrap();
        (self.child.wait().unwrap().code(), self.all.clone())
    }

    /// Waits for its end, which is to be a good one: all it said.
    pub(crate) fn done(&mut self) -> String {
        let (code, said) = self.ended();
        assert_eq!(code, Some(0), "{said}");
        said
    }

    /// Ctrl-C, and what it said until then and after it.
    pub(crate) fn stop(&mut self) -> String {
        self.signal("INT");
        let (code, said) = self.ended();
        assert_eq!(code, Some(130), "{said}");
        said
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // Not SIGKILL: what it has started itself is to end too.
        if let Ok(None) = self.child.try_wait() {
            self.signal("TERM");
            let _ = self.child.wait();
        }
    }
}
