//! Which toolchain is taken, and what is said when there is none.

use super::*;

fn sysroot(name: &str, version: (u32, u32), has_target: bool, has_source: bool) -> Sysroot {
    let path = PathBuf::from("/opt").join(name);
    Sysroot {
        name: name.to_owned(),
        path,
        version,
        has_target,
        has_source,
    }
}

fn complete() -> Facts {
    Facts {
        sysroots: vec![
            sysroot("plain", (1, 95), false, false),
            sysroot("source", (1, 95), false, true),
            sysroot("target", (1, 95), true, false),
        ],
        debian: Some(sysroot("debian", (1, 96), false, true)),
        gnu_ld: Some("/usr/bin/s390x-linux-gnu-ld".into()),
        rust_lld: Some("/opt/rust-lld".into()),
        has_apt: true,
        is_root: false,
    }
}

fn used(facts: &Facts) -> (String, Core) {
    match decide(facts) {
        Decision::Use(toolchain) => (toolchain.sysroot.name, toolchain.core),
        other => panic!("{other:?}"),
    }
}

#[test]
fn an_installed_target_comes_first_then_source_of_the_active_toolchain_debians_and_anothers() {
    let mut facts = complete();
    assert_eq!(used(&facts), ("target".to_owned(), Core::Prebuilt));
    facts.sysroots.pop();
    assert_eq!(used(&facts), ("debian".to_owned(), Core::FromSource));
    facts.sysroots.swap(0, 1);
    assert_eq!(used(&facts), ("source".to_owned(), Core::FromSource));
    facts.sysroots.swap(0, 1);
    facts.debian = None;
    assert_eq!(used(&facts), ("source".to_owned(), Core::FromSource));
}

#[test]
fn a_toolchain_that_is_too_old_is_passed_by() {
    let mut facts = complete();
    for old in &mut facts.sysroots {
        old.version = (1, 89);
    }
    assert_eq!(used(&facts).0, "debian");
}

#[test]
fn root_installs_what_is_missing_and_nothing_else() {
    let mut facts = complete();
    facts.is_root = true;
    facts.debian = None;
    facts.sysroots.truncate(1);
    assert_eq!(
        decide(&facts),
        Decision::Install(DEBIAN_PACKAGES[..3].to_vec())
    );
    (facts.gnu_ld, facts.rust_lld) = (None, None);
    assert_eq!(decide(&facts), Decision::Install(DEBIAN_PACKAGES.to_vec()));
    let mut no_linker = complete();
    no_linker.is_root = true;
    (no_linker.gnu_ld, no_linker.rust_lld) = (None, None);
    assert_eq!(decide(&no_linker), Decision::Install(vec![DEBIAN_LINKER]));
}

#[test]
fn whoever_may_not_install_is_told_the_exact_command() {
    let mut facts = complete();
    facts.debian = None;
    facts.sysroots.truncate(1);
    let Decision::Missing(text) = decide(&facts) else {
        panic!()
    };
    assert!(
        text.contains("rustup target add s390x-unknown-none-softfloat"),
        "{text}"
    );
    assert!(text.contains("sudo apt-get install"), "{text}");
    assert!(text.contains("rustc-web cargo-web rust-web-src"), "{text}");
    facts.has_apt = false;
    let Decision::Missing(text) = decide(&facts) else {
        panic!()
    };
    assert!(!text.contains("apt-get"), "{text}");
}

#[test]
fn the_targets_own_linker_comes_before_gnu_ld() {
    let linker = |facts: &Facts| match decide(facts) {
        Decision::Use(toolchain) => toolchain.linker,
        other => panic!("{other:?}"),
    };
    let mut facts = complete();
    assert_eq!(linker(&facts), Linker::RustLld("/opt/rust-lld".into()));
    facts.rust_lld = None;
    let gnu = PathBuf::from("/usr/bin/s390x-linux-gnu-ld");
    assert_eq!(linker(&facts), Linker::GnuLd(gnu));
}

#[test]
fn the_version_is_read_from_what_rustc_says() {
    assert_eq!(
        version("rustc 1.96.0 (ac68faa20 2026-05-25)"),
        Some((1, 96))
    );
    assert_eq!(version("no compiler"), None);
}

#[test]
fn an_inner_cargo_inherits_the_network_and_no_flags() {
    assert!(is_inherited("CARGO_ENCODED_RUSTFLAGS") && is_inherited("CARGO_TARGET_DIR"));
    assert!(is_inherited("RUSTUP_TOOLCHAIN") && is_inherited("CARGO_MANIFEST_DIR"));
    assert!(!is_inherited("CARGO_HOME") && !is_inherited("CARGO_HTTP_CAINFO"));
    assert!(!is_inherited("CARGO_REGISTRIES_X_INDEX") && !is_inherited("HOME"));
}
