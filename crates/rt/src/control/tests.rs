//! Tests of a server with well-behaved and hostile clients, and of calls into a machine.

use super::client::true_name;
use super::server::{Desk, QUIET};
use super::*;
use crate::sys::socket::{connect_at_once, listen_alone};
use crate::{Machine, Progress, Sleeper, Stop, WaitMode, Waiter, run};
use linerate_port::runtime_dir;
use linerate_text::saturating_ns;
use std::io::{ErrorKind, Read, Write};
use std::os::fd::AsFd;
use std::os::unix::fs::PermissionsExt;
use std::os::unix::net::UnixStream;
use std::path::PathBuf;
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

const KIND: &str = "test";
const LIMIT: Duration = Duration::from_secs(60);

fn unique(what: &str) -> String {
    format!("{what}-{}", std::process::id())
}

fn file(name: &str) -> PathBuf {
    name::path(&runtime_dir().unwrap(), KIND, name)
}

/// Repeats the words; `long N` answers with N bytes.
fn echo(words: &[&str]) -> Result<String, String> {
    match words {
        ["long", n] => Ok("x".repeat(n.parse().unwrap())),
        ["no", ..] => Err("it will not".into()),
        _ => Ok(words.join("|")),
    }
}

#[test]
fn a_request_is_words_and_its_answer_a_text_or_a_refusal() {
    let name = unique("words");
    let server = Server::listen(KIND, &name, echo).unwrap();
    assert_eq!(server.name(), name);
    assert_eq!(ask(KIND, &name, " vi  add\tx ").unwrap(), "vi|add|x");
    assert_eq!(ask(KIND, &name, "long 3000000").unwrap().len(), 3_000_000);
    assert!(matches!(ask(KIND, &name, "no"), Err(ControlError::Refused(why)) if why == "it will not"));
    assert!(matches!(ask(KIND, &name, "a\nb"), Err(ControlError::Request)));
    assert!(matches!(ask(KIND, &name, &"x".repeat(5000)), Err(ControlError::Request)));
    let longest = "x".repeat(session::LONGEST_REQUEST);
    assert_eq!(ask(KIND, &name, &longest).unwrap(), longest);
    assert_eq!(std::fs::metadata(file(&name)).unwrap().permissions().mode() & 0o777, 0o600);
    drop(server);
    assert!(!file(&name).exists());
    let nobody = ask(KIND, &name, "show").unwrap_err();
    assert_eq!(nobody.to_string(), format!("no test '{name}' runs as this user"));
}

#[test]
fn namesakes_are_numbered_and_listed() {
    let name = unique("packet:eth0/x");
    let long = unique(&"long".repeat(60));
    let all = [&name, &name, &long].map(|name| Server::listen(KIND, name, echo).unwrap());
    let second = format!("{name}#2");
    assert_eq!(all.each_ref().map(Server::name), [&name, &second, &long]);
    // Whoever does not say a long name within half a second is left out.
    let until_mine = |count| {
        let end = Instant::now() + LIMIT;
        let mine = || list(KIND).unwrap().into_iter().filter(|known| [&name, &second, &long].contains(&known)).count();
        while mine() != count {
            assert!(Instant::now() < end, "{} are listed, not {count}", mine());
        }
    };
    until_mine(3);
    assert_eq!(ask(KIND, &second, "two").unwrap(), "two");
    assert_eq!(ask(KIND, &long, "far").unwrap(), "far");
    let [first, ..] = all;
    drop(first);
    until_mine(2);
    let again = Server::listen(KIND, &name, echo).unwrap();
    assert_eq!(again.name(), name);
}

#[test]
fn a_socket_that_a_killed_process_left_is_replaced_and_not_listed() {
    let (left, replaced) = (unique("left"), unique("replaced"));
    for name in [&left, &replaced] {
        drop(listen_alone(&file(name)).unwrap());
        assert!(file(name).exists());
    }
    let server = Server::listen(KIND, &replaced, echo).unwrap();
    assert_eq!(ask(KIND, &replaced, "here").unwrap(), "here");
    let names = list(KIND).unwrap();
    assert!(names.contains(&replaced) && !names.contains(&left));
    assert!(!file(&left).exists(), "it is removed");
    drop(server);
}

/// Whoever has the place does not speak: a process that is stopped, or none of ours.
#[test]
fn a_silent_holder_of_a_name_delays_nobody_for_ever() {
    let name = unique("silent");
    let silent = listen_alone(&file(&name)).unwrap();
    let server = Server::listen(KIND, &name, echo).unwrap();
    assert_eq!(server.name(), format!("{name}#2"));
    assert!(true_name(&file(&name)).is_none());
    assert!(matches!(ask(KIND, &name, "x"), Err(ControlError::Silent { .. })));
    drop(silent);
    std::fs::remove_file(file(&name)).unwrap();
}

fn connect(name: &str) -> UnixStream {
    let until = Instant::now() + LIMIT;
    loop {
        match connect_at_once(&file(name)) {
            Err(e) if e.kind() == ErrorKind::WouldBlock && Instant::now() < until => {
                std::thread::sleep(Duration::from_millis(1));
            }
            stream => return stream.unwrap(),
        }
    }
}

/// Waits until the server has given a client up.
fn given_up(mut stream: UnixStream) -> usize {
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    let mut bytes = Vec::new();
    match stream.read_to_end(&mut bytes) {
        Err(e) if e.kind() == ErrorKind::WouldBlock => panic!("it is still served"),
        _ => bytes.len(),
    }
}

#[test]
fn hostile_clients_keep_nobody_from_being_served() {
    let name = unique("hostile");
    let server = Server::listen(KIND, &name, echo).unwrap();
    let served = || assert_eq!(ask(KIND, &name, "still here").unwrap(), "still|here");
    // Garbage, no text, too much, two requests at once: no answer.
    for garbage in [&b"\xff\xfe\n"[..], &[0; 9000], b"show\nshow\n", &b"x".repeat(5000)] {
        let mut stream = connect(&name);
        // The server may have given it up before all was written.
        let _ = stream.write_all(garbage);
        assert_eq!(given_up(stream), 0, "{garbage:?}");
    }
    // Half a request, and none: dropped for others, or after two seconds.
    let half = connect(&name);
    (&half).write_all(b"sho").unwrap();
    let silent = connect(&name);
    served();
    assert_eq!([given_up(half), given_up(silent)], [0, 0]);
    // More silent ones than there are places, ten thousand in all.
    let mut many = std::collections::VecDeque::new();
    for n in 0..10_000 {
        many.push_back(connect(&name));
        if many.len() > 100 {
            many.pop_front();
        }
        if n % 1000 == 0 {
            served();
        }
    }
    served();
    // Answers that nobody reads; each is larger than a socket's buffers.
    let unread: Vec<_> = (0..40)
        .map(|_| {
            let mut stream = connect(&name);
            // It may have been given up for the next one already.
            let _ = stream.write_all(b"long 4000000\n");
            stream
        })
        .collect();
    served();
    drop(unread);
    drop(many);
    served();
    drop(server);
}

/// Regression: who was taking its answer was dropped for those that only connect.
#[test]
fn who_takes_its_answer_is_not_dropped_for_those_that_only_connect() {
    const LONG: usize = 4_000_000;
    let name = unique("taking");
    let (mut desk, path) = Desk::open(KIND, &name, echo).unwrap();
    // Its own clock: how long anybody takes is no matter. The limit of an answer is the system's.
    let begin = crate::monotonic_ns();
    let mut slow = connect(&name);
    slow.write_all(format!("long {LONG}\n").as_bytes()).unwrap();
    let (mut bytes, mut chunk) = (Vec::new(), vec![0; 1 << 20]);
    let mut take = |desk: &mut Desk<_>, least: usize| {
        while bytes.len() < least {
            desk.handle(begin);
            match slow.read(&mut chunk) {
                Ok(0) => break,
                Ok(n) => bytes.extend_from_slice(&chunk[..n]),
                Err(e) => assert_eq!(e.kind(), ErrorKind::WouldBlock),
            }
        }
        bytes.len()
    };
    // More than a socket holds: the server has sent some after the first.
    take(&mut desk, 1 << 20);
    let silent: Vec<_> = (0..100)
        .map(|_| {
            let silent = connect(&name);
            desk.handle(begin + saturating_ns(QUIET) / 2);
            silent
        })
        .collect();
    let whole = LONG + "ok 4000000\n".len();
    assert_eq!(take(&mut desk, whole), whole);
    drop(silent);
    std::fs::remove_file(path).unwrap();
}

/// Counts its turns, and sleeps on nothing but calls.
struct Sleepy {
    callee: Callee<u64>,
    turns: u64,
    called: u64,
}

impl Machine for Sleepy {
    fn handle(&mut self, _: u64) -> Progress {
        self.turns += 1;
        match self.callee.serve(&mut self.called) {
            true if self.called == 3 => Progress::Done,
            true => Progress::Worked,
            false => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        visit(&mut self.callee.sleep());
    }

    fn stop(&mut self, _: u64) {}
}

#[test]
fn a_call_runs_in_the_machines_thread_and_wakes_it_once() {
    let callee = callee().unwrap();
    let mut caller = callee.caller();
    let machine = std::thread::spawn(|| {
        let mut machine = Sleepy { callee, turns: 0, called: 0 };
        run(&mut machine, &mut Waiter::new(WaitMode::Sleep), &Stop::new().unwrap());
        (machine.turns, std::thread::current().id())
    });
    let id = machine.thread().id();
    for n in 1..=3 {
        let call = move |called: &mut u64| {
            *called = n;
            std::thread::current().id()
        };
        assert_eq!(caller.call(call), Ok(id));
        // Time in which a machine that does not sleep would have many turns.
        std::thread::sleep(Duration::from_millis(20));
    }
    let (turns, _) = machine.join().unwrap();
    assert!(turns < 20, "{turns} turns: the bell goes on ringing");
    assert_eq!(caller.call(|_| ()), Err(CallError::Ended));
}

#[test]
fn calls_that_wait_end_with_the_machine_or_are_given_up() {
    let callee = callee::<u64>().unwrap();
    let (called, told) = channel();
    let mut caller = callee.caller();
    std::thread::spawn(move || called.send(caller.call(|n| *n = 1)).unwrap());
    // Nobody serves it in time; then it is not made either.
    assert_eq!(told.recv_timeout(LIMIT).unwrap(), Err(CallError::Busy));
    let mut never = 0;
    callee.serve(&mut never);
    assert_eq!(never, 0);
    // A call that has begun is waited for.
    let (called, told) = channel();
    let mut caller = callee.caller();
    let slow = |n: &mut u64| {
        std::thread::sleep(super::call::LIMIT + Duration::from_millis(200));
        *n += 1;
        *n
    };
    std::thread::spawn(move || called.send(caller.call(slow)).unwrap());
    let (mut state, until) = (0, Instant::now() + LIMIT);
    while state == 0 {
        assert!(Instant::now() < until, "it was given up before it began");
        std::thread::sleep(Duration::from_millis(1));
        callee.serve(&mut state);
    }
    assert_eq!(told.recv_timeout(LIMIT).unwrap(), Ok(1));
    let (called, told) = channel();
    let mut caller = callee.caller();
    std::thread::spawn(move || called.send(caller.call(|_| ())).unwrap());
    drop(callee);
    assert_eq!(told.recv_timeout(LIMIT).unwrap(), Err(CallError::Ended));
}

/// A machine whose calls take long is called no more often than for a tenth of its time, unless they take longer than a tenth of
/// a second: no caller waits for more than a second.
#[test]
fn calls_leave_a_machine_its_time() {
    let callee = callee::<u64>().unwrap();
    let mut caller = callee.caller();
    let (ended, end) = channel();
    std::thread::spawn(move || {
        let slow = |_: &mut u64| {
            let began = Instant::now();
            std::thread::sleep(Duration::from_millis(1));
            (began, Instant::now())
        };
        ended.send([(); 5].map(|()| caller.call(slow).unwrap())).unwrap();
    });
    let until = Instant::now() + LIMIT;
    let calls = loop {
        if let Ok(calls) = end.try_recv() {
            break calls;
        }
        assert!(Instant::now() < until);
        callee.serve(&mut 0);
        crate::sys::poll::readable(&[callee.sleep().on.unwrap().0.as_fd()], Some(Duration::from_millis(1)));
    };
    for two in calls.windows(2) {
        let ((began, ended), (next, _)) = (two[0], two[1]);
        let (took, rest) = (ended - began, next - ended);
        assert!(rest >= (9 * took).min(Duration::from_secs(1)), "{rest:?} after {took:?}");
    }
}
