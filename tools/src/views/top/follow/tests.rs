//! Folders that grow, change and break while they are followed.

use super::*;
use crate::{
    folder::{
        CONSOLE, SYMBOLS,
        record::{GuestEnd, TotalsRecord},
        sdb_name,
    },
    formats::{counters::tests::payload, samples::tests::block},
    profile::tests::{collection, full_block},
    symbols::UNKNOWN,
    views::top::{
        fixtures::{SECOND, START, append, change, running},
        tally::{Order, Span},
    },
};
use link::data::Level;

const ALL: u64 = u64::MAX;

/// Symbols with their recent and their total samples.
fn hot(followed: &Followed) -> Vec<(String, f64, u64)> {
    let lines = followed.tally.ordered(Span::Total, Order::Share);
    let lines = lines.iter().map(|hot| {
        let count = &hot.count;
        (hot.line.symbol.to_string(), count.recent, count.total)
    });
    lines.collect()
}

fn warned(followed: &Followed) -> String {
    let warnings = followed.warnings().into_iter();
    let texts = warnings.map(|(is_loss, text)| format!("{is_loss} {text}\n"));
    texts.collect()
}

#[test]
fn each_refresh_counts_only_whole_new_blocks() {
    let directory = running();
    let path = directory.path();
    let mut followed = Followed::open(path).unwrap();
    assert_eq!(followed.found().samples, 0);
    followed.refresh(ALL);
    assert_eq!((followed.found().samples, followed.found().blocks), (7, 2));
    assert_eq!(followed.guest_seconds(), Some(2.0));
    assert_eq!(followed.instructions(), Some(1_500_000_000));
    let mut addresses = [0x20_0000; 126];
    addresses[7] = 0x20_0020;
    let next = full_block(&addresses, START + 3 * SECOND);
    append(path, &sdb_name(1), &next);
    append(path, &sdb_name(0), &next[..1000]);
    followed.refresh(ALL);
    let found = followed.found();
    assert_eq!((found.samples, found.blocks), (133, 3));
    let inner = ("inner".to_owned(), 3.0 * 0.875 + 1.0, 4);
    assert_eq!(hot(&followed)[1], inner);
    assert_eq!(followed.guest_seconds(), Some(3.0));
    append(path, &sdb_name(0), &next[1000..4000]);
    followed.refresh(ALL);
    assert_eq!(followed.found().samples, 133);
    append(path, &sdb_name(0), &next[4000..]);
    append(path, &sdb_name(2), &next);
    followed.refresh(ALL);
    let found = followed.found();
    assert_eq!((found.samples, found.blocks), (385, 5));
    assert_eq!(
        followed.tally.cpus.keys().copied().collect::<Vec<_>>(),
        [0, 1, 2]
    );
    assert_eq!(
        (followed.found().malformed, followed.found().overflow),
        (0, 2)
    );
    assert_eq!((followed.lost(0), followed.lost(1)), (2, 0));
    assert_eq!(warned(&followed), "true 2 samples found no room.\n");
}

#[test]
fn a_long_file_is_read_in_parts_that_add_up() {
    let directory = running();
    let many: Vec<u8> = (0..50).flat_map(|_| block(&[(0x20_0000, 0)], 0)).collect();
    append(directory.path(), &sdb_name(1), &many);
    let mut followed = Followed::open(directory.path()).unwrap();
    let mut shares = Vec::new();
    loop {
        followed.refresh(20 * 4096 + 5);
        match followed.read_so_far() {
            Some(share) => shares.push(share),
            None => break,
        }
    }
    assert_eq!(shares, [21.0 / 52.0, 41.0 / 52.0]);
    assert_eq!(
        (followed.found().samples, followed.found().blocks),
        (57, 52)
    );
}

#[test]
fn the_end_of_a_run_brings_its_reason_its_counters_and_what_was_lost() {
    let directory = running();
    let path = directory.path();
    let mut followed = Followed::open(path).unwrap();
    followed.refresh(ALL);
    assert!(!followed.folder.has_ended() && followed.sets().is_empty());
    let counters = payload(0, Level::Machine, 1, 0, &[4000, 2000]);
    append(path, COUNTERS, &counters);
    append(path, COUNTERS, &counters[..20]);
    append(path, &sdb_name(1), &[0; 77]);
    followed.refresh(ALL);
    assert_eq!(followed.sets()[0].values, [4000, 2000]);
    assert_eq!(warned(&followed), "true 2 samples found no room.\n");
    change(path, |record| {
        record.end = End::Guest(GuestEnd {
            cpu: 0,
            reason: 1,
            psw_mask: 0,
            psw_address: 0xBAD,
            code: 0,
        });
        record.totals = vec![TotalsRecord {
            samples_taken: 9,
            samples_lost: 5,
            guest_instructions: 1_600_000_000,
            ..TotalsRecord::default()
        }];
    });
    followed.refresh(ALL);
    assert!(followed.folder.has_ended());
    assert_eq!(followed.instructions(), Some(1_600_000_000));
    assert_eq!((followed.lost(0), followed.lost(1)), (5, 0));
    let expected = "true 5 samples found no room.\n\
         true 1 sample-data block is damaged or cut off.\n\
         false The machine stored 9 samples, and 7 arrived.\n\
         false Counters.bin ends in the middle of a counter set.\n";
    assert_eq!(warned(&followed), expected);
}

#[test]
fn a_run_that_was_cut_off_says_so_only_when_it_has_ended() {
    let directory = running();
    change(directory.path(), |record| record.end = End::Interrupted);
    let mut followed = Followed::open(directory.path()).unwrap();
    followed.refresh(ALL);
    assert!(warned(&followed).contains("did not come to its end"));
}

#[test]
fn another_run_in_the_same_folder_is_read_from_its_beginning() {
    let directory = running();
    let path = directory.path();
    let mut followed = Followed::open(path).unwrap();
    followed.refresh(ALL);
    assert_eq!(followed.found().samples, 7);
    fs::remove_file(path.join(sdb_name(1))).unwrap();
    followed.refresh(ALL);
    assert_eq!(followed.found().samples, 5, "one CPU's file is gone");
    fs::write(path.join(sdb_name(0)), []).unwrap();
    followed.refresh(ALL);
    followed.refresh(ALL);
    assert_eq!(followed.found().samples, 0, "it has been begun anew");
    append(path, &sdb_name(0), &block(&[(0x20_0020, 0)], 0));
    followed.refresh(ALL);
    assert_eq!(hot(&followed), [("inner".to_owned(), 1.0, 1)]);
    // The same file with the same length: only the record tells that the machine has not started yet.
    change(path, |record| record.started = None);
    fs::write(path.join(sdb_name(0)), block(&[(0x20_0000, 0)], 0)).unwrap();
    followed.refresh(ALL);
    assert_eq!(hot(&followed), [("start".to_owned(), 1.0, 1)]);
}

#[test]
fn names_that_come_late_name_the_samples_from_before() {
    let directory = running();
    let path = directory.path();
    let symbols = fs::read(path.join(SYMBOLS)).unwrap();
    fs::remove_file(path.join(SYMBOLS)).unwrap();
    let mut followed = Followed::open(path).unwrap();
    followed.refresh(ALL);
    assert_eq!(hot(&followed)[0].0, UNKNOWN);
    assert!(warned(&followed).contains("Symbols.txt is missing"));
    fs::write(path.join(SYMBOLS), symbols).unwrap();
    followed.refresh(ALL);
    assert_eq!(
        (&hot(&followed)[0].0[..], hot(&followed)[0].2),
        ("inner", 3)
    );
    assert!(!warned(&followed).contains("missing"));
}

#[test]
fn the_samples_of_a_linux_are_named_when_it_says_where_its_kernel_lies() {
    let directory = running();
    let path = directory.path();
    change(path, |record| record.is_linux = true);
    let symbols = "0000000000100000\t0000000000100040\tkernel\tdo_it\n";
    fs::write(path.join(SYMBOLS), symbols).unwrap();
    let mut followed = Followed::open(path).unwrap();
    followed.refresh(ALL);
    assert_eq!(hot(&followed)[0].0, UNKNOWN);
    append(path, CONSOLE, b"[ 0.0] Linux\n\x1Emillimeter: kern");
    followed.refresh(ALL);
    assert_eq!(hot(&followed)[0].0, UNKNOWN);
    append(path, CONSOLE, b"el 200000\n");
    followed.refresh(ALL);
    assert_eq!(hot(&followed)[0].0, "do_it");
    assert_eq!(followed.found().samples, 7);
}

#[test]
fn the_samples_of_his_come_from_its_newest_collection_run() {
    let directory = running();
    let path = directory.path();
    for cpu in [0, 1] {
        fs::remove_file(path.join(sdb_name(cpu))).unwrap();
    }
    change(path, |record| record.interval = 0);
    let mut followed = Followed::open(path).unwrap();
    followed.refresh(ALL);
    assert_eq!(followed.found().samples, 0);
    let first = "SYSHIS20260301.161406";
    change(path, |record| record.collections.push(first.to_owned()));
    append(
        path,
        &format!("{first}.000.SMP.00"),
        &full_block(&[0x20_0020; 9], 7),
    );
    append(path, &format!("{first}.000.SMP.01"), b"");
    followed.refresh(ALL);
    assert_eq!(hot(&followed), [("inner".to_owned(), 9.0, 9)]);
    append(
        path,
        &format!("{first}.000.SMP.01"),
        &full_block(&[0x20_0000; 2], 7),
    );
    followed.refresh(ALL);
    assert_eq!(hot(&followed)[1], ("start".to_owned(), 2.0, 2));
    assert_eq!(hot(&followed)[0].2, 9, "nothing was read again");
    let second = "SYSHIS20260301.170000";
    change(path, |record| record.collections.push(second.to_owned()));
    append(
        path,
        &format!("{second}.000.SMP.00"),
        &full_block(&[0x20_0000], 7),
    );
    followed.refresh(ALL);
    assert_eq!(hot(&followed), [("start".to_owned(), 1.0, 1)]);
}

#[test]
fn a_collection_is_shown_with_the_names_and_counters_of_its_own_files() {
    let directory = collection();
    let mut followed = Followed::open(&directory.path().join("SYSHIS20260301.161406")).unwrap();
    followed.refresh(ALL);
    assert_eq!(followed.found().samples, 4);
    let mut followed = Followed::open(directory.path()).unwrap();
    followed.refresh(ALL);
    assert_eq!(followed.folder.title, "SYSHIS20260301.161406");
    assert_eq!(hot(&followed)[0], ("inner".to_owned(), 2.0, 2));
    assert_eq!(followed.sets()[0].values, [0x15, 4]);
    assert!(!warned(&followed).contains("MAP"));
    fs::remove_file(directory.path().join("SYSHIS20260301.161406.001.MAP")).unwrap();
    followed.refresh(ALL);
    assert!(warned(&followed).contains("MAP is missing"));
    assert_eq!(hot(&followed), [(UNKNOWN.to_owned(), 4.0, 4)]);
}

#[test]
fn a_file_that_cannot_be_read_is_a_doubt_and_earlier_data_stay() {
    let directory = running();
    let path = directory.path();
    let good = fs::read(path.join(RECORD)).unwrap();
    let mut followed = Followed::open(path).unwrap();
    followed.refresh(ALL);
    fs::write(path.join(RECORD), b"{").unwrap();
    followed.refresh(ALL);
    let text = warned(&followed);
    assert!(text.contains("run.json is damaged"), "{text}");
    assert_eq!(followed.found().samples, 7, "what was known stays");
    fs::write(path.join(RECORD), good).unwrap();
    followed.refresh(ALL);
    assert!(!warned(&followed).contains("damaged"));
    assert_eq!(followed.found().samples, 7);
    // A folder or a pipe with the name of a file of blocks is not one.
    fs::create_dir(path.join(sdb_name(3))).unwrap();
    fs::write(path.join(sdb_name(4)), [0xFF; 3 * 4096]).unwrap();
    followed.refresh(ALL);
    assert_eq!(
        (followed.found().samples, followed.found().malformed),
        (7, 3)
    );
}

#[test]
fn a_run_that_writes_nothing_may_be_dead() {
    let directory = running();
    let path = directory.path();
    let mut followed = Followed::open(path).unwrap();
    followed.refresh(ALL);
    assert!(!warned(&followed).contains("nothing has been written"));
    let long_ago = SystemTime::now() - Duration::from_secs(1000);
    for name in [RECORD.to_owned(), sdb_name(0), sdb_name(1)] {
        let file = fs::File::options().write(true).open(path.join(name));
        file.unwrap().set_modified(long_ago).unwrap();
    }
    followed.refresh(ALL);
    let text = warned(&followed);
    assert!(text.contains("Nothing has been written for 100"), "{text}");
}

#[test]
fn without_a_name_the_folder_that_was_written_last_is_followed() {
    let parent = tempfile::tempdir().unwrap();
    let error = format!("{:#}", newest(parent.path()).unwrap_err());
    assert!(error.contains("cargo measure run"), "{error}");
    let run = running();
    let long_ago = SystemTime::now() - Duration::from_secs(1000);
    for (name, is_old) in [
        ("millimeter-a-1", true),
        ("millimeter-a-2", false),
        ("millimeter-a-3", true),
        ("other", false),
    ] {
        let folder = parent.path().join(name);
        fs::create_dir(&folder).unwrap();
        fs::copy(run.path().join(RECORD), folder.join(RECORD)).unwrap();
        if is_old {
            let file = fs::File::options().write(true).open(folder.join(RECORD));
            file.unwrap().set_modified(long_ago).unwrap();
        }
    }
    fs::create_dir(parent.path().join("millimeter-empty")).unwrap();
    let found = newest(parent.path()).unwrap();
    assert!(found.ends_with("millimeter-a-2"), "{}", found.display());
}

#[test]
fn a_folder_that_holds_nothing_is_refused_with_what_is_missing() {
    let directory = tempfile::tempdir().unwrap();
    let error = Followed::open(directory.path()).err().unwrap();
    let error = format!("{error:#}");
    assert!(
        error.contains("run.json") && error.contains("SMP.cpu"),
        "{error}"
    );
}
