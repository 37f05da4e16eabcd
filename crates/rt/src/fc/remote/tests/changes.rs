//! LUNs that come, go, grow, and become other disks while operations are under way.

use super::world::{Damage, World};

/// Nothing is read or written of the disk that has taken the LUN's number, and a line tells of it.
#[test]
fn another_disk_under_a_lun_is_neither_read_nor_written() {
    for trusting in [false, true] {
        for reads_first in [true, false] {
            let mut world = World::files(&["a", "b"]);
            world.write_ones(0, 0, 1);
            assert_eq!(world.ends(1), [Ok(())]);
            world.remove(0);
            world.add(0, "c");
            if trusting {
                world.trust(0);
            }
            if reads_first {
                assert!(world.read(0, 8).unwrap_err().contains("it is another disk than before"));
            }
            world.write_ones(0, 5, 1);
            let why = world.ends(1).remove(0).unwrap_err();
            let first = why.starts_with("WRITE of 1 blocks at 5: it is another disk than before, 3");
            assert!(if reads_first { why == "Gone" } else { first }, "{why}");
            world.write_ones(0, 6, 3);
            assert!(world.ends(3).iter().all(Result::is_err));
            assert!(world.content("c").iter().all(|byte| *byte == 0));
            let news = world.remote().take_news();
            assert!(news.len() == 1 && news[0].contains("/0: it is another disk than before"), "{news:?}");
            assert!(!news[0].contains("may have gone"), "{news:?}");
            // The other LUN goes on, and so does the disk itself once it is back.
            world.write_ones(1, 5, 1);
            assert_eq!(world.ends(1), [Ok(())]);
            world.remove(0);
            world.add(0, "a");
            world.wait(6_000);
            assert!(world.remote().take_news()[0].ends_with("/0: the disk is back"));
            world.write_ones(0, 5, 1);
            assert_eq!(world.ends(1), [Ok(())]);
        }
    }
}

/// A target that tells of it with one command and executes those behind it: what was written there is named.
#[test]
fn writes_that_were_queued_behind_the_news_of_another_disk_are_named() {
    let mut world = World::files(&["a"]);
    world.remove(0);
    world.add(0, "c");
    world.trust(0);
    // The first two are told of the reset and of the change of LUNs.
    world.write_ones(0, 10, 5);
    // The others have not ended well either: they are in question by then.
    assert!(world.ends(5).iter().all(Result::is_err));
    let news = world.remote().take_news();
    let words = "; 3 writes may have gone to another disk: 1 blocks at 12, 1 blocks at 13, 1 blocks at 14";
    assert!(news.len() == 1 && news[0].ends_with(words), "{news:?}");
    let content = world.content("c");
    assert_eq!(content.iter().filter(|byte| **byte == 1).count(), 3 * 512);
    // Not those that were sent when everybody knew.
    world.write_ones(0, 30, 5);
    assert!(world.ends(5).iter().all(Result::is_err));
    assert_eq!(world.content("c"), content);
    assert!(world.remote().take_news().is_empty());
}

/// The news come behind the good responses of later writes, which have ended well by then.
#[test]
fn writes_whose_responses_overtook_the_news_of_another_disk_are_named() {
    let mut world = World::files(&["a"]);
    world.write_ones(0, 50, 1);
    assert_eq!(world.ends(1), [Ok(())]);
    world.remove(0);
    world.add(0, "c");
    world.trust(0);
    world.wire(Some(Damage::Late));
    world.write_ones(0, 10, 5);
    assert_eq!(world.ends(3), [Ok(()), Ok(()), Ok(())]);
    world.wire(None);
    assert!(world.ends(2).iter().all(Result::is_err));
    let news = world.remote().take_news();
    let words = "; 3 writes may have gone to another disk: 1 blocks at 12, 1 blocks at 13, 1 blocks at 14";
    assert!(news.len() == 1 && news[0].ends_with(words), "{news:?}");
}

/// A target that tells nothing of it, as Linux's where a LUN was taken away and given again: it is found by the disk's name,
/// and all that was written since that was last asked for is named.
#[test]
fn a_disk_that_is_exchanged_without_a_word_is_found_by_its_name() {
    let mut world = World::files(&["a", "b"]);
    world.write_ones(0, 50, 1);
    assert_eq!(world.ends(1), [Ok(())]);
    world.wait(6_000);
    world.remove(0);
    world.add(0, "c");
    world.trust(0);
    (0..2).for_each(|lun| world.hush(lun));
    world.write_ones(0, 10, 2);
    assert_eq!(world.ends(2), [Ok(()), Ok(())]);
    world.wait(6_000);
    let news = world.remote().take_news();
    let words = "; 2 writes may have gone to another disk: 1 blocks at 10, 1 blocks at 11";
    assert!(news.len() == 1 && news[0].ends_with(words), "{news:?}");
    world.write_ones(0, 20, 2);
    assert!(world.ends(2).iter().all(Result::is_err));
    world.write_ones(1, 20, 2);
    assert_eq!(world.ends(2), [Ok(()), Ok(())]);
}

/// A round or a search that asks a target of ours for names while it has writes that were meant for the disk before: they
/// are refused, and not let pass by that question.
#[test]
fn no_question_lets_writes_pass_to_another_disk() {
    for (search, turns) in [(false, 0)].into_iter().chain((0..24).map(|turns| (true, turns))) {
        let mut world = World::files(&["a", "b"]);
        world.make("c", 1000);
        world.remove(0);
        world.add(0, "c");
        (0..2).for_each(|lun| world.hush(lun));
        match search {
            true => world.remote().known[0].wanted = Some(0),
            false => world.remote().watch = Some(0),
        }
        // Before, between and behind the search's commands; beside those of a round.
        world.wait(turns);
        for _ in 0..10 {
            world.write_ones(0, 10, 4);
            world.wait(1);
        }
        assert!(world.ends(40).iter().all(Result::is_err), "{turns}");
        assert!(world.content("c").iter().all(|byte| *byte == 0), "{turns}");
        let news = world.remote().take_news();
        assert!(news.len() == 1 && !news[0].contains("may have gone"), "{news:?}");
    }
}

/// A disk that is only taken away, of which nothing was told while others were written: our target has executed all that ended
/// well, and of others it is said what is known.
#[test]
fn a_disk_that_is_removed_was_no_other_disk() {
    let gone = "/1: the target has no such disk any more";
    for (foreign, words) in [
        (false, ""),
        (
            true,
            "; 5 writes ended well after it had last said its name, and were its own unless another disk had the LUN for a time",
        ),
    ] {
        let mut world = World::files(&["a", "b"]);
        if foreign {
            world.trust(1);
        }
        world.write_ones(1, 10, 5);
        assert!(world.ends(5).iter().all(Result::is_ok));
        world.remove(1);
        // LUN 0 is told of it.
        world.write_ones(0, 10, 1);
        assert_eq!(world.ends(1), [Ok(())]);
        let news = world.remote().take_news();
        assert!(news.len() == 1 && news[0].ends_with(&format!("{gone}{words}")), "{news:?}");
    }
    let mut world = World::files(&["a", "b"]);
    world.remove(1);
    world.write_ones(1, 10, 5);
    assert!(world.ends(5).iter().all(Result::is_err));
    let news = world.remote().take_news();
    assert!(news.len() == 1 && news[0].ends_with(&format!("{gone}; 5 writes had no answer, and failed")), "{news:?}");
}

/// Every disk says its name in each round, also when there is no room for the question at first: here, or at the target.
#[test]
fn disks_say_their_names_under_load_too() {
    for damage in [Damage::Silent, Damage::Busy] {
        let mut world = World::files(&["a", "b"]);
        for wanted in [1, 2] {
            world.write_ones(1, 10, 1);
            assert_eq!(world.ends(1), [Ok(())]);
            if wanted == 2 {
                world.wait(4_700);
                // More than are sent at once.
                let writes = if damage == Damage::Silent { 1_100 } else { 0 };
                world.wire(Some(damage));
                world.write_ones(0, 10, writes);
                world.wait(600);
                world.wire(None);
            }
            // The next round would be later.
            let most = if wanted == 1 { 6_000 } else { 4_000 };
            let mut says = || {
                world.wait(1);
                world.settle();
                world.verified(1) == wanted
            };
            (0..most).find(|_| says()).expect("it says its name");
        }
    }
}

/// Blocks that are no more, and a protection against writing that was none, are no answers of the disk that was found.
#[test]
fn an_answer_that_the_disk_would_not_give_is_looked_into() {
    let mut world = World::files(&["a"]);
    world.remove(0);
    world.make("c", 8);
    world.add(0, "c");
    world.trust(0);
    world.hush(0);
    world.write_ones(0, 100, 1);
    let why = world.ends(1).remove(0).unwrap_err();
    assert!(why.contains("LOGICAL BLOCK ADDRESS OUT OF RANGE"), "{why}");
    world.write_ones(0, 1, 1);
    assert!(world.ends(1)[0].is_err());
    assert!(world.content("c").iter().all(|byte| *byte == 0));
}

/// A disk that does not say what it is, because it is not ready, keeps its operations waiting until it does.
#[test]
fn a_disk_that_is_not_ready_when_it_is_in_question_is_asked_again() {
    let mut world = World::files(&["a"]);
    world.start_stop(0, false);
    world.add(1, "b");
    world.write_ones(0, 10, 2);
    world.wait(8_000);
    assert!(world.remote().units()[0].peer.is_none() && world.remote().units()[0].ended.is_none());
    world.start_stop(0, true);
    world.wait(2_000);
    assert!(world.remote().units()[0].peer.is_some(), "soon");
    assert_eq!(world.ends(2), [Ok(()), Ok(())]);
}

/// Ours executes none of them.
#[test]
fn our_target_executes_nothing_that_was_meant_for_the_disk_before() {
    let mut world = World::files(&["a"]);
    world.remove(0);
    world.add(0, "c");
    world.write_ones(0, 10, 5);
    assert!(world.ends(5).iter().all(Result::is_err));
    assert!(world.content("c").iter().all(|byte| *byte == 0));
    let news = world.remote().take_news();
    assert!(news.len() == 1 && !news[0].contains("may have gone"), "{news:?}");
}

#[test]
fn a_disk_that_grows_or_shrinks_is_the_same_one_of_another_size() {
    let mut world = World::files(&["a"]);
    for (blocks, before) in [(8192, 4096), (2048, 8192)] {
        world.resize(0, "a", blocks);
        world.write_ones(0, 7, 4);
        assert!(world.ends(4).iter().all(Result::is_ok));
        assert_eq!(world.remote().units()[0].lun.blocks, blocks);
        let (before, now) = (before * 512, blocks * 512);
        assert!(world.remote().take_news()[0].ends_with(&format!("size has changed from {before} to {now} bytes")));
        world.write_ones(0, blocks - 1, 2);
        let ended = world.ends(2);
        let why = format!("WRITE of 1 blocks at {blocks}: the disk ends before");
        assert!(ended.contains(&Ok(())) && ended.contains(&Err(why)), "{ended:?}");
    }
}

/// An attention of the log harms nothing, and ends with REQUEST SENSE; what that takes along is looked into.
#[test]
fn an_attention_that_the_unit_keeps_until_it_is_asked_fails_nothing() {
    for grows in [0, 8] {
        let mut world = World::files(&["a"]);
        world.wire(Some(Damage::Interlock(grows)));
        world.write_ones(0, 10, 1);
        assert_eq!(world.end_after(10), Ok(()));
        world.wait(1_000);
        assert_eq!(world.remote().units()[0].lun.blocks, 4096 + grows);
        assert_eq!(world.remote().take_news().len(), usize::from(grows > 0));
    }
}

/// Nobody reads or writes: the target is asked now and then.
#[test]
fn disks_that_come_and_go_are_noticed_while_nothing_moves() {
    let mut world = World::files(&["a"]);
    world.add(1, "b");
    world.wait(6_000);
    assert_eq!(world.remote().units().len(), 2);
    world.write_ones(1, 7, 4);
    assert!(world.ends(4).iter().all(Result::is_ok));
    world.remove(0);
    world.remove(1);
    world.wait(6_000);
    let news = world.remote().take_news();
    assert!(news.len() == 2 && news[0].ends_with("/0: the target has no such disk any more"), "{news:?}");
    world.write_ones(1, 7, 1);
    assert_eq!(world.ends(1), [Err("Gone".to_owned())]);
    // A target without disks is asked, too.
    world.add(1, "b");
    world.wait(6_000);
    assert!(world.remote().take_news()[0].ends_with("/1: the disk is back"));
    world.write_ones(1, 7, 1);
    assert_eq!(world.ends(1), [Ok(())]);
}
