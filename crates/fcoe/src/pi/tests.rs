use super::*;

const ALL: ProtectionChecks = ProtectionChecks { guard: true, reference: true, application: Some((7, 0xffff)) };

fn of(kind: ProtectionType, guard: Guard) -> Protection {
    Protection { kind, guard, block: 512 }
}

fn data() -> Vec<u8> {
    (0..4 * 512).map(|i| u8::try_from((i * 7 + i / 512) % 251).unwrap()).collect()
}

#[test]
fn a_tuple_is_as_sbc_3_clause_4_22_3_lays_it_out() {
    let tuple = ProtectionTuple { guard: 0x0102, application: 0x0304, reference: 0x0506_0708 };
    assert_eq!(tuple.bytes(), [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(ProtectionTuple::parse(tuple.bytes()), tuple);
    // The guard of 32 bytes of zeros, ones, and of the example of clause 4.22.4 (annex C).
    assert_eq!((Guard::Crc16.of(&[0; 32]), Guard::Crc16.of(&[0xff; 32])), (0, 0xa293));
    let counting: Vec<u8> = (0..32).collect();
    assert_eq!(Guard::Crc16.of(&counting), 0x0224);
    // RFC 1071, clause 3.
    assert_eq!(Guard::IpChecksum.of(&[0, 1, 0xf2, 3, 0xf4, 0xf5, 0xf6, 0xf7]), !0xddf2);
}

#[test]
fn what_is_inserted_is_verified_and_stripped() {
    for kind in [ProtectionType::Type1, ProtectionType::Type2, ProtectionType::Type3] {
        for guard in [Guard::Crc16, Guard::IpChecksum] {
            let (protection, data) = (of(kind, guard), data());
            let mut blocks = vec![0; 4 * protection.stride()];
            protection.insert(&data, 7, u32::MAX - 1, &mut blocks);
            assert_eq!(protection.verify(&blocks, u32::MAX - 1, &ALL), Ok(()), "tags wrap");
            let mut tuples = vec![0; 32];
            protection.generate(&data, 7, u32::MAX - 1, &mut tuples);
            assert_eq!(protection.verify_apart(&data, &tuples, u32::MAX - 1, &ALL), Ok(()));
            assert_eq!(blocks[520 + 512..2 * 520], tuples[8..16]);
            // Each field is compared when requested, and the first wrong block is named.
            for (at, error) in [
                (2 * 520 + 3, ProtectionError::Guard(2)),
                (2 * 520 + 512, ProtectionError::Guard(2)),
                (520 + 515, ProtectionError::Application(1)),
                (3 * 520 + 519, ProtectionError::Reference(3)),
            ] {
                let mut other = blocks.clone();
                other[at] ^= 1;
                let counts = kind != ProtectionType::Type3 || !matches!(error, ProtectionError::Reference(_));
                let expected = if counts { Err(error) } else { Ok(()) };
                assert_eq!(protection.verify(&other, u32::MAX - 1, &ALL), expected, "{kind:?}");
                assert_eq!(protection.verify(&other, u32::MAX - 1, &ProtectionChecks::default()), Ok(()));
            }
            assert_eq!(protection.strip(&mut blocks), data.len());
            assert_eq!(blocks[..data.len()], data);
        }
    }
}

#[test]
fn tags_of_all_ones_are_not_compared() {
    // SBC-3, clause 4.22.2: for type 3 both tags, for the others the application tag.
    let blocks = [vec![1; 512], vec![0, 0, 0xff, 0xff, 0, 0, 0, 0]].concat();
    assert_eq!(of(ProtectionType::Type1, Guard::Crc16).verify(&blocks, 9, &ALL), Ok(()));
    assert_eq!(of(ProtectionType::Type2, Guard::Crc16).verify(&blocks, 9, &ALL), Ok(()));
    let third = of(ProtectionType::Type3, Guard::Crc16);
    assert_eq!(third.verify(&blocks, 9, &ALL), Err(ProtectionError::Guard(0)));
    let blocks = [vec![1; 512], vec![0, 0, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff]].concat();
    assert_eq!(third.verify(&blocks, 9, &ALL), Ok(()));
}

#[test]
fn the_application_tag_is_compared_under_its_mask() {
    let protection = of(ProtectionType::Type2, Guard::Crc16);
    let mut blocks = vec![0; 520];
    protection.insert(&[3; 512], 0x1234, 5, &mut blocks);
    let checks = |value, mask| ProtectionChecks { application: Some((value, mask)), ..ProtectionChecks::default() };
    assert_eq!(protection.verify(&blocks, 5, &checks(0x1200, 0xff00)), Ok(()));
    assert_eq!(protection.verify(&blocks, 5, &checks(0x1200, 0xff0f)), Err(ProtectionError::Application(0)));
}

#[test]
fn a_host_s_guard_becomes_the_wire_s_and_back() {
    let (host, wire) = (of(ProtectionType::Type1, Guard::IpChecksum), of(ProtectionType::Type1, Guard::Crc16));
    let (mut data, mut tuples, mut blocks) = (data(), vec![0; 32], vec![0; 4 * 520]);
    host.generate(&data, 7, 3, &mut tuples);
    host.join(&data, &tuples, Guard::Crc16, &mut blocks).unwrap();
    assert_eq!(wire.verify(&blocks, 3, &ALL), Ok(()));
    let (mut back, mut again) = (vec![0; data.len()], vec![0; 32]);
    wire.split(&blocks, Guard::IpChecksum, &mut back, &mut again).unwrap();
    assert_eq!((&back, &again), (&data, &tuples));
    // A new guard must not hide that a block has changed; without one, whoever checks later finds it.
    blocks[520 + 9] ^= 1;
    assert_eq!(wire.split(&blocks, Guard::IpChecksum, &mut back, &mut again), Err(ProtectionError::Guard(1)));
    assert_eq!(wire.split(&blocks, Guard::Crc16, &mut back, &mut again), Ok(()));
    assert_eq!(wire.verify_apart(&back, &again, 3, &ALL), Err(ProtectionError::Guard(1)));
    data[600] ^= 1;
    assert_eq!(host.join(&data, &tuples, Guard::Crc16, &mut blocks), Err(ProtectionError::Guard(1)));
    assert_eq!(host.join(&data, &tuples, Guard::IpChecksum, &mut blocks), Ok(()));
    // Blocks that are not checked pass as they are.
    let hole = [vec![5; 512], vec![0xff; 8]].concat();
    wire.split(&hole, Guard::IpChecksum, &mut back[..512], &mut again[..8]).unwrap();
    assert_eq!((&back[..512], &again[..8]), (&[5; 512][..], &[0xff; 8][..]));
}

#[test]
fn blocks_are_sealed_in_place() {
    let protection = of(ProtectionType::Type2, Guard::Crc16);
    let (data, mut inserted) = (data(), vec![0; 4 * 520]);
    protection.insert(&data, 7, 3, &mut inserted);
    let mut sealed = inserted.clone();
    sealed.chunks_exact_mut(520).for_each(|block| block[512..].fill(0xaa));
    protection.seal(&mut sealed, 7, 3);
    assert_eq!(sealed, inserted);
    assert_eq!((ProtectionType::Type1.reference(0x1_0000_0002), ProtectionType::Type3.reference(5)), (2, 0));
}

/// A transfer may have more than 65536 blocks (WRITE (16), VERIFY), and the tag of each is its own.
#[test]
fn reference_tags_go_on_beyond_65536_blocks() {
    const BLOCKS: usize = (1 << 16) + 3;
    for kind in [ProtectionType::Type1, ProtectionType::Type2] {
        let protection = of(kind, Guard::Crc16);
        for (first, index, tag) in
            [(0, 0xffff, 0xffff), (0, 0x1_0000, 0x1_0000), (5, 0x1_0002, 0x1_0007), (u32::MAX, 0x1_0001, 0x1_0000)]
        {
            assert_eq!(protection.reference(first, index), tag);
        }
        let data = vec![0; BLOCKS * 512];
        let mut tuples = vec![0; BLOCKS * 8];
        protection.generate(&data, 7, 9, &mut tuples);
        let tags: Vec<_> = tuples.chunks_exact(8).map(|tuple| ProtectionTuple::read(tuple).reference).collect();
        assert!(tags.iter().copied().eq(9..9 + u32::try_from(BLOCKS).unwrap()));
        assert_eq!(protection.verify_apart(&data, &tuples, 9, &ALL), Ok(()));
        // The last block has the tag of the one 65536 before it.
        let twin = (BLOCKS - 1 - (1 << 16)) * 8;
        tuples.copy_within(twin..twin + 8, (BLOCKS - 1) * 8);
        let last = u64::try_from(BLOCKS - 1).unwrap();
        assert_eq!(protection.verify_apart(&data, &tuples, 9, &ALL), Err(ProtectionError::Reference(last)));
    }
}
