//! The requests of the Linux initiator at scan and after (capture 02), answered in the right form.

use super::support::*;
use crate::*;
use linerate_block::Ram;
use linerate_wire::scsi::{BlockLimits, Capacity, Designator, Inquiry, Qualifier, VpdPage, parse_mode};
use linerate_wire::{EthernetFrame, FcoeFrame, OxId};

/// A command that has no data out, and the data and status that LIO gave.
struct Exchange {
    ox_id: OxId,
    lun: Lun,
    cdb: Vec<u8>,
    /// FCP_DL.
    length: u32,
    data: Vec<u8>,
    status: u8,
}

fn exchanges() -> Vec<Exchange> {
    let capture = include_bytes!("../../../tests/golden/02-scsi-scan-rw-tmf-echo.pcap");
    let mut rest = &capture[24..];
    let (mut open, mut all) = (Vec::<Exchange>::new(), Vec::new());
    while let Some((record, after)) = rest.split_at_checked(16) {
        let len = usize::try_from(u32::from_le_bytes(record[8..12].try_into().unwrap())).unwrap();
        let (frame, after) = after.split_at(len);
        rest = after;
        let ethernet = EthernetFrame::new_checked(frame).unwrap();
        let Ok(frame) = FcoeFrame::new_checked(ethernet.payload()) else { continue };
        let (header, payload) = (frame.header(), frame.payload());
        let at = open.iter().position(|exchange| exchange.ox_id == header.ox_id);
        match (header.fc_type.0, header.r_ctl) {
            // Neither with task management flags nor with data out.
            (8, 6) if payload[10] == 0 && payload[11] & 1 == 0 => open.push(Exchange {
                ox_id: header.ox_id,
                lun: Lun(payload[..8].try_into().unwrap()),
                cdb: payload[12..28].to_vec(),
                length: u32::from_be_bytes(payload[28..32].try_into().unwrap()),
                data: Vec::new(),
                status: 0xff,
            }),
            (8, 1) if at.is_some() => open[at.unwrap()].data.extend(payload),
            (8, 7) if at.is_some() => all.push(Exchange { status: payload[11], ..open.remove(at.unwrap()) }),
            _ => {}
        }
    }
    all
}

#[test]
fn what_the_linux_initiator_asks_is_answered_in_the_same_form() {
    let mut bench = Bench::new(Ram::new(64 << 20, 512, false, 7).unwrap());
    let exchanges = exchanges();
    assert!(exchanges.len() > 40, "{}", exchanges.len());
    for Exchange { lun, cdb, length, data: lio, status, .. } in exchanges {
        let ended = bench.raw(ALICE, lun, &cdb, &[], length);
        if cdb[0] == 0xa3 {
            // LIO does not know REPORT SUPPORTED OPERATION CODES; this one does: INQUIRY, six bytes.
            assert_eq!((status, &ended.good()[..5]), (2, &[0, 3, 0, 6, 0x12][..]));
            continue;
        }
        assert_eq!(status, 0);
        let wanted = ended.response.wanted;
        let data = ended.good();
        assert_eq!(wanted, data.len() as u64);
        match (cdb[0], cdb[1], cdb[2]) {
            (0x12, 0, _) => {
                assert_eq!(data.len(), lio.len());
                let (ours, theirs) = (Inquiry::parse(&data).unwrap(), Inquiry::parse(&lio).unwrap());
                assert_eq!((ours.qualifier, ours.device_type), (Qualifier::CONNECTED, 0));
                assert_eq!((ours.version, ours.queues, ours.standards), (theirs.version, true, theirs.standards));
                assert_eq!((&ours.vendor, &ours.product), (b"LINERATE", b"ram             "));
            }
            (0x12, 1, page) => {
                let (ours, theirs) = (VpdPage::parse(&data).unwrap(), VpdPage::parse(&lio).unwrap());
                assert_eq!((ours.peripheral, ours.page), (0, theirs.page));
                assert_eq!(data.len(), usize::try_from(length).unwrap().min(4 + usize::from(ours.len)));
                match page {
                    // LIO has referrals (B3) too.
                    0x00 => assert_eq!(ours.body, theirs.body.strip_suffix(&[0xb3]).unwrap_or(theirs.body)),
                    0x83 if length > 4 => {
                        let kinds = |page: VpdPage<'_>| Designator::all(page.body).map(|d| d.kind).collect::<Vec<_>>();
                        assert!(kinds(ours).starts_with(&[1, 3]) && kinds(theirs).contains(&3));
                    }
                    0xb0 if length > 4 => {
                        let limits = BlockLimits::parse(ours.body).unwrap();
                        assert_eq!((limits.transfer, limits.write_same_non_zero), (16384, true));
                    }
                    // The allocation length is LIO's page.
                    0xb1 | 0xb2 => assert_eq!(ours.len, theirs.len),
                    _ => {}
                }
            }
            (0x9e, _, _) => {
                let (ours, theirs) = (Capacity::parse_16(&data).unwrap(), Capacity::parse_16(&lio).unwrap());
                assert_eq!((ours.last, ours.block_size, ours.protection), (theirs.last, theirs.block_size, 0));
                assert!(ours.provisioning.managed && ours.provisioning.zeroes);
            }
            (0x1a, _, _) if length > 4 => {
                assert_eq!(data.len(), lio.len());
                let ((ours, mut pages), (_, mut theirs)) =
                    (parse_mode(false, &data).unwrap(), parse_mode(false, &lio).unwrap());
                assert_eq!((ours.write_protected, ours.blocks), (false, Some((131072, 512))));
                let (page, theirs) = (pages.next().unwrap(), theirs.next().unwrap());
                assert_eq!((page.page, page.body.len(), page.body[0]), (theirs.page, theirs.body.len(), 0));
            }
            (0xa0, _, _) => assert_eq!(data, lio, "LUN 0 and no other"),
            // Data read before it was written.
            (0x28, _, _) => assert_eq!(data.len(), lio.len()),
            // TEST UNIT READY, and headers of mode data alone.
            _ => assert_eq!(data.len(), lio.len(), "{cdb:x?}"),
        }
    }
}
