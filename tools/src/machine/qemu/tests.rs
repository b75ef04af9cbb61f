//! The command line, and children that end when they should.

use super::*;

#[test]
fn the_version_is_read_from_what_qemu_says() {
    assert_eq!(
        version("QEMU emulator version 7.2.22 (Debian 1:7.2+dfsg)"),
        Some((7, 2, 22))
    );
    assert_eq!(
        version("QEMU emulator version 10.0.2rc1\n"),
        Some((10, 0, 2))
    );
    assert_eq!(version("QEMU emulator version 11.1"), Some((11, 1, 0)));
    assert_eq!(version("BusyBox"), None);
}

fn line(mode: Mode, rtc: Rtc) -> String {
    setup(mode, rtc).arguments().join(" ")
}

fn setup(mode: Mode, rtc: Rtc) -> Setup<'static> {
    Setup {
        mode,
        cpus: 2,
        storage: Storage(512 << 20),
        rtc,
        cpu_model: "max",
        form: Form::Elf,
        file: Path::new("/image"),
        staging: vec!["-device".to_owned(), "loader".to_owned()],
        devices: Vec::new(),
        version: (7, 2, 22),
        sandbox: true,
        log: None,
        kept: None,
    }
}

#[test]
fn an_exact_run_counts_instructions_and_never_sleeps() {
    let line = line(Mode::Exact, "2026-01-01T00:00:00".parse().unwrap());
    assert!(
        line.contains("-icount shift=0,sleep=off -rtc base=2026-01-01T00:00:00,clock=vm -seed 1"),
        "{line}"
    );
    assert!(
        line.contains("-cpu max,zpci=off,aen=off,ais=off -m 512M -smp 2 -accel tcg,thread=single"),
        "{line}"
    );
    assert!(line.ends_with("-kernel /image -device loader"), "{line}");
}

#[test]
fn an_interactive_run_sleeps_and_a_real_time_run_does_not_count() {
    assert!(
        line(Mode::Interactive, Rtc::Now)
            .contains("-icount shift=0,sleep=on -rtc base=utc,clock=vm")
    );
    let real = line(Mode::RealTime, Rtc::Now);
    assert!(
        !real.contains("icount") && !real.contains("clock=vm") && real.contains("thread=multi"),
        "{real}"
    );
}

#[test]
fn qemu_runs_in_its_sandbox_if_it_has_one() {
    let has = |setup: &Setup<'_>| setup.arguments().iter().any(|word| word == "-sandbox");
    let with = setup(Mode::Exact, Rtc::Now);
    let sandbox = false;
    assert!(has(&with) && !has(&Setup { sandbox, ..with }));
    let can = |program: &str| has_sandbox(&install::in_path(program).unwrap());
    assert!(can("true") && !can("false"));
}

#[test]
fn each_version_of_qemu_has_its_own_options_to_log_each_instruction() {
    let log = ExecutionLog {
        file: "/pipe".into(),
        addresses: 0x1F70_0000..0x1F70_1000,
    };
    let line = |version| {
        let setup = Setup {
            version,
            log: Some(&log),
            kept: None,
            ..setup(Mode::Exact, Rtc::Now)
        };
        setup.arguments().join(" ")
    };
    let old = line((7, 2, 22));
    assert!(
        old.ends_with("-d exec,nochain -D /pipe -dfilter 0x1f700000+0x1000 -singlestep")
            && old.contains("-accel tcg,thread=single -icount"),
        "{old}"
    );
    assert_eq!(line((8, 0, 5)), old);
    let new = line((8, 1, 0));
    assert!(
        new.ends_with("-dfilter 0x1f700000+0x1000")
            && new.contains("-accel tcg,thread=single,one-insn-per-tb=on -icount"),
        "{new}"
    );
    assert_eq!(line((10, 0, 2)), new);
}

#[test]
fn a_program_that_is_not_there_is_refused_with_the_remedy() {
    let error = Qemu::locate(Some(Path::new("/no/such/qemu")))
        .unwrap_err()
        .to_string();
    assert!(
        error.contains("/no/such/qemu") && error.contains("--qemu"),
        "{error}"
    );
    let error = Qemu::locate(Some(Path::new("/bin/true")))
        .unwrap_err()
        .to_string();
    assert!(error.contains("does not say that it is QEMU"), "{error}");
}

fn shell(script: &str) -> Running {
    Running::start(Path::new("/bin/sh"), &["-c".to_owned(), script.to_owned()]).unwrap()
}

#[test]
fn bytes_complaints_and_the_exit_status_are_kept() {
    let mut running = shell("read line; echo heard $line; echo trouble >&2; exit 3");
    running.send(b"this\n");
    assert_eq!(
        running.hear(Duration::from_secs(10)),
        Heard::Bytes(b"heard this\n".to_vec())
    );
    assert_eq!(running.hear(Duration::from_secs(10)), Heard::End);
    assert_eq!(
        running.finish(Duration::from_secs(10)).unwrap().code(),
        Some(3)
    );
    assert_eq!(running.complaints(), "trouble");
}

#[test]
fn a_program_does_not_outlive_its_owner() {
    let running = shell("exec sleep 600");
    let process = PathBuf::from(format!("/proc/{}", running.id()));
    assert!(process.exists());
    assert_eq!(running.hear(Duration::from_millis(20)), Heard::Silence);
    drop(running);
    assert!(!process.exists());
}

#[test]
fn a_program_that_does_not_end_is_ended() {
    let mut running = shell("exec sleep 600");
    assert!(!running.finish(Duration::from_millis(50)).unwrap().success());
}
