//! IP over a port: a [`Node`] for one thread that does everything itself, and a [`Net`] whose sockets are used like the
//! standard library's.
//!
//! ```
//! use linerate_rt::net::{Net, Options};
//!
//! // Two hosts at the two ends of a virtual cable; instead of a cable, any port will do: `tap:tap0`, `xdp:eth0`.
//! let [left, right] = Net::open_pair(
//!     ["cable:readme{1", "cable:readme}1"],
//!     ["10.0.0.1/24".parse()?, "10.0.0.2/24".parse()?],
//!     &Options::default(),
//! )?;
//! let server = right.udp_bind("10.0.0.2:7000".parse()?)?;
//! let client = left.udp_bind("0.0.0.0:0".parse()?)?;
//! client.send_to(b"hello", "10.0.0.2:7000".parse()?)?;
//! let mut buffer = [0; 1500];
//! let (n, from) = server.recv_from(&mut buffer)?;
//! assert_eq!(&buffer[..n], b"hello");
//! server.send_to(&buffer[..n], from)?;
//! assert_eq!(client.recv_from(&mut buffer)?.0, 5);
//!
//! // TCP, with `std::io::Read` and `Write`.
//! use std::io::{Read, Write};
//! let listener = right.tcp_listen("10.0.0.2:7000".parse()?)?;
//! let mut client = left.tcp_connect("10.0.0.2:7000".parse()?)?;
//! let (mut server, _) = listener.accept()?;
//! client.write_all(b"hello")?;
//! drop(client);
//! let mut text = String::new();
//! server.read_to_string(&mut text)?;
//! assert_eq!(text, "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod autocork;
mod file;
mod gate;
mod headers;
mod http;
mod ip;
mod mailbox;
mod node;
mod queue;
mod running;
mod service;
mod stray_answer;
mod streams;
mod tcp;
mod turns;
mod udp;

pub use ip::{Ip, IpTx};
pub use node::{NetError, Node, Options};
pub use running::Net;
pub use service::{DEFAULT_SERVICES, Offer, SERVICES, Served, Service, Services, Serving};
pub use streams::{Streamed, Streams};
pub use tcp::{Connecting, TcpListener, TcpStream};
pub use udp::UdpSocket;

#[cfg(test)]
mod tests;
