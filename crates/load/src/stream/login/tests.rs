//! Tests of logins: what iperf3 sends, what nobody should, and files that hold something else.

use super::users::Users;
use super::{Claim, Guard, Login, Padding, Refusal, Ticket, key};
use rsa::pkcs1::{EncodeRsaPrivateKey, LineEnding};
use rsa::traits::PublicKeyParts;
use std::fs;
use std::path::PathBuf;
use tempfile::TempDir;

const PRIVATE: &str = include_str!("../../../tests/login/private.pem");
const PUBLIC: &str = include_str!("../../../tests/login/public.pem");
const USERS: &str = include_str!("../../../tests/login/users.csv");
/// Token that iperf3 3.12 sent, and one by OAEP, made by openssl.
const PKCS1: &str = include_str!("../../../tests/login/iperf3-3.12.token");
const OAEP: &str = include_str!("../../../tests/login/oaep.token");
/// Time of both.
const TIME: i64 = 1_795_714_666;

const EC_PRIVATE: &str = "\
-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQg+55lNPpKBeNEcJfC
pbLyGmGGKGal0QziXzG9uezz8TChRANCAATdTMzbHFcoXiYzHiIOCGIEUwO2Q8yX
U372xVrVYmtRk36DIfe7T70S+/AsNa8s334kZtl68BOI/qpHr0mHwUfC
-----END PRIVATE KEY-----
";
const EC_PUBLIC: &str = "\
-----BEGIN PUBLIC KEY-----
MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAE3UzM2xxXKF4mMx4iDghiBFMDtkPM
l1N+9sVa1WJrUZN+gyH3u0+9EvvwLDWvLN9+JGbZevATiP6qR69Jh8FHwg==
-----END PUBLIC KEY-----
";
/// An RSA key of 512 bits.
const SMALL: &str = "\
-----BEGIN PUBLIC KEY-----
MFwwDQYJKoZIhvcNAQEBBQADSwAwSAJBAN5RVSjObnRtiyfjjCjwE0SLvm+gSplY
dY+lxlPJLFBIz/yGuVsxfudZT+TbVBOUueuPRKLZI5tCrg8DMzK1D/MCAwEAAQ==
-----END PUBLIC KEY-----
";

/// Files in a folder of their own.
fn files(all: &[(&str, &str)]) -> (TempDir, Vec<PathBuf>) {
    let dir = tempfile::tempdir().unwrap();
    let write = |(name, text): &(&str, &str)| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        path
    };
    let paths = all.iter().map(write).collect();
    (dir, paths)
}

fn claim(user: &str, password: &str, time: i64) -> Claim {
    Claim { user: user.into(), password: password.into(), time }
}

#[test]
fn a_token_of_iperf3_is_read_by_its_own_padding_alone() {
    let (_dir, paths) = files(&[("private", PRIVATE)]);
    let key = key::private(&paths[0]).unwrap();
    let (pkcs1, oaep) = (PKCS1.trim_end(), OAEP.trim_end());
    let mario = claim("mario", "rossi", TIME);
    assert_eq!(mario.text(), b"user: mario\npwd:  rossi\nts:   1795714666");
    assert_eq!(Claim::open(pkcs1, &key, Padding::Pkcs1), Some(mario.clone()));
    assert_eq!(Claim::open(oaep, &key, Padding::Oaep), Some(mario.clone()));
    assert_eq!(Claim::open(pkcs1, &key, Padding::Oaep), None);
    assert_eq!(Claim::open(oaep, &key, Padding::Pkcs1), None);
    assert!(!format!("{mario:?}").contains("rossi"));
    // Other texts in the place of a token.
    let other = pkcs1.replacen(&pkcs1[..1], if pkcs1.starts_with('A') { "B" } else { "A" }, 1);
    let long = pkcs1.repeat(100);
    for token in
        ["", "=", &pkcs1[1..], &pkcs1[4..], &other, &long, &"*".repeat(344), &"=".repeat(344), &"/".repeat(344)]
    {
        for padding in [Padding::Pkcs1, Padding::Oaep] {
            assert_eq!(Claim::open(token, &key, padding), None, "{token}");
        }
    }
}

#[test]
fn what_is_sealed_is_opened_up_to_the_room_of_the_key() {
    let (_dir, paths) = files(&[("private", PRIVATE), ("public", PUBLIC)]);
    let (private, public) = (key::private(&paths[0]).unwrap(), key::public(&paths[1]).unwrap());
    assert_eq!((Padding::Oaep.room(&public), Padding::Pkcs1.room(&public)), (214, 245));
    for padding in [Padding::Oaep, Padding::Pkcs1] {
        let rest = claim("u", "", TIME).text().len();
        let mut full = claim("u", &"p".repeat(padding.room(&public) - rest), TIME);
        let token = full.seal(&public, padding).unwrap();
        assert_eq!(Claim::open(&token, &private, padding), Some(full.clone()));
        assert_ne!(token, full.seal(&public, padding).unwrap(), "the padding is random");
        full.password.push(b'p');
        assert!(full.seal(&public, padding).is_err());
    }
}

#[test]
fn texts_are_read_as_iperf3_reads_them() {
    for (text, read) in [
        ("user: a\npwd:  b\nts:   1", Some(("a", "b", 1))),
        ("user: a pwd: b ts: -1\n", Some(("a", "b", -1))),
        ("user: user:\npwd:  pwd:\nts:   9223372036854775807", Some(("user:", "pwd:", i64::MAX))),
        ("user: ä\npwd:  {}\nts:   0", Some(("ä", "{}", 0))),
        // A password without a letter is that of no user.
        ("user: a\npwd:  \nts:   1", None),
        ("user: a b\npwd:  c\nts:   1", None),
        ("user: a\npwd:  b c\nts:   1", None),
        ("user: a\npwd:  b\nts:   9223372036854775808", None),
        ("user: a\npwd:  b\nts:   x", None),
        ("user: a\npwd:  b\nts:   1 2", None),
        ("user: a\npwd:  b\nts:", None),
        ("pwd:  b\nuser: a\nts:   1", None),
        ("user:", None),
        ("", None),
    ] {
        let expected = read.map(|(user, password, time)| claim(user, password, time));
        assert_eq!(Claim::read(text.as_bytes()), expected, "{text}");
    }
    assert_eq!(Claim::read(b"user: \xff\npwd:  \0\nts:   1").unwrap().user, b"\xff");
}

#[test]
fn a_guard_looks_at_the_clock_and_at_the_users_of_the_moment() {
    let (_dir, paths) = files(&[("private", PRIVATE), ("users", USERS), ("public", PUBLIC)]);
    let guard = Guard::new(&paths[0], &paths[1], 10, true).unwrap();
    let at = |now| guard.admits_at(now, Some(PKCS1.trim_end()));
    for now in [TIME - 10, TIME, TIME + 10] {
        assert_eq!(at(now), Ok(()));
    }
    assert_eq!(at(TIME + 11), Err(Refusal::Clock(11, "behind")));
    assert_eq!(at(TIME - 11), Err(Refusal::Clock(11, "ahead of")));
    assert_eq!(at(i64::MIN), Err(Refusal::Clock(TIME.abs_diff(i64::MIN), "ahead of")));
    assert_eq!(guard.admits_at(TIME, None), Err(Refusal::Absent));
    assert_eq!(guard.admits_at(TIME, Some(OAEP.trim_end())), Err(Refusal::Unreadable));
    let public = key::public(&paths[2]).unwrap();
    for (user, password) in [("mario", "Rossi"), ("luigi", "rossi"), ("mari", "o}rossi"), ("{mario}rossi", "x")] {
        let token = claim(user, password, TIME).seal(&public, Padding::Pkcs1).unwrap();
        assert_eq!(guard.admits_at(TIME, Some(&token)), Err(Refusal::Unknown), "{user}");
    }
    let file = paths[1].display();
    fs::write(&paths[1], USERS.replace("mario", "luigi")).unwrap();
    assert_eq!(at(TIME), Err(Refusal::Unknown));
    fs::write(&paths[1], "mario\n").unwrap();
    let told = at(TIME).unwrap_err().to_string();
    assert!(told.starts_with(&format!("--authorized-users-path {file}: line 1 is no user; give ")), "{told}");
    fs::remove_file(&paths[1]).unwrap();
    let told = at(TIME).unwrap_err().to_string();
    assert!(told.starts_with(&format!("--authorized-users-path {file}: No such file")), "{told}");
    fs::create_dir(&paths[1]).unwrap();
    let told = at(TIME).unwrap_err().to_string();
    assert!(told.starts_with(&format!("--authorized-users-path {file}: it is no file")), "{told}");
    fs::remove_dir(&paths[1]).unwrap();
    fs::write(&paths[1], format!("{USERS}#").into_bytes().into_iter().cycle().take((1 << 20) + 1).collect::<Vec<_>>())
        .unwrap();
    let told = at(TIME).unwrap_err().to_string();
    assert!(told.contains("it is longer than 1048576 bytes"), "{told}");
    fs::write(&paths[1], USERS).unwrap();
    assert_eq!(at(TIME), Ok(()));
}

#[test]
fn lines_that_are_no_users_are_named() {
    let hash = USERS.trim_end().rsplit(',').next().unwrap();
    for text in [
        format!("mario,{hash}"),
        format!("# comment\r\n\r\nmario,{hash}\r\n"),
        format!("other,{}\nmario,{}\n", "0".repeat(64), hash.to_uppercase()),
        // Two passwords of one user, and what iperf3 passes over.
        format!("mario,{}\nmario,{hash},more\n", "0".repeat(64)),
    ] {
        let users = Users::read(text.as_bytes()).unwrap();
        assert!(
            users.has(b"mario", b"rossi") && !users.has(b"mario", b"x") && !users.has(b"other", b"rossi"),
            "{text}"
        );
    }
    for (text, line) in [
        (format!("#\nmario {hash}"), "line 2 is no user"),
        (format!("mario,{hash}\n mario,{hash}"), "line 2 is no user"),
        (format!("mario, {hash}"), "line 1 is no user"),
        (format!("mario,{hash} "), "line 1 is no user"),
        (format!("mario,{}", &hash[1..]), "line 1 is no user"),
        (format!("mario,g{}", &hash[1..]), "line 1 is no user"),
        (format!(",{hash}"), "line 1 is no user"),
        (",".to_owned(), "line 1 is no user"),
        ("# nobody\n".to_owned(), "it names no user"),
        (String::new(), "it names no user"),
    ] {
        let told = Users::read(text.as_bytes()).err().unwrap_or_default();
        assert!(told.starts_with(line) && !told.contains(hash) && told.lines().count() == 1, "{text}: {told}");
    }
    assert!(Users::read(b"\xff\xfe\0").is_err());
}

#[test]
fn a_file_with_another_key_is_named_with_what_it_holds() {
    let encrypted = PRIVATE.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let cut = PRIVATE.replace("-----END", "");
    let broken = PRIVATE.replacen("MII", "MIJ", 1);
    let long = "x".repeat((64 << 10) + 1);
    let certificate = PUBLIC.replace("PUBLIC KEY", "CERTIFICATE");
    let none = "it holds no RSA key of 1024 to 8192 bits in PEM";
    for (text, of_private, of_public) in [
        (PRIVATE, "", "it holds a private key, which is the server's"),
        (PUBLIC, "it holds a public key, which is the client's", ""),
        (&encrypted, "it holds a key with a password", "it holds a private key, which is the server's"),
        (EC_PRIVATE, none, "it holds a private key, which is the server's"),
        (EC_PUBLIC, "it holds a public key, which is the client's", none),
        (SMALL, "it holds a public key, which is the client's", none),
        (&cut, none, "it holds a private key, which is the server's"),
        (&broken, none, "it holds a private key, which is the server's"),
        (&certificate, none, none),
        (&long, "it is longer than 65536 bytes", "it is longer than 65536 bytes"),
        ("", none, none),
    ] {
        let (_dir, paths) = files(&[("key", text)]);
        let told = [key::private(&paths[0]).err(), key::public(&paths[0]).err()];
        for ((told, why), flag) in told.into_iter().zip([of_private, of_public]).zip(["private", "public"]) {
            let begins = format!("--rsa-{flag}-key-path {}: {why}; give ", paths[0].display());
            let fits = told.as_ref().map_or(why.is_empty(), |told| !why.is_empty() && told.starts_with(&begins));
            assert!(fits, "{text}: {told:?}, not {why}");
        }
    }
    let missing = key::public("/nonexistent/key".as_ref()).unwrap_err();
    assert!(
        missing.starts_with("--rsa-public-key-path /nonexistent/key: No such file or directory (os error 2); give"),
        "{missing}"
    );
    // The older form of a private key, and the ends of lines of another system.
    let (_dir, paths) = files(&[("key", PRIVATE)]);
    let key = key::private(&paths[0]).unwrap();
    for ends in [LineEnding::LF, LineEnding::CRLF] {
        let (_dir, paths) = files(&[("key", &key.to_pkcs1_pem(ends).unwrap())]);
        assert_eq!(key::private(&paths[0]).unwrap(), key);
    }
}

#[test]
fn a_client_tries_the_paddings_that_its_login_has_room_in() {
    let (_dir, paths) = files(&[("public", PUBLIC)]);
    let login = |user: &str, old| Login::new(user.into(), &paths[0], old);
    let tried = |length: usize, old| {
        let login = login("u", old).unwrap();
        let ticket = Ticket { login: &login, password: vec![b'p'; length] };
        ticket.paddings().collect::<Vec<_>>()
    };
    // Beside the password there are 31 bytes.
    assert_eq!(tried(183, false), [Padding::Oaep, Padding::Pkcs1]);
    assert_eq!(tried(183, true), [Padding::Pkcs1]);
    assert_eq!(tried(184, false), [Padding::Pkcs1]);
    assert_eq!(tried(214, false), [Padding::Pkcs1]);
    assert_eq!(tried(215, false), []);
    assert_eq!(login("u", true).unwrap().key.size(), 256);
    for user in ["", "a b", "a\n", "\u{b}"] {
        assert!(login(user, false).unwrap_err().starts_with("--username: a login has no room for a blank"), "{user:?}");
    }
}
