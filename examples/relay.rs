//! A relay from linerate's TCP to the kernel's, a thread each way: `relay PORT ADDRESS/BITS LISTEN-PORT TO`, such as
//! `relay packet:v1 10.0.0.2/24 22 127.0.0.1:22`; then `ssh 10.0.0.2` comes to this machine by linerate's stack.

use linerate_rt::net::{Net, Options, TcpStream};
use std::net::Shutdown;
use std::thread;

/// Copies all bytes of one side to the other, and its end.
fn relay(from: TcpStream, to: std::net::TcpStream) -> std::io::Result<()> {
    let (back, mut there) = (from.clone(), to.try_clone()?);
    let answers = thread::spawn(move || {
        let copied = std::io::copy(&mut &to, &mut &back);
        let _ = back.shutdown(Shutdown::Write);
        copied
    });
    std::io::copy(&mut &from, &mut there)?;
    there.shutdown(Shutdown::Write)?;
    let _ = answers.join();
    Ok(())
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [port, address, listen, to] = &words[..] else {
        return Err(
            "give a port, an address, a TCP port and where it leads, such as packet:v1 10.0.0.2/24 22 127.0.0.1:22"
                .into(),
        );
    };
    let net = Net::open(port, address.parse()?, &Options::default())?;
    let listener = net.tcp_listen(([0, 0, 0, 0], listen.parse()?).into())?;
    println!("relaying from {address} to {to}");
    for stream in listener.incoming() {
        let (stream, to) = (stream?, to.clone());
        thread::spawn(move || {
            let done = std::net::TcpStream::connect(&to).and_then(|to| relay(stream, to));
            done.unwrap_or_else(|error| eprintln!("{to}: {error}"));
        });
    }
    Ok(())
}
