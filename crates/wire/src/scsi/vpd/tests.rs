use super::*;

#[test]
fn a_page_is_read_as_it_was_written() {
    let mut bytes = vec![9];
    vpd(0x20, VpdPage::SERIAL, &mut bytes, |to| to.extend(b"abc"));
    assert_eq!(bytes, b"\x09\x20\x80\0\x03abc");
    let page = VpdPage::parse(&bytes[1..]).unwrap();
    assert_eq!((page.peripheral, page.page, page.len, page.body), (0x20, 0x80, 3, &b"abc"[..]));
    let page = VpdPage::parse(&bytes[1..6]).unwrap();
    assert_eq!((page.len, page.body), (3, &b"a"[..]), "an allocation length that is too small");
    assert!(VpdPage::parse(&bytes[1..4]).is_err());
    let mut bytes = Vec::new();
    vpd(0, 0x83, &mut bytes, |to| to.extend(vec![1; 70000]));
    assert_eq!((bytes.len(), &bytes[2..4]), (4 + 65535, &[0xff, 0xff][..]));
}

#[test]
fn the_designators_of_the_linux_target_are_read() {
    // Page 83 of LIO (capture 02, frame 35): NAA 6, T10 vendor, relative port, port group, LU group, two SCSI names.
    let naa = [0x60, 1, 0x40, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    let mut page = vec![1, 3, 0, 16];
    page.extend(naa);
    page.extend([2, 1, 0, 3]);
    page.extend(b"LIO");
    page.extend([0x01, 0x94, 0, 4, 0, 0, 0, 1]);
    let all: Vec<_> = Designator::all(&page).collect();
    assert_eq!(all[0], Designator::naa(0, &naa));
    assert_eq!((all[1].code_set, all[1].kind, all[1].identifier), (2, 1, &b"LIO"[..]));
    assert_eq!((all[2].association, all[2].kind, all[2].protocol), (1, 4, Some(0)));
    let mut again = Vec::new();
    all.iter().for_each(|designator| designator.put(&mut again));
    assert_eq!(again, page);
    assert_eq!(Designator::all(&page[..page.len() - 1]).count(), 2);
    Designator::naa(0, &[1; 300]).put(&mut again);
    assert_eq!(Designator::all(&again).count(), 4, "an identifier that is too long is cut");
}

#[test]
fn block_limits_are_as_sbc_3_clause_6_5_3_lays_them_out() {
    // Answer of LIO (capture 02, frame 44), shorter than SBC-3's.
    let lio = [1, 1, 0, 1, 0xff, 0xff, 0xff, 0xf8, 0xff, 0xff, 0xff, 0xf8, 0, 0, 0, 0];
    let limits = BlockLimits::parse(&lio).unwrap();
    assert_eq!((limits.write_same_non_zero, limits.compare_and_write, limits.granularity), (true, 1, 1));
    assert_eq!((limits.transfer, limits.unmap_alignment, limits.write_same), (0xffff_fff8, None, 0));
    assert_eq!(limits.bytes()[..16], lio);
    let limits = BlockLimits {
        prefetch: 1,
        unmap_blocks: 2,
        unmap_ranges: 3,
        unmap_granularity: 4,
        unmap_alignment: Some(0),
        write_same: 5,
        ..limits
    };
    let bytes = limits.bytes();
    assert_eq!(bytes[12..40], [0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 3, 0, 0, 0, 4, 0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5]);
    assert_eq!(BlockLimits::parse(&bytes), Ok(limits));
    assert!(BlockLimits::parse(&lio[..11]).is_err());
}

#[test]
fn the_other_pages_are_as_their_clauses_lay_them_out() {
    let disk = BlockCharacteristics { rotation: 1, after_erase: 2, form_factor: 3, verifies_unmapped: true };
    assert_eq!(disk.bytes()[..5], [0, 1, 0, 0x83, 1], "SBC-3, clause 6.6.2; SBC-4: WABEREQ");
    assert_eq!(BlockCharacteristics::parse(&disk.bytes()), Ok(disk));
    let short = BlockCharacteristics { verifies_unmapped: false, ..disk };
    assert_eq!(BlockCharacteristics::parse(&disk.bytes()[..4]), Ok(short));
    let thin = BlockProvisioning {
        unmap: true,
        write_same_16: true,
        write_same_10: true,
        zeroes: true,
        anchors: true,
        kind: 2,
    };
    assert_eq!(thin.bytes(), [0, 0xe6, 2, 0], "SBC-3, clause 6.6.4");
    assert_eq!(BlockProvisioning::parse(&thin.bytes()), Ok(thin));
    let all = ExtendedInquiry {
        protection_types: 7,
        guard: true,
        application: true,
        reference: true,
        attributes: true,
        volatile: true,
        nexus_attentions: true,
    };
    assert_eq!(all.bytes()[..4], [0x3f, 7, 1, 1], "SPC-4, clause 7.8.7");
    assert_eq!(ExtendedInquiry::parse(&all.bytes()), Ok(all));
    for short in 0..4 {
        assert!(BlockCharacteristics::parse(&[0; 4][..short]).is_err());
        assert!(BlockProvisioning::parse(&[0; 4][..short]).is_err());
        assert!(ExtendedInquiry::parse(&[0; 4][..short]).is_err());
    }
}
