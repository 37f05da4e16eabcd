//! An echo server over TCP (RFC 862), a thread for each connection: `echo PORT ADDRESS/BITS`, such as
//! `echo tap:tap0 10.0.0.2/24`.

use linerate_rt::net::{Net, Options};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut words = std::env::args().skip(1);
    let (Some(port), Some(address)) = (words.next(), words.next()) else {
        return Err("give a port and an address, such as tap:tap0 10.0.0.2/24".into());
    };
    let net = Net::open(&port, address.parse()?, &Options::default())?;
    let listener = net.tcp_listen("0.0.0.0:7".parse()?)?;
    println!("echoing at {address}");
    for stream in listener.incoming() {
        let stream = stream?;
        std::thread::spawn(move || match std::io::copy(&mut &stream, &mut &stream) {
            Ok(bytes) => println!("{}: {bytes} bytes", stream.peer_addr()),
            Err(error) => println!("{}: {error}", stream.peer_addr()),
        });
    }
    Ok(())
}
