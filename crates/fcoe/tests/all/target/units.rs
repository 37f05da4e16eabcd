//! Every FCP information unit of the golden captures is read, and written again byte for byte.

use crate::target::capture::{fcoe, frames, names};
use linerate_wire::{FcType, FcpCommand, FcpResponse, FcpTransferReady, r_ctl};

#[test]
fn the_kernels_information_units_are_read_and_rebuilt() {
    let (mut commands, mut readies, mut responses, mut data) = (0, 0, 0, 0);
    for name in names() {
        for frame in frames(&name) {
            let Some(frame) = fcoe(&frame) else { continue };
            if frame.header().fc_type != FcType::FCP {
                continue;
            }
            let unit = frame.payload();
            let mut again = vec![0xa5; unit.len()];
            match frame.header().r_ctl {
                r_ctl::COMMAND => {
                    assert_eq!(FcpCommand::parse(unit).unwrap().emit(&mut again), Ok(unit.len()), "{name}");
                    commands += 1;
                }
                r_ctl::DATA_DESCRIPTOR => {
                    again.copy_from_slice(&FcpTransferReady::parse(unit).unwrap().bytes());
                    readies += 1;
                }
                r_ctl::STATUS => {
                    assert_eq!(FcpResponse::parse(unit).unwrap().emit(&mut again), Ok(unit.len()), "{name}");
                    responses += 1;
                }
                r_ctl::DATA => {
                    again.copy_from_slice(unit);
                    data += 1;
                }
                other => panic!("{name}: R_CTL {other:02x}"),
            }
            assert_eq!(again, unit, "{name}");
        }
    }
    assert_eq!((commands, readies, responses, data), (49 + 2 + 3 + 10 + 2 + 7, 2 + 2 + 2, 49 + 1 + 2 + 7 + 1 + 1, 235));
}
