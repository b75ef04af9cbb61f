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
fn messages_of_apt_get_are_passed_on_line_by_line() {
    let messages: Vec<String> = lines("Get:1 lists\n\n  Unpacking qemu \n".as_bytes()).collect();
    assert_eq!(messages, ["Get:1 lists", "Unpacking qemu"]);
}
