//! The messages about what must be installed.

use super::*;

fn lack(what: &str, packages: &[&'static str]) -> Lack {
    Lack {
        what: what.to_owned(),
        packages: packages.to_vec(),
        otherwise: format!("{what} by hand"),
    }
}

#[test]
fn everything_that_is_missing_goes_into_one_command() {
    let lacks = [
        lack("a linker", &["ld", "core"]),
        lack("QEMU", &["core", "qemu"]),
    ];
    let text = Packages::Theirs { has_sudo: true }.advice(&lacks);
    assert_eq!(
        text,
        "this computer lacks\n  a linker\n  QEMU\nThis installs it:\n  \
         sudo apt-get update && sudo apt-get install --no-install-recommends ld core qemu\n\
         Instead of that:\n  a linker by hand\n  QEMU by hand"
    );
}

#[test]
fn the_command_is_one_that_this_user_can_type_here() {
    let command = |here: Packages| here.command(&["qemu"]);
    assert!(command(Packages::Ours).starts_with("apt-get update && apt-get install "));
    assert!(!command(Packages::Ours).contains("sudo"));
    assert_eq!(
        command(Packages::Theirs { has_sudo: false }),
        "su - -c 'apt-get update && apt-get install --no-install-recommends qemu'"
    );
    let elsewhere = Packages::Unknown.advice(&[lack("QEMU", &["qemu"])]);
    assert!(elsewhere.contains("On Debian 12 this installs it:"));
}

#[test]
fn if_nothing_is_missing_nothing_is_printed_or_done() {
    provide(Vec::new, &Progress::Silent).unwrap();
}

#[test]
fn a_process_that_waited_for_another_installation_looks_again() {
    let asked = std::cell::Cell::new(0);
    let look = || {
        asked.set(asked.get() + 1);
        match asked.get() {
            1 => vec![lack("QEMU", &["qemu"])],
            _ => Vec::new(),
        }
    };
    provide_by(Packages::Ours, look, &Progress::Silent).unwrap();
    assert_eq!(asked.get(), 2);
}

#[test]
fn a_user_who_may_not_install_gets_advice_and_nothing_is_tried() {
    let here = Packages::Theirs { has_sudo: false };
    let look = || vec![lack("QEMU", &["qemu"])];
    let error = provide_by(here, look, &Progress::Silent).unwrap_err();
    assert_eq!(error.to_string(), here.advice(&look()));
}

#[test]
fn an_installation_is_announced_with_what_is_missing_and_how_large_it_is() {
    let lacks = [lack("a linker", &["ld"]), lack("QEMU", &["qemu"])];
    let size = Size::parse(&[
        "0 upgraded, 3 newly installed, 0 to remove and 132 not upgraded.".to_owned(),
        "After this operation, 136 MB of additional disk space will be used.".to_owned(),
        "'http://deb.debian.org/ld.deb' ld_1_amd64.deb 9500000 MD5Sum:c7".to_owned(),
        "'http://deb.debian.org/qemu.deb' qemu_7_amd64.deb 21400000 MD5Sum:33".to_owned(),
    ]);
    assert_eq!(
        announcement(&lacks, size.as_ref()),
        "this computer lacks\n  a linker\n  QEMU\nInstalling ld, qemu: 3 packages, 30.9 MB to fetch, 136 MB on the disk"
    );
    let unknown = announcement(&lacks, None);
    assert!(unknown.contains("does not say how large"), "{unknown}");
}

#[test]
fn fetching_is_the_first_half_of_an_installation_and_unpacking_the_second() {
    let share = |line: &str| {
        let status = Status::of(line, Work::Installing)?;
        Some((status.share, status.words.to_owned()))
    };
    let fetching = share("dlstatus:1:50.0000:Retrieving file 1 of 2 (3s remaining)");
    let words = "Retrieving file 1 of 2 (3s remaining)".to_owned();
    assert_eq!(fetching, Some((0.25, words)));
    let unpacking = share("pmstatus:qemu:80.5:Unpacking qemu (amd64)");
    let unpacking = unpacking.map_or(0.0, |(share, _)| share);
    assert!((unpacking - 0.9025).abs() < 1e-9, "{unpacking}");
    for other in [
        "Get:1 lists",
        "pmerror:qemu:80:No",
        "dlstatus:1:x:y",
        "",
        "a:b:500:c",
    ] {
        assert_eq!(Status::of(other, Work::Installing), None, "{other}");
    }
    let alone = Status::of("dlstatus:1:50:x", Work::Fetching);
    assert_eq!(alone.map(|status| status.share), Some(0.5));
    assert_eq!(share("dlstatus:1:1e9:x").map(|(share, _)| share), Some(0.5));
}

#[test]
fn messages_of_apt_get_are_passed_on_line_by_line() {
    let messages: Vec<String> = lines("Get:1 lists\n\n  Unpacking qemu \n".as_bytes()).collect();
    assert_eq!(messages, ["Get:1 lists", "Unpacking qemu"]);
}
