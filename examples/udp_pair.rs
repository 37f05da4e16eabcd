//! Two hosts at the ends of a virtual cable, which send each other datagrams, and the time that takes.

use linerate_rt::net::{Net, Options};
use std::time::Instant;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let ports = ["cable:pair{1", "cable:pair}1"];
    let addresses = ["10.0.0.1/24".parse()?, "10.0.0.2/24".parse()?];
    let [left, right] = Net::open_pair(ports, addresses, &Options::default())?;
    let server = right.udp_bind("10.0.0.2:7000".parse()?)?;
    let client = left.udp_bind("10.0.0.1:0".parse()?)?;
    client.connect(server.local_addr()?)?;
    let answers = std::thread::spawn(move || -> std::io::Result<()> {
        let mut buffer = [0; 2000];
        loop {
            let (n, from) = server.recv_from(&mut buffer)?;
            server.send_to(&buffer[..n], from)?;
            if n == 0 {
                return Ok(());
            }
        }
    });
    let (rounds, mut buffer, began) = (10_000, [0; 2000], Instant::now());
    for round in 0..rounds {
        let sent = format!("round {round}");
        client.send(sent.as_bytes())?;
        let n = client.recv(&mut buffer)?;
        assert_eq!(&buffer[..n], sent.as_bytes());
    }
    println!("{rounds} rounds, {:.1} us each", began.elapsed().as_secs_f64() * 1e6 / f64::from(rounds));
    client.send(b"")?;
    client.recv(&mut buffer)?;
    answers.join().map_err(|_| "the server has panicked")??;
    Ok(())
}
