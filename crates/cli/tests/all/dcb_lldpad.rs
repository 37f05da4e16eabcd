//! Tests of `linerate dcb up` beside lldpad, the agent of Linux hosts: each pair of willing and not, both versions of DCBX, each
//! kind of port on an interface of Linux. The driver that lldpad programs is made up (tests/rig/dcb/dcbnl.c).
#![cfg(target_os = "linux")]

use crate::process::{BINARY, LIMIT, Process, until};
use crate::rig;
use crate::switch_rig::{ip, quiet};
use linerate_host::{Namespace, Rtnetlink, VethPair};
use linerate_skip::{is_installed, skip};
use serde_json::{Value, json};
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use Whose::{All, Nobodys, Ours, Theirs};

/// Our settings: priority 3 is of class 1, which has 40 percent, and lossless; FCoE and FIP have it.
const OURS: &str =
    "--ets prio-tc 3:1 tc-tsa 0:ets 1:ets tc-bw 0:60 1:40 --pfc prio 3 --app ethtype 0x8906:3 0x8914:3 --seconds 300";
/// An application: selector, protocol and priority.
type App = (u8, u16, u8);
/// iSCSI's, of lldpad alone.
const ISCSI: App = (4, 3260, 4);

/// The end whose settings are operative at an end.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Whose {
    Ours,
    Theirs,
    /// Both ends', of applications.
    All,
    /// Flow control of ends that do not go together.
    Nobodys,
}

impl Whose {
    /// Priority of class 1, and its share.
    fn class(self) -> (usize, u8) {
        if self == Ours { (3, 40) } else { (4, 80) }
    }

    fn classes(self) -> Value {
        let (priority, share) = self.class();
        let mut of = [0; 8];
        of[priority] = 1;
        json!({ "prio_tc": of, "tc_bw": [100 - share, share, 0, 0, 0, 0, 0, 0] })
    }

    fn pfc(self) -> Vec<usize> {
        if self == Nobodys { vec![] } else { vec![self.class().0] }
    }

    fn apps(self) -> BTreeSet<App> {
        let (own, priority) = (self != Ours, if self == Theirs { 4 } else { 3 });
        let all = [(1, 0x8906, priority), (1, 0x8914, priority)];
        all.into_iter().chain(own.then_some(ISCSI)).collect()
    }
}

/// Two ends: whether each is willing, and whose settings end operative at each, ours first.
#[derive(Debug)]
struct Pair {
    version: &'static str,
    willing: [bool; 2],
    /// lldpad's MAC address is the lower one.
    lower: bool,
    ets: [Whose; 2],
    pfc: [Whose; 2],
    app: [Whose; 2],
}

const fn pair(
    version: &'static str,
    willing: [bool; 2],
    lower: bool,
    ets: [Whose; 2],
    pfc: [Whose; 2],
    app: [Whose; 2],
) -> Pair {
    Pair { version, willing, lower, ets, pfc, app }
}

/// IEEE's flow control of two that are willing is of the lower MAC address; lldpad has that the other way round, so it follows
/// if it has the lower one, and keeps its own if not. Its IEEE applications are always those of both.
const PAIRS: [Pair; 9] = [
    pair("ieee", [false, false], true, [Ours, Theirs], [Ours, Theirs], [Ours, All]),
    pair("ieee", [false, true], true, [Ours, Ours], [Ours, Ours], [Ours, All]),
    pair("ieee", [true, false], false, [Theirs, Theirs], [Theirs, Theirs], [All, All]),
    pair("ieee", [true, true], true, [Theirs, Ours], [Theirs, Theirs], [All, All]),
    pair("ieee", [true, true], false, [Theirs, Ours], [Ours, Theirs], [All, All]),
    pair("cee", [false, false], true, [Ours, Theirs], [Nobodys, Nobodys], [Ours, Theirs]),
    pair("cee", [false, true], true, [Ours, Ours], [Ours, Ours], [Ours, Ours]),
    pair("cee", [true, false], false, [Theirs, Theirs], [Theirs, Theirs], [Theirs, Theirs]),
    pair("cee", [true, true], false, [Ours, Theirs], [Nobodys, Nobodys], [Ours, Theirs]),
];

impl Pair {
    fn is_cee(&self) -> bool {
        self.version == "cee"
    }

    /// lldpad's settings file: 20:80, priority 4 lossless, and its applications.
    fn conf(&self) -> String {
        let willing = u8::from(self.willing[1]);
        let (tsa, of) =
            ("0:ets,1:ets,2:strict,3:strict,4:strict,5:strict,6:strict,7:strict", "0:0,1:0,2:0,3:0,4:1,5:0,6:0,7:0");
        let ets = format!("enableTx = true; tsa = \"{tsa}\"; up2tc = \"{of}\"; tcbw = \"20,80,0,0,0,0,0,0\";");
        let ieee = format!(
            "tlvid0080c209: {{ willing = {willing}; {ets} }}; tlvid0080c20a: {{ {ets} }};
            tlvid0080c20b: {{ enableTx = true; willing = {willing}; enabled = 16; }};
            tlvid0080c20c: {{ enableTx = true; APP0 = \"4,4,3260\"; }};"
        );
        let groups = "{ traffic_class_mapping = [0, 0, 0, 0, 1, 0, 0, 0]; bandwidth_group_mapping = [0, 1, 2, 3, 4, 5, 6, 7];
            percent_of_bandwidth_group = [100, 100, 100, 100, 100, 100, 100, 100]; strict_priority = [0, 0, 0, 0, 0, 0, 0, 0]; };";
        let way = |name| {
            format!("pg_{name}_bwg_alloc = [20, 80, 0, 0, 0, 0, 0, 0]; pg_{name}_traffic_attribs_type: {groups}\n")
        };
        let feature = |name: &str, more: &str| {
            format!("{name}_enable = 1; {name}_advertise = 1; {name}_willing = {willing}; {more}\n")
        };
        let app = |n| format!("app_{n}: {{ {} }};\n", feature("app", "app_cfg = \"10\";"));
        let cee = [
            feature("pfc", "pfc_admin_mode = [0, 0, 0, 0, 1, 0, 0, 0];"),
            feature("pg", "bwg_description = [\"\", \"\", \"\", \"\", \"\", \"\", \"\", \"\"];"),
            way("tx") + &way("rx"),
            app(0) + &app(1) + &app(2),
        ];
        // Of versions, 6 is CEE's alone; 2 of DCB is what is found.
        let (version, enable) = if self.is_cee() { (6, 1) } else { (2, 2) };
        format!(
            "dcbx: {{ version = \"1.0\"; dcbx_version = {version}; dcb1: {{ dcb_enable = {enable}; {} }}; }};
            lldp: {{ dcb1: {{ adminStatus = 3; tlvid001b2102: {{ enableTx = true; }}; {} }}; }};\n",
            cee.concat(),
            if self.is_cee() { "" } else { &ieee }
        )
    }

    /// Views that each end is to have in the end: `us` the document of ours, `them` what lldpad has programmed, `told` what
    /// lldptool says of us.
    fn wanted(&self) -> Value {
        let willing = self.willing;
        let conflict = self.pfc[0] == Nobodys;
        let mut programmed = self.app[1].apps();
        let neighbour = if self.is_cee() {
            // Of CEE's applications lldpad programs two: FCoE and iSCSI.
            programmed.insert(ISCSI);
            programmed.retain(|app| app.1 != 0x8914);
            json!({ "willing": [willing[1], willing[1]], "ets": Theirs.classes(), "reco": null, "pfc": Theirs.pfc(),
                "app": Theirs.apps() })
        } else {
            json!({ "willing": [willing[1], willing[1]], "ets": self.ets[1].classes(), "reco": Theirs.classes(),
                "pfc": self.pfc[1].pfc(), "app": All.apps() })
        };
        json!({
            "us": { "dcbx": self.version, "ets": self.ets[0].classes(), "pfc": self.pfc[0].pfc(), "app": self.app[0].apps(),
                "conflict": { "pfc": conflict, "app": conflict } },
            "neighbour": neighbour,
            "them": { "ets": self.ets[1].classes(), "pfc": self.pfc[1].pfc(), "app": programmed },
            "told": self.told(conflict),
        })
    }

    /// Text of lldptool about us.
    fn told(&self, conflict: bool) -> String {
        let pairs = |separator: &str, of: &dyn Fn(usize) -> String| {
            (0..8).map(|n| format!("{n}:{}", of(n))).collect::<Vec<_>>().join(separator)
        };
        let share = |whose: Whose, class: usize| match class {
            0 => 100 - whose.class().1,
            1 => whose.class().1,
            _ => 0,
        };
        if self.is_cee() {
            let willing = if self.willing[0] { "Willing" } else { "Not Willing" };
            let error = if conflict { "Error" } else { "No Error" };
            let shares = pairs(" ", &|class| format!("{}%", share(Ours, class)));
            return format!(
                "Priority Groups TLV: Enabled, {willing}, No Error PGID Priorities: 0:[0,1,2,4,5,6,7] 1:[3] PGID Percentages: \
                 {shares} Number of TC's supported: 8 Priority Flow Control TLV: Enabled, {willing}, {error} PFC enabled \
                 priorities: 3 Number of TC's supported: 8 Application TLV: Enabled, {willing}, {error} Ethertype: 0x8906, \
                 Priority Map: 0x08 Ethertype: 0x8914, Priority Map: 0x08 End of LLDPDU TLV"
            );
        }
        let willing = if self.willing[0] { "yes" } else { "no" };
        let ets = |whose: Whose| {
            let of = pairs(" ", &|priority| u8::from(priority == whose.class().0).to_string());
            let shares: Vec<String> = (0..8).map(|class| format!("{}%", share(whose, class))).collect();
            let tsa = pairs(" ", &|class| if class < 2 { "ets" } else { "strict" }.to_owned());
            format!("PRIO_MAP: {of} TC Bandwidth: {} TSA_MAP: {tsa}", shares.join(" "))
        };
        format!(
            "IEEE 8021QAZ ETS Configuration TLV Willing: {willing} CBS: not supported MAX_TCS: 8 {} IEEE 8021QAZ ETS \
             Recommendation TLV {} IEEE 8021QAZ PFC TLV Willing: {willing} MACsec Bypass Capable: no PFC capable traffic classes: 8 \
             PFC enabled: {} IEEE 8021QAZ APP TLV App# 0 Prio 3 Sel 1 P-ID Ethertype: 0x8906 App# 1 Prio 3 Sel 1 P-ID Ethertype: \
             0x8914 End of LLDPDU TLV",
            ets(self.ets[0]),
            ets(Ours),
            self.pfc[0].class().0
        )
    }
}

/// lldpad, from a folder of its own with all its libraries, and the driver that is made up for it.
struct Lldpad {
    root: PathBuf,
    dir: tempfile::TempDir,
}

impl Lldpad {
    /// Skipped if it is not there, or there is no compiler for the driver.
    fn new() -> Option<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/lldpad");
        if !root.join("usr/sbin/lldpad").exists() || !is_installed("cc") {
            skip!("lldpad or a C compiler is not there: run ./test tools");
            return None;
        }
        let dir = tempfile::tempdir().unwrap();
        let made = Command::new("cc")
            .args(["-O1", "-shared", "-fPIC", "-o"])
            .arg(dir.path().join("dcbnl.so"))
            .arg(rig::file("dcb/dcbnl.c"))
            .output()
            .unwrap();
        assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
        Some(Self { root, dir })
    }

    /// Words that start one of its programs.
    fn words(&self, program: &str, options: &[&str]) -> Vec<String> {
        let libraries = std::fs::read_dir(self.root.join("usr/lib")).unwrap().map(|entry| entry.unwrap().path());
        let libraries = libraries.into_iter().find(|at| at.join("libc.so.6").exists()).unwrap();
        let mut loader = std::fs::read_dir(&libraries).unwrap().map(|entry| entry.unwrap().path());
        let loader = loader.find(|at| at.file_name().unwrap().to_string_lossy().starts_with("ld-linux")).unwrap();
        let path = |path: &Path| path.to_str().unwrap().to_owned();
        let mut words = vec![path(&loader), "--library-path".to_owned(), path(&libraries)];
        words.extend(options.iter().map(|word| (*word).to_owned()));
        words.push(path(&self.root.join("usr/sbin").join(program)));
        words
    }

    /// Starts it on the interface `dcb1` of this thread's network; it ends with this thread, however that ends.
    fn start(&self, place: &Path, conf: &str) -> Process {
        std::fs::write(place.join("conf"), conf).unwrap();
        let shim = self.dir.path().join("dcbnl.so");
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "unshare", "--ipc", "--mount", "sh", "-c"]);
        command
            .args(["mount -t tmpfs none /run && mount -t tmpfs none /dev/shm && mkdir /run/lock && exec \"$@\"", "sh"]);
        command.args(self.words("lldpad", &["--preload", shim.to_str().unwrap()])).args(["-V", "7", "-f"]);
        command.arg(place.join("conf")).env("DCBNL", place.join("programmed"));
        Process::start(command)
    }

    /// Text of lldptool about us, behind our time to live and, in CEE, the numbers of settings that each end has acknowledged.
    fn told(&self, document: &Value) -> String {
        let words = self.words("lldptool", &[]);
        let out = Command::new("timeout").arg("20").args(words).args(["get-tlv", "-n", "-i", "dcb1"]).output().unwrap();
        let text = String::from_utf8(out.stdout).unwrap();
        let text = text.split_whitespace().collect::<Vec<_>>().join(" ");
        let cee = &document["neighbours"][0]["cee"];
        let numbers = format!("CEE DCBX TLV Control TLV: SeqNo: {}, AckNo: {} ", cee["acknowledged"], cee["sequence"]);
        let tlvs = text.split_once("Time to Live TLV 121 ").map_or(&*text, |(_, tlvs)| tlvs);
        tlvs.strip_prefix(&numbers).unwrap_or(tlvs).to_owned()
    }
}

/// Settings that lldpad has programmed last.
fn programmed(place: &Path) -> Option<Value> {
    let lines = std::fs::read_to_string(place.join("programmed")).ok()?;
    let last: Value = serde_json::from_str(lines.lines().last()?).ok()?;
    let app: BTreeSet<App> = serde_json::from_value(last["app"].clone()).unwrap();
    let pfc: Vec<u64> = (0..8).filter(|priority| last["pfc"].as_u64().unwrap() >> priority & 1 == 1).collect();
    Some(json!({ "ets": { "prio_tc": last["prio_tc"], "tc_bw": last["tc_bw"] }, "pfc": pfc, "app": app }))
}

/// Our end's document: what is operative, and what the neighbour has said.
fn documents(place: &Path, port: &str, version: &str) -> (Value, Value, Value) {
    let mut command = Command::new(BINARY);
    let out = command.env("XDG_RUNTIME_DIR", place).args(["dcb", "show", "-i", port, "--json"]).output().unwrap();
    let document: Value = serde_json::from_slice(&out.stdout).unwrap_or_else(|e| panic!("{e}: {out:?}"));
    let classes = |ets: &Value| {
        let is_right = *ets == Value::Null || (ets["tc_tsa"][1] == "ets" && ets["tc_tsa"][2] == "strict");
        assert!(is_right, "{ets}");
        if *ets == Value::Null { Value::Null } else { json!({ "prio_tc": ets["prio_tc"], "tc_bw": ets["tc_bw"] }) }
    };
    let apps = |list: &Value| {
        let of = |app: &Value| {
            let number = |name: &str| app[name].as_u64().unwrap();
            let selector = if app["selector"] == "ethtype" { 1 } else { 4 };
            (selector, u16::try_from(number("protocol")).unwrap(), u8::try_from(number("prio")).unwrap())
        };
        list.as_array().map(|list| list.iter().map(of).collect::<BTreeSet<App>>())
    };
    let operative = &document["operative"];
    let us = json!({ "dcbx": document["dcbx"], "ets": classes(&operative["ets"]), "pfc": operative["pfc"],
        "app": apps(&operative["app"]), "conflict": document["conflict"] });
    let said = &document["neighbours"][0][version];
    let ets = &said[if version == "cee" { "pg" } else { "ets" }];
    let neighbour = json!({ "willing": [ets["willing"], said["pfc"]["willing"]], "ets": classes(&ets["configuration"]),
        "reco": classes(&said["recommendation"]), "pfc": said["pfc"]["prio"], "app": apps(&said["app"]) });
    (us, neighbour, document)
}

/// Lets both ends of a link negotiate, in lldpad's network, until each shows what is wanted.
fn converge(lldpad: &Lldpad, kind: &str, pair: &Pair, spaces: &[Namespace; 2]) {
    let place = tempfile::tempdir().unwrap();
    let place = place.path();
    let (port, space) = if kind == "tap" { ("tap:dcb1".to_owned(), 1) } else { (format!("{kind}:dcb0"), 0) };
    let _link = (space == 0).then(|| {
        let made = || {
            let link = VethPair::new(["dcb0", "dcb1"], 1, 1500).unwrap();
            Rtnetlink::open().unwrap().move_to("dcb1", &spaces[1]).unwrap();
            link.set_up("dcb0", true).unwrap();
            link
        };
        spaces[0].run_in(made).unwrap()
    });
    let yes = if pair.willing[0] { "yes" } else { "no" };
    let dcbx = if kind == "packet" { pair.version } else { "auto" };
    let mut command = Command::new(BINARY);
    command.env("XDG_RUNTIME_DIR", place).args(["dcb", "up", "-i", &port, "--dcbx", dcbx, "--willing", yes]);
    command.args(OURS.split(' '));
    let ours = spaces[space].run_in(|| Process::ready(command, "dcbx off (no peer)")).unwrap();
    let mac = if pair.lower { "02:00:00:00:00:01" } else { "fe:ff:ff:ff:ff:fe" };
    ip(&spaces[1], &format!("link set dcb1 address {mac} up")).unwrap();
    // Who speaks first is heard first, which decides where both follow the other: it is to be lldpad.
    until("our first unit is sent, which nobody hears", || {
        documents(place, &port, pair.version).2["counters"]["sent"] != 0
    });
    let capture = (kind == "packet" && pair.willing == [true, false]).then(|| Capture::start(place)).flatten();
    let theirs = lldpad.start(place, &pair.conf());
    let (wanted, deadline) = (pair.wanted(), Instant::now() + LIMIT);
    loop {
        let (us, neighbour, document) = documents(place, &port, pair.version);
        let now =
            json!({ "us": us, "neighbour": neighbour, "them": programmed(place), "told": lldpad.told(&document) });
        if now == wanted {
            let counters = &document["counters"];
            let refused = [&counters["dropped"], &counters["tlvs_discarded"], &counters["changes_held"]];
            assert_eq!(refused, [&json!({}), &json!({}), &json!(0)], "{kind} {pair:?}");
            break;
        }
        assert!(Instant::now() < deadline, "{kind} {pair:?}: there is\n{now}\nand not\n{wanted}");
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    ours.stop();
    theirs.signal("TERM");
    theirs.end();
    if let Some(capture) = capture {
        capture.check(pair);
    }
}

/// Frames of LLDP on `dcb1`.
struct Capture {
    process: Process,
    file: PathBuf,
}

impl Capture {
    fn start(place: &Path) -> Option<Self> {
        if !is_installed("tshark") || !is_installed("dumpcap") {
            skip!("tshark is not installed");
            return None;
        }
        let file = place.join("pcap");
        let mut command = Command::new("setpriv");
        command
            .args(["--pdeathsig", "KILL", "dumpcap", "-P", "-q", "-i", "dcb1", "-f", "ether proto 0x88cc", "-w"])
            .arg(&file);
        Some(Self { process: Process::ready(command, "File:"), file })
    }

    /// tshark decodes each frame, and its experts warn of nothing.
    fn check(self, pair: &Pair) {
        let frames = || {
            let fields = ["eth.src", "lldp.time_to_live", "_ws.malformed", "_ws.expert.severity", "_ws.expert.message"];
            let mut command = Command::new("tshark");
            command.args(["-n", "-T", "fields", "-r"]).arg(&self.file);
            let out = command.args(fields.iter().flat_map(|field| ["-e", field])).output().unwrap();
            String::from_utf8(out.stdout).unwrap().lines().map(str::to_owned).collect::<Vec<_>>()
        };
        until("our last frame is written", || frames().iter().filter(|line| line.contains("\t0\t")).count() > 0);
        self.process.signal("INT");
        self.process.end();
        let frames = frames();
        let theirs = frames.iter().filter(|line| line.starts_with("fe:ff")).count();
        assert!(theirs >= 2 && frames.len() - theirs >= 2, "{pair:?}: {frames:?}");
        let complaints: Vec<&String> =
            frames.iter().filter(|line| line.split('\t').skip(2).any(|word| !word.is_empty())).collect();
        assert!(complaints.is_empty(), "{pair:?}: {complaints:?}");
    }
}

/// Walks all pairs at once: each waits for its timers.
fn walk(kind: &str) {
    let Some(lldpad) = Lldpad::new() else { return };
    let spaces = PAIRS.iter().map(|_| Some([quiet()?, quiet()?]));
    let Some(spaces) = spaces.collect::<Option<Vec<_>>>() else { return };
    std::thread::scope(|scope| {
        for (pair, spaces) in PAIRS.iter().zip(&spaces) {
            let lldpad = &lldpad;
            scope.spawn(move || spaces[1].run_in(|| converge(lldpad, kind, pair, spaces)).unwrap());
        }
    });
}

#[test]
fn lldpad_and_a_packet_socket_agree() {
    walk("packet");
}

#[test]
fn lldpad_and_xdp_agree() {
    walk("xdp");
}

#[test]
fn lldpad_and_a_tap_device_agree() {
    walk("tap");
}
