//! An HTTP server on a network stack of its own: `http_server PORT ADDRESS/BITS`, such as `http_server tap:tap0 10.0.0.2/24`.
//! Each connection has a thread; they use sockets as those of the standard library are used.

use linerate_rt::net::{Net, Options, TcpStream};
use std::io::{BufRead, BufReader, Result, Write};

fn serve(stream: TcpStream) -> Result<()> {
    let mut lines = BufReader::new(&stream).lines();
    loop {
        // A request: its first line, fields, an empty line.
        let Some(request) = lines.next().transpose()? else { return Ok(()) };
        while lines.next().transpose()?.is_some_and(|line| !line.is_empty()) {}
        let body = format!("You, {}, have asked for this:\n{request}\n", stream.peer_addr());
        let head = format!("HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: {}\r\n\r\n", body.len());
        (&stream).write_all(head.as_bytes())?;
        (&stream).write_all(body.as_bytes())?;
    }
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(port), Some(address)) = (words.next(), words.next()) else {
        return Err("give a port and an address, such as tap:tap0 10.0.0.2/24".into());
    };
    let net = Net::open(&port, address.parse()?, &Options::default())?;
    let listener = net.tcp_listen("0.0.0.0:80".parse()?)?;
    println!("serving at {address}");
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || {
            if let Err(error) = serve(stream) {
                eprintln!("{error}");
            }
        });
    }
    Ok(())
}
