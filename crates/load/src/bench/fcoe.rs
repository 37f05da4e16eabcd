//! Benches of a target and an initiator on one core each: disks over a cable, beside peers' disks over their
//! transports.

use super::{Bench, How, Missing, Peer, Setting, failed};
use crate::fcoe::{Medium, Setup, measure};
use linerate_result::Unit;
use linerate_rt::Stop;

/// Size of each of the four disks, bytes.
const SIZE: u64 = 16 << 20;

macro_rules! row {
    ($name:literal, $about:literal, $bound:literal, $size:literal, $reads:literal, $rw:literal, $nbdkit:literal) => {
        Bench {
            name: $name,
            about: concat!(
                $about,
                " of 4 FCoE disks in memory, 16 of each under way: full frames, CRCs and data checked on both sides"
            ),
            unit: Unit::Iops,
            two_cores: true,
            bound: Some($bound),
            run: |setting| run(setting, Medium::Ram(SIZE), $size, $reads),
            peers: &[
                Peer {
                    name: "null disks",
                    how: How::Own(|setting| run(setting, Medium::Null, $size, $reads)),
                    wanted: None,
                },
                Peer {
                    name: "tgt",
                    how: How::Script(&["tgt", "--bs", stringify!($size), "--depth", "64", "--rw", $rw]),
                    wanted: Some(10.0),
                },
                Peer {
                    name: "nbdkit",
                    how: How::Script(&["nbdkit", "--bs", stringify!($size), "--depth", "64", "--rw", $rw]),
                    wanted: Some($nbdkit),
                },
                Peer {
                    name: "fio, null engine",
                    how: How::Script(&["fio-null", "--bs", stringify!($size), "--depth", "64", "--rw", $rw]),
                    wanted: None,
                },
            ],
        }
    };
}

pub(super) const READ: Bench = row!("fcoe-read", "READs of 512 bytes", 2.06e6, 512, 100, "read", 10.0);
pub(super) const WRITE: Bench = row!("fcoe-write", "WRITEs of 512 bytes", 1.7e6, 512, 0, "write", 10.0);
pub(super) const MIX: Bench = row!("fcoe-mix", "READs and WRITEs of 512 bytes", 1.87e6, 512, 50, "mixed", 10.0);
/// 4.7 GB/s, as published: one direction of a 40 Gb/s port. The published 9.4 GB/s are a mix, both directions at once.
pub(super) const READ_32K: Bench = row!("fcoe-read-32k", "READs of 32 KiB", 143_857.0, 32768, 100, "read", 2.0);
/// 4.75 GB/s, as published.
pub(super) const WRITE_32K: Bench = row!("fcoe-write-32k", "WRITEs of 32 KiB", 145_138.0, 32768, 0, "write", 2.0);

/// UDP datagrams per second beside the disks.
const DATAGRAMS: u32 = 1_000_000;

pub(super) const WITH_IP: Bench = Bench {
    name: "fcoe-ip",
    about: "READs of 512 bytes of 4 FCoE disks, 16 of each under way, while a million datagrams a second go from IP host \
            to IP host on the same cable",
    unit: Unit::Iops,
    two_cores: true,
    bound: None,
    run: with_ip,
    peers: &[
        Peer {
            name: "FCoE alone, less the time that the paced datagrams take alone",
            how: How::Own(without_paced),
            wanted: Some(0.95),
        },
        Peer {
            name: "FCoE alone, less their time in batches at full speed",
            how: How::Own(without_flood),
            wanted: None,
        },
    ],
};

fn with_ip(setting: &Setting) -> Result<f64, Missing> {
    let setup = Setup::new(Medium::Ram(SIZE), 512, 100, setting.cores, setting.time);
    let setup = Setup { datagrams: Some(DATAGRAMS), ..setup };
    let measured = measure(&setup, &Stop::new().map_err(failed)?).map_err(failed)?;
    let (errors, sent, lost) = (measured.errors, measured.datagrams, measured.datagrams_lost);
    if errors > 0 || lost > 0 {
        return Err(failed(format!("{errors} requests failed, {lost} datagrams were lost")));
    }
    if sent < 0.97 * f64::from(DATAGRAMS) {
        return Err(Missing::Discarded(format!("{sent:.0} of {DATAGRAMS} datagrams a second were sent")));
    }
    Ok(measured.iops())
}

/// Requests per second without datagrams, times the share of time that datagrams at this rate leave when they go alone.
fn without_paced(setting: &Setting) -> Result<f64, Missing> {
    let alone = run(setting, Medium::Ram(SIZE), 512, 100)?;
    Ok(alone * (1.0 - super::udp_paced::share(setting, DATAGRAMS)?))
}

/// The same with the share of time that as many take of a flood, where each is cheaper.
fn without_flood(setting: &Setting) -> Result<f64, Missing> {
    let alone = run(setting, Medium::Ram(SIZE), 512, 100)?;
    let datagrams = (super::udp_flood::BENCH.run)(setting)?;
    Ok(alone * (1.0 - f64::from(DATAGRAMS) / datagrams).max(0.0))
}

/// Requests per second.
fn run(setting: &Setting, medium: Medium, io_bytes: u32, reads: u32) -> Result<f64, Missing> {
    let setup = Setup::new(medium, io_bytes, reads, setting.cores, setting.time);
    let measured = measure(&setup, &Stop::new().map_err(failed)?).map_err(failed)?;
    match measured.errors {
        0 => Ok(measured.iops()),
        errors => Err(failed(format!("{errors} requests failed or moved wrong data"))),
    }
}
