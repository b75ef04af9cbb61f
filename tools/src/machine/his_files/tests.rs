use super::*;
use crate::{folder::append::tests::fill, symbols::SymbolTable};

/// 2026-01-01 00:00:00.
const NEW_YEAR: u64 = 46_021 * 86_400_000_000 * 4096;

fn payload(kind: Kind, set: u16, more: u8, bytes: &[u8]) -> Vec<u8> {
    let head = FileHead {
        kind: kind as u8,
        more,
        set: set.into(),
        cpu: 3.into(),
        reserved: 0.into(),
        run: NEW_YEAR.into(),
    };
    [head.as_bytes(), bytes].concat()
}

fn files(directory: &Path) -> HisFiles {
    given(HisFiles::new(
        directory,
        Some(SymbolTable::default().into()),
    ))
}

/// Files of runs for which the operator has named these directories.
fn given(mut files: HisFiles) -> HisFiles {
    for path in [".", "sub", "file/below"] {
        files.commanded(&format!("F HIS,B,PATH='{path}'"));
    }
    files
}

#[test]
fn files_have_the_names_of_his_and_a_record_is_written_when_it_is_whole() {
    let directory = tempfile::tempdir().unwrap();
    let mut his = files(directory.path());
    let take = |his: &mut HisFiles, kind, set, more, bytes| {
        assert_eq!(his.take(&payload(kind, set, more, bytes)), Taken::Written);
    };
    let prefix = "SYSHIS20260101.000000.".to_owned();
    let begun = his.take(&payload(Kind::Begin, 0, 0, b"sub"));
    assert_eq!(begun, Taken::Begun(prefix));
    take(&mut his, Kind::Samples, 1, 0, &b"block"[..]);
    take(&mut his, Kind::Smf, 0, 1, b"one ");
    let path = directory.path().join("sub");
    let smf = path.join("SYSHIS20260101.000000.000.SMF");
    assert!(!smf.exists(), "the record is not whole");
    take(&mut his, Kind::Smf, 0, 0, b"record");
    take(&mut his, Kind::Smf, 0, 0, b", another");
    take(&mut his, Kind::EndWithMap, 1, 0, b"");
    assert_eq!(fs::read(&smf).unwrap(), b"one record, another");
    let samples = path.join("SYSHIS20260101.000000.001.SMP.03");
    assert_eq!(fs::read(samples).unwrap(), b"block");
    assert!(path.join("SYSHIS20260101.000000.001.MAP").exists());
}

#[test]
fn a_payload_that_makes_no_sense_is_bad_and_changes_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let mut his = files(directory.path());
    assert_eq!(his.take(b"short"), Taken::Bad);
    assert_eq!(his.take(&payload(Kind::Smf, 0, 0, b"x")), Taken::Bad);
    let begun = his.take(&payload(Kind::Begin, 0, 0, b"."));
    assert!(matches!(begun, Taken::Begun(_)));
    assert_eq!(his.take(&payload(Kind::Begin, 0, 0, b"/")), Taken::Bad);
    assert_eq!(his.take(&payload(Kind::NotWritten, 0, 0, b"")), Taken::Bad);
    for _ in 0..16 {
        his.take(&payload(Kind::Monitor, 0, 1, &[0; 8000]));
    }
    assert_eq!(
        his.take(&payload(Kind::Monitor, 0, 1, &[0; 8000])),
        Taken::Bad,
        "a record without an end"
    );
    assert_eq!(fs::read_dir(directory.path()).unwrap().count(), 0);
}

#[test]
fn a_path_that_cannot_be_written_ends_the_collection_run_and_is_reported_once() {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("file"), b"").unwrap();
    let mut his = files(directory.path());
    let taken = his.take(&payload(Kind::Begin, 0, 0, b"file/below"));
    let Taken::NotWritten { answer, why } = taken else {
        panic!("{taken:?}");
    };
    assert_eq!(parse(&answer).unwrap().1, Kind::NotWritten);
    assert!(why.contains("file/below") && why.contains("PATH"), "{why}");
    assert_eq!(his.take(&payload(Kind::Smf, 0, 0, b"x")), Taken::Written);
}

#[test]
fn a_map_waits_until_the_guest_has_said_where_its_programs_lie() {
    let directory = tempfile::tempdir().unwrap();
    let mut his = given(HisFiles::new(directory.path(), None));
    his.take(&payload(Kind::Begin, 0, 0, b"."));
    assert!(!his.awaits_contents());
    let taken = his.take(&payload(Kind::EndWithMap, 2, 0, b""));
    assert_eq!(taken, Taken::Written);
    let map = directory.path().join("SYSHIS20260101.000000.002.MAP");
    assert!(his.awaits_contents() && !map.exists());
    let symbols = "0000000000100000\t0000000000100040\tkernel\tdo_it\n";
    let contents = Contents::from(SymbolTable::from_text(symbols).unwrap());
    assert_eq!(his.settle_maps(Ok(&contents)), [""; 0]);
    let text = fs::read_to_string(&map).unwrap();
    assert!(text.contains("do_it"), "{text}");
    assert!(!his.awaits_contents());
    fs::remove_file(&map).unwrap();
    his.settle_maps(Ok(&contents));
    assert!(!map.exists(), "it has been written");
}

#[test]
fn a_map_that_waits_in_vain_is_not_written_and_one_line_says_why() {
    let directory = tempfile::tempdir().unwrap();
    let mut his = given(HisFiles::new(directory.path(), None));
    his.take(&payload(Kind::Begin, 0, 0, b"sub"));
    his.take(&payload(Kind::EndWithMap, 0, 0, b""));
    let line = "SYSHIS20260101.000000.000.MAP is not written: nobody knows";
    assert_eq!(his.settle_maps(Err("nobody knows")), [line]);
    let path = directory.path().join("sub");
    assert_eq!(fs::read_dir(&path).unwrap().count(), 0);
    // What cannot be written is named, too.
    let mut his = given(HisFiles::new(directory.path(), None));
    his.take(&payload(Kind::Begin, 0, 0, b"sub"));
    his.take(&payload(Kind::EndWithMap, 0, 0, b""));
    fs::create_dir(path.join("SYSHIS20260101.000000.000.MAP")).unwrap();
    let contents = Contents::from(SymbolTable::default());
    let lines = his.settle_maps(Ok(&contents));
    assert!(
        lines[0].contains("cannot write") && lines[0].contains("000.MAP"),
        "{lines:?}"
    );
    // A run that wants no map gets none, even when its contents are known.
    let mut his = given(HisFiles::new(directory.path(), None));
    his.take(&payload(Kind::Begin, 0, 0, b"sub"));
    his.take(&payload(Kind::End, 0, 0, b""));
    assert!(!his.awaits_contents());
}

#[test]
fn a_disk_that_becomes_full_ends_the_run_with_a_message_and_keeps_the_files_before() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| {
        directory
            .path()
            .join(format!("SYSHIS20260101.000000.{name}"))
    };
    fill("SYSHIS20260101.000000.001.SMP.03");
    let mut his = files(directory.path());
    let begun = his.take(&payload(Kind::Begin, 0, 0, b"."));
    assert!(matches!(begun, Taken::Begun(_)));
    let block = crate::formats::samples::tests::block(&[(0x20_0000, 0), (0x20_0004, 0)], 0);
    for _ in 0..2 {
        let taken = his.take(&payload(Kind::Samples, 0, 0, &block));
        assert_eq!(taken, Taken::Written);
    }
    // Half of a record arrives before the disk is full, and half of it after.
    assert_eq!(his.take(&payload(Kind::Smf, 0, 1, b"one ")), Taken::Written);
    assert_eq!(his.take(&payload(Kind::Smf, 0, 0, b"half")), Taken::Written);
    assert_eq!(his.take(&payload(Kind::Smf, 0, 1, b"two ")), Taken::Written);
    let taken = his.take(&payload(Kind::Samples, 1, 0, &block));
    let Taken::NotWritten { answer, why } = taken else {
        panic!("{taken:?}");
    };
    let (head, kind, _) = parse(&answer).unwrap();
    assert_eq!((kind, head.run.get()), (Kind::NotWritten, NEW_YEAR));
    for words in ["SYSHIS20260101.000000.001.SMP.03: No space left", "PATH"] {
        assert!(why.contains(words), "{words}: {why}");
    }
    for (kind, bytes) in [
        (Kind::Smf, &b"half"[..]),
        (Kind::Samples, &block),
        (Kind::EndWithMap, b""),
    ] {
        assert_eq!(his.take(&payload(kind, 0, 0, bytes)), Taken::Written);
    }
    assert_eq!(fs::read(path("000.SMF")).unwrap(), b"one half");
    assert!(!path("000.MAP").exists());
    let mut out = Vec::new();
    let (form, progress) = (
        crate::views::dump::Form::Csv,
        crate::computer::progress::Progress::Silent,
    );
    crate::views::dump::dump(&path("000.SMP.03"), form, progress, &mut out).unwrap();
    let text = String::from_utf8(out).unwrap();
    assert_eq!(text.matches("primary ASN").count(), 4);
}

#[test]
fn a_path_that_the_host_did_not_give_is_refused_and_nothing_is_created() {
    let outer = tempfile::tempdir().unwrap();
    let directory = outer.path().join("run");
    fs::create_dir(&directory).unwrap();
    let absolute = outer.path().join("absolute");
    let long = "a/".repeat(2048);
    let hostile: [&[u8]; 7] = [
        b"../beside",
        absolute.to_str().unwrap().as_bytes(),
        b"never/given",
        b"",
        b"nul\0l",
        long.as_bytes(),
        b"\xFF",
    ];
    for path in hostile {
        let mut his = files(&directory);
        let taken = his.take(&payload(Kind::Begin, 0, 0, path));
        assert!(matches!(taken, Taken::NotWritten { .. }), "{taken:?}");
        let taken = his.take(&payload(Kind::Smf, 0, 0, b"x"));
        assert_eq!(taken, Taken::Written, "it was told already");
        assert_eq!(fs::read_dir(&directory).unwrap().count(), 0);
        assert_eq!(fs::read_dir(outer.path()).unwrap().count(), 1);
    }
}

#[test]
fn a_path_in_a_parameter_file_is_given_when_a_command_names_the_file() {
    let directory = tempfile::tempdir().unwrap();
    let mut his = HisFiles::new(directory.path(), None);
    for line in ["DD PARMS", "DD PARMS PATH='below'", "F HIS,B,DDNAME=PARMS"] {
        his.commanded(line);
    }
    let begun = his.take(&payload(Kind::Begin, 0, 0, b"below"));
    assert!(matches!(begun, Taken::Begun(_)), "{begun:?}");
}

/// Gives the machine a run in a directory and one record in it; returns why it was not written, if it was not.
fn refused(his: &mut HisFiles, path: &[u8]) -> Option<String> {
    let begun = his.take(&payload(Kind::Begin, 0, 0, path));
    assert!(matches!(begun, Taken::Begun(_)), "{begun:?}");
    match his.take(&payload(Kind::Smf, 0, 0, b"record")) {
        Taken::Written => None,
        Taken::NotWritten { why, .. } => Some(why),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_file_of_a_run_is_never_another_one_that_has_its_name() {
    let outer = tempfile::tempdir().unwrap();
    let other = outer.path().join("other");
    let directory = outer.path().join("run");
    fs::create_dir(&directory).unwrap();
    let smf = directory.join("SYSHIS20260101.000000.000.SMF");
    // A link to a file, to none, and to a device.
    fs::write(&other, "other").unwrap();
    for to in [&other, &outer.path().join("none"), Path::new("/dev/null")] {
        std::os::unix::fs::symlink(to, &smf).unwrap();
        let why = refused(&mut files(&directory), b".").expect("it is not followed");
        assert!(why.contains("symbolic link"), "{why}");
        fs::remove_file(&smf).unwrap();
    }
    assert!(!outer.path().join("none").exists());
    // A second name of a file: the run gets a file of its own.
    fs::hard_link(&other, &smf).unwrap();
    assert_eq!(refused(&mut files(&directory), b"."), None);
    assert_eq!(fs::read(&smf).unwrap(), b"record");
    assert_eq!(fs::read(&other).unwrap(), b"other");
    fs::remove_file(&smf).unwrap();
    // A FIFO without a reader would hold the host for ever.
    let made = std::process::Command::new("mkfifo").arg(&smf).status();
    assert!(made.unwrap().success());
    let why = refused(&mut files(&directory), b".").expect("nobody reads it");
    assert!(why.contains("FIFO"), "{why}");
}

#[test]
fn a_run_keeps_its_directory_when_another_gets_its_name() {
    let outer = tempfile::tempdir().unwrap();
    let path = |name: &str| outer.path().join(name);
    for name in ["run", "other"] {
        fs::create_dir(path(name)).unwrap();
    }
    let mut his = files(&path("run"));
    let begun = his.take(&payload(Kind::Begin, 0, 0, b"sub"));
    assert!(matches!(begun, Taken::Begun(_)), "{begun:?}");
    fs::rename(path("run/sub"), path("before")).unwrap();
    std::os::unix::fs::symlink(path("other"), path("run/sub")).unwrap();
    let taken = his.take(&payload(Kind::Smf, 0, 0, b"record"));
    assert_eq!(taken, Taken::Written);
    assert_eq!(fs::read_dir(path("other")).unwrap().count(), 0);
    let smf = path("before").join("SYSHIS20260101.000000.000.SMF");
    assert_eq!(fs::read(smf).unwrap(), b"record");
}

/// A payload of the run that began so many microseconds into the year.
fn later(kind: Kind, microseconds: u64, bytes: &[u8]) -> Vec<u8> {
    let head = FileHead {
        kind: kind as u8,
        run: (NEW_YEAR + microseconds * 4096).into(),
        ..FileHead::default()
    };
    [head.as_bytes(), bytes].concat()
}

#[test]
fn two_runs_of_one_second_do_not_write_the_same_files() {
    let directory = tempfile::tempdir().unwrap();
    let mut his = files(directory.path());
    assert_eq!(refused(&mut his, b"."), None);
    his.take(&payload(Kind::End, 0, 0, b""));
    // The same directory by another name.
    std::os::unix::fs::symlink(".", directory.path().join("sub")).unwrap();
    for (microseconds, path) in [(1, &b"."[..]), (2, b"sub")] {
        let taken = his.take(&later(Kind::Begin, microseconds, path));
        let Taken::NotWritten { why, .. } = taken else {
            panic!("{taken:?}");
        };
        assert!(why.contains("same second"), "{why}");
        let taken = his.take(&later(Kind::Smf, microseconds, b"other"));
        assert_eq!(taken, Taken::Written, "it was told already");
    }
    let smf = directory.path().join("SYSHIS20260101.000000.000.SMF");
    assert_eq!(fs::read(smf).unwrap(), b"record");
    // A second later, or elsewhere, it has names of its own.
    let taken = his.take(&later(Kind::Begin, 1_000_000, b"."));
    assert!(matches!(taken, Taken::Begun(_)), "{taken:?}");
    fs::remove_file(directory.path().join("sub")).unwrap();
    let taken = his.take(&later(Kind::Begin, 3, b"sub"));
    assert!(matches!(taken, Taken::Begun(_)), "{taken:?}");
}

#[test]
fn a_machine_has_so_many_collection_runs_and_is_told_when_there_are_no_more() {
    let directory = tempfile::tempdir().unwrap();
    let mut his = files(directory.path());
    for run in 0..MOST_RUNS as u64 {
        let taken = his.take(&later(Kind::Begin, run, b"never/given"));
        assert!(matches!(taken, Taken::NotWritten { .. }), "{taken:?}");
    }
    for run in 0..2 {
        let taken = his.take(&later(Kind::Begin, MOST_RUNS as u64 + run, b"."));
        let Taken::NotWritten { answer, why } = taken else {
            panic!("{taken:?}");
        };
        assert_eq!(parse(&answer).unwrap().1, Kind::NotWritten);
        assert!(why.contains("no more collection runs"), "{why}");
        let taken = his.take(&later(Kind::Smf, MOST_RUNS as u64 + run, b"x"));
        assert_eq!(taken, Taken::Bad);
    }
    assert_eq!(his.runs.len(), MOST_RUNS);
}
