//! Clauses of TCP, by scripts: each cites what it is of, and fails without it.

mod host;
mod script;
mod segment;

macro_rules! scripts {
    ($($name:ident: $file:literal,)*) => {
        $(#[test]
        fn $name() {
            script::run($file, include_str!(concat!("tcp/", $file)));
        })*
    };
}

scripts! {
    opening_and_closing: "connection.txt",
    options_and_challenges: "options.txt",
    cookies: "cookies.txt",
    marks_of_congestion: "ecn.txt",
    fast_open: "fastopen.txt",
    losses: "loss.txt",
    memory: "memory.txt",
    longest_segments: "mtu.txt",
    pacing: "pace.txt",
    windows_and_acknowledgements: "windows.txt",
}
