use super::*;
use std::path::Path;
use std::time::Instant;

#[test]
fn whatever_is_wrong_is_named_with_its_mend() {
    for (text, word) in [
        ("", "no kind"),
        ("disk.img", "no kind"),
        ("tape:x", "no kind of device is called 'tape'"),
        ("file:", "nothing after the colon"),
        ("ram:", "nothing after the colon"),
        ("ram:64MiB", "'64MiB' is no size"),
        ("ram:0", "'0' is no size"),
        ("ram:1000", "no number of blocks of 512"),
        ("null:512,block=4096", "no number of blocks of 4096"),
        ("null:1G,pi=1", "no option 'pi'"),
        ("ram:1M,pi=x", "pi=x will not do"),
        ("file:x,red", "no option 'red'"),
        ("file:x,", "no option ''"),
        ("file:x,ro=1", "takes no value"),
        ("file:x,block", "has no value"),
        ("file:x,block=", "has no value"),
        ("file:x,block=513", "block=513 will not do"),
        ("file:x,pi=4", "pi=4 will not do"),
        ("file:x,ro,ro", "stands twice"),
        ("file:a\nb\0", "NUL"),
        ("nbd:", "nothing after the colon"),
        ("nbd:x", "no NBD URI"),
        ("nbd://", "names no host"),
        ("nbd+unix:///x", "names no socket"),
        ("nbd+unix:///x,\n", "no options"),
        // Regression: these were a part of the export's name and of the socket's path.
        ("nbd://h/x,ro", "nbd: has no options, such as 'ro'"),
        ("nbd+unix:///x?socket=/s,foo=1", "nbd+unix: has no options, such as 'foo=1'"),
        ("nbd+unix:///x?socket=/s&foo=1", "behind the '?' stand socket= and settle="),
    ] {
        let line = DeviceSpec::parse(text).unwrap_err().to_string();
        assert!(line.contains(word) && line.contains("; ") && !line.chars().any(char::is_control), "{text}: {line}");
    }
    assert!(DeviceSpec::parse(&"file:x".repeat(9999)).unwrap_err().to_string().len() < 1000);
}

#[test]
fn names_and_options_are_told_apart() {
    let spec = DeviceSpec::parse("file:/a/b.img,pi=2,ro,block=4096").unwrap();
    assert_eq!((spec.kind.name, spec.name.as_str(), spec.flag("ro")), ("file", "/a/b.img", true));
    assert_eq!((spec.block_size().unwrap(), spec.protection().unwrap()), (4096, 2));
    let uri = DeviceSpec::parse("nbd://h/a%2cb").unwrap();
    assert_eq!((uri.kind.name, uri.to_string().as_str()), ("nbd", "nbd://h/a%2cb"), "a comma of the URI's");
}

#[test]
fn memory_is_as_large_as_it_says_and_waits_for_nothing() {
    let open = |text: &str| {
        DeviceSpec::parse(text)
            .unwrap()
            .open(&LunOptions { seed: 7, ..LunOptions::default() })
            .unwrap_or_else(|e| panic!("{e}"))
    };
    for (text, block_size, blocks, product) in [
        ("ram:64K", 512, 128, "ram"),
        ("ram:64K,block=4096,ro,pi=3", 4096, 16, "ram"),
        ("null:1T", 512, 1 << 31, "null"),
    ] {
        let mut opened = open(text);
        let geometry = opened.backend.geometry().clone();
        assert_eq!((geometry.block_size, geometry.blocks, geometry.product), (block_size, blocks, product));
        assert_eq!((geometry.read_only, geometry.protection), (text.contains("ro"), text.contains("pi")));
        assert_eq!(opened.protection, if text.contains("pi") { 3 } else { 0 });
        assert!(opened.waits.is_none() && opened.backend.memory().is_some());
    }
    let line = DeviceSpec::parse("ram:9999999T")
        .unwrap()
        .open(&LunOptions { seed: 7, ..LunOptions::default() })
        .err()
        .unwrap()
        .to_string();
    assert!(line.contains("not so much memory"), "{line}");
}

#[test]
fn a_file_is_opened_as_its_text_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
    let open = |options: &str, seed| {
        DeviceSpec::parse(&format!("file:{}{options}", path.display()))
            .unwrap()
            .open(&LunOptions { seed, ..LunOptions::default() })
            .unwrap_or_else(|e| panic!("{e}"))
    };
    let plain = open(",block=4096", 1);
    let geometry = plain.backend.geometry();
    assert_eq!((geometry.block_size, geometry.blocks, geometry.read_only, plain.protection), (4096, 256, false, 0));
    assert!(plain.path.contains("io_uring") && plain.waits.is_some());
    drop(plain);
    let protected = open(",pi=1", 1);
    assert!(protected.backend.geometry().protection && protected.protection == 1);
    drop(protected);
    assert!(open(",ro", 1).backend.geometry().read_only);
}

/// Regression: the name of a disk changed with the spelling of its path, with `,ro`, and with the target's MAC address.
#[test]
fn a_disk_has_one_name_however_it_is_opened() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("disk"), dir.path().join("other"));
    for path in [&path, &other] {
        std::fs::File::create(path).unwrap().set_len(1 << 20).unwrap();
    }
    let link = dir.path().join("link");
    std::os::unix::fs::symlink(&path, &link).unwrap();
    let name = |text: String, lun: &LunOptions| {
        DeviceSpec::parse(&text).unwrap().open(lun).unwrap_or_else(|e| panic!("{e}")).name
    };
    let (first, second) =
        (LunOptions { seed: 1, ..LunOptions::default() }, LunOptions { seed: 2, ..LunOptions::default() });
    let known = name(format!("file:{}", path.display()), &first);
    let around = format!("file:{}/../{}/disk", dir.path().display(), dir.path().file_name().unwrap().display());
    for text in [around, format!("file:{}", link.display()), format!("file:{},ro,block=4096", path.display())] {
        assert_eq!(name(text.clone(), &second), known, "{text}");
    }
    assert_ne!(name(format!("file:{}", other.display()), &first), known, "another disk");
    // What keeps nothing has its name from the LUN. Memory that was given up is another disk the next time.
    let null = |lun| name("null:64K".into(), lun);
    assert_eq!((null(&first) == null(&first), null(&first) == null(&second)), (true, false));
    let ram = |lun| name("ram:64K".into(), lun);
    assert_ne!(ram(&first), ram(&first));
    // Names that were given.
    let given = name("null:4M,serial=A-1".into(), &first);
    assert_eq!((given.serial(), given == name("null:64K,serial=A-1".into(), &second)), ("A-1", true));
    let naa = "ram:64K,naa=5001405012345678";
    assert_eq!(name(naa.into(), &first).naa().to_string(), "5001405012345678");
    let naa = naa.replace("ram", "null");
    assert_eq!(name(naa, &first).serial(), null(&first).serial());
    let options = LunOptions { serial: Some("B".into()), naa: "5001405012345679".parse().ok(), ..first.clone() };
    let (text, plain) = (name("ram:64K,serial=A-1".into(), &options), ram(&options));
    assert_eq!((text.serial(), plain.serial()), ("A-1", "B"), "the text goes first");
    assert_eq!(plain.naa().to_string(), "5001405012345679");
    for wrong in ["ram:64K,serial=a b", "ram:64K,naa=1000525400000001", "null:1M,naa=50"] {
        let line = DeviceSpec::parse(wrong).err().unwrap().to_string();
        assert!(line.contains("; give ") && !line.contains('\n'), "{line}");
    }
    let line = DeviceSpec::parse("ram:64K,serial=A-1").unwrap().device(&Access::default()).err().unwrap().to_string();
    assert!(line.contains("only a LUN has serial="), "{line}");
}

/// Regression: with a serial number memory had the same name after it was made anew, and none of its data.
#[test]
fn memory_with_a_serial_number_is_another_disk_each_time_but_with_a_name() {
    let name = |text: &str| DeviceSpec::parse(text).unwrap().open(&LunOptions::default()).unwrap().name;
    let [first, second] = [(); 2].map(|()| name("ram:64K,serial=A-1"));
    assert_eq!((first.serial(), second.serial()), ("A-1", "A-1"));
    assert!(first.naa() != second.naa() && first.unique() != second.unique());
    let named = "ram:64K,serial=A-1,naa=5001405012345678";
    assert_eq!(name(named), name(named), "it was asked for");
}

/// Regression: a file's name came from its path, so that another file under the path was read and written as the same disk.
#[test]
fn a_file_is_told_by_its_inode_and_not_by_its_path() {
    let dir = tempfile::tempdir().unwrap();
    let (path, other) = (dir.path().join("disk"), dir.path().join("other"));
    let make = |path: &Path| std::fs::File::create_new(path).unwrap().set_len(1 << 20).unwrap();
    make(&path);
    make(&other);
    let named = |path: &Path, options: &str| {
        let spec = DeviceSpec::parse(&format!("file:{}{options}", path.display())).unwrap();
        spec.open(&LunOptions::default()).unwrap_or_else(|e| panic!("{e}")).name
    };
    let name = |path: &Path| named(path, "");
    let (first, second) = (name(&path), name(&other));
    let given = named(&path, ",serial=A-1");
    assert_eq!(name(&path), first, "opened again");
    let hard = dir.path().join("hard");
    std::fs::hard_link(&path, &hard).unwrap();
    assert_eq!(name(&hard), first, "a hard link");
    std::fs::write(&path, [7; 512]).unwrap();
    std::fs::File::options().write(true).open(&path).unwrap().set_len(2 << 20).unwrap();
    assert_eq!(name(&path), first, "cut, written and grown");
    std::fs::rename(&other, &path).unwrap();
    assert_eq!((name(&path), name(&hard)), (second, first.clone()), "another inode at the path");
    assert_eq!(named(&path, ",serial=A-1"), given, "it was given the name");
    // An inode number is used again: the name is not, for the number was born again.
    let born = |path: &Path| path.metadata().unwrap().created().ok();
    let before = born(&hard);
    let end = Instant::now() + Duration::from_secs(60);
    for path in [&path, &hard] {
        std::fs::remove_file(path).unwrap();
    }
    make(&path);
    while before.is_some() && born(&path) == before {
        assert!(Instant::now() < end, "the clock of the file system stands");
        std::fs::remove_file(&path).unwrap();
        make(&path);
    }
    assert_ne!(name(&path), first, "made anew");
}

/// Regressions: a check made a side file, one of type 1 was taken for type 3, and one beside an unprotected disk was spoilt
/// without a word.
#[test]
fn a_side_file_is_what_its_header_says() {
    let dir = tempfile::tempdir().unwrap();
    let path = dir.path().join("disk");
    std::fs::File::create(&path).unwrap().set_len(1 << 20).unwrap();
    let side = dir.path().join("disk.pi");
    let open = |options: &str, checks| {
        let spec = DeviceSpec::parse(&format!("file:{}{options}", path.display())).unwrap();
        spec.open(&LunOptions { checks, ..LunOptions::default() }).map(|opened| opened.path).map_err(|e| e.to_string())
    };
    assert!(open(",pi=1", true).unwrap().contains("will be made") && open(",pi=1,ro", true).is_err());
    assert!(!side.exists(), "a check makes nothing");
    assert!(open(",pi=1", false).unwrap().contains("nothing that is there already is protected"));
    assert!(!open(",pi=1", true).unwrap().contains("already"));
    assert!(open(",pi=3", false).unwrap_err().contains("type 1"));
    assert!(open("", false).unwrap().contains("side file") && !open(",ro", false).unwrap().contains("side file"));
    std::fs::File::options().write(true).open(&path).unwrap().set_len(2 << 20).unwrap();
    assert!(open(",pi=1", false).unwrap_err().contains("pi-adopt"));
    assert!(open(",pi=1,pi-adopt", true).unwrap_err().contains("pi-adopt"), "a check changes nothing");
    open(",pi=1,pi-adopt", false).unwrap();
    open(",pi=1", false).unwrap();
    assert!(DeviceSpec::parse("file:disk,pi-adopt").is_err());
}
