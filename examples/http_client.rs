//! An HTTP client on a network stack of its own: `http_client PORT ADDRESS/BITS SERVER:PORT PATH`, such as
//! `http_client tap:tap0 10.0.0.2/24 10.0.0.1:80 /index.html`. It prints what the server answers.

use linerate_rt::net::{Net, Options};
use std::io::{Read, Write};
use std::net::{Shutdown, SocketAddr};
use std::time::Duration;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [port, address, server, path] = &words[..] else {
        return Err("give a port, an address, a server and a path, such as tap:tap0 10.0.0.2/24 10.0.0.1:80 /".into());
    };
    let net = Net::open(port, address.parse()?, &Options::default())?;
    let server: SocketAddr = server.parse()?;
    let mut stream = net.tcp_connect_timeout(server, Duration::from_secs(10))?;
    stream.set_read_timeout(Some(Duration::from_secs(10)));
    write!(stream, "GET {path} HTTP/1.1\r\nHost: {server}\r\nConnection: close\r\n\r\n")?;
    stream.shutdown(Shutdown::Write)?;
    let mut answer = Vec::new();
    stream.read_to_end(&mut answer)?;
    std::io::stdout().write_all(&answer)?;
    Ok(())
}
