//! Forwards frames between two ports, both ways: `forwarder PORT PORT`, such as `forwarder xdp:eth0 tap:tap0`. `linerate
//! bridge` does it with several queues, super-frames and counters.

use linerate_port::{Link, RxQueue, TxQueue, open_all};
use linerate_rt::{Machine, Progress, Sleeper, Stop, WaitMode, Waiter, forward_signals, run};

/// Most frames in a row of one direction.
const BATCH: u32 = 256;

struct Forwarder {
    /// Source of frames and their destination, each way.
    ways: [(RxQueue, TxQueue); 2],
    frames: u64,
    stopping: bool,
}

impl Machine for Forwarder {
    fn handle(&mut self, _: u64) -> Progress {
        let before = self.frames;
        for (from, to) in &mut self.ways {
            from.sync();
            // What finds no room stays where it is.
            let mut arrived = from.ring.batch(BATCH.min(to.ring.free()));
            let mut batch = to.ring.reserve(arrived.len());
            for i in 0..arrived.len() {
                // A frame of no bytes is not sent.
                let len = match arrived.frame(i) {
                    Some((frame, _)) if batch.frame(i).copy_from(&frame) => frame.len(),
                    _ => 0,
                };
                batch.set(i, len, 0);
            }
            let n = arrived.len();
            batch.commit(n);
            arrived.release(n);
            to.sync();
            self.frames += u64::from(n);
        }
        match (self.stopping, self.frames > before) {
            (true, _) => Progress::Done,
            (_, true) => Progress::Worked,
            _ => Progress::Idle,
        }
    }

    fn poll_timeout(&self) -> Option<u64> {
        None
    }

    fn waits_for(&mut self, visit: &mut dyn FnMut(&mut dyn Sleeper)) {
        self.ways.iter_mut().for_each(|(from, _)| visit(from));
    }

    fn stop(&mut self, _: u64) {
        self.stopping = true;
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().skip(1).collect();
    let [one, other] = &words[..] else { return Err("give two ports, such as xdp:eth0 tap:tap0".into()) };
    let mut ports = open_all(&[one, other])?;
    let mut queues = ports.iter_mut().map(|port| (port.take_rx(0), port.take_tx(0)));
    let (Some((Some(rx), Some(tx))), Some((Some(rx2), Some(tx2)))) = (queues.next(), queues.next()) else {
        return Err("both ports must send and receive".into());
    };
    drop(queues);
    ports.iter().filter(|port| port.link() == Link::Down).for_each(|port| println!("{} is down", port.info().name));
    let stop = Stop::new()?;
    forward_signals(&stop)?;
    println!("forwarding");
    let mut forwarder = Forwarder { ways: [(rx, tx2), (rx2, tx)], frames: 0, stopping: false };
    run(&mut forwarder, &mut Waiter::new(WaitMode::Adaptive), &stop);
    println!("{} frames", forwarder.frames);
    Ok(())
}
