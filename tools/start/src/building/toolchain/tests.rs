//! Which toolchain is used, and the advice if there is none.

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
        linker: Some("/opt/rust-lld".into()),
    }
}

fn used(facts: &Facts) -> (String, Core) {
    let toolchain = decide(facts).unwrap();
    (toolchain.sysroot.name, toolchain.core)
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
fn a_toolchain_that_is_too_old_is_skipped() {
    let mut facts = complete();
    for old in &mut facts.sysroots {
        old.version = (1, 89);
    }
    assert_eq!(used(&facts).0, "debian");
}

#[test]
fn only_what_is_missing_is_named() {
    let mut facts = complete();
    facts.debian = None;
    facts.sysroots.truncate(1);
    let lack = decide(&facts).unwrap_err();
    assert_eq!(lack.packages, ["rustc-web", "cargo-web", "rust-web-src"]);
    assert_eq!(lack.otherwise, format!("rustup target add {TARGET}"));

    facts.linker = None;
    let lack = decide(&facts).unwrap_err();
    assert_eq!(lack.packages.last(), Some(&"lld-19"));
    assert_eq!(lack.packages.len(), 4);
    assert!(
        lack.otherwise
            .contains(&format!("rustup target add {TARGET}"))
    );

    let mut no_linker = complete();
    no_linker.linker = None;
    let lack = decide(&no_linker).unwrap_err();
    assert_eq!(lack.packages, ["lld-19"]);
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
fn an_inner_cargo_inherits_network_settings_and_no_flags() {
    assert!(is_inherited("CARGO_ENCODED_RUSTFLAGS") && is_inherited("CARGO_TARGET_DIR"));
    assert!(is_inherited("RUSTUP_TOOLCHAIN") && is_inherited("CARGO_MANIFEST_DIR"));
    assert!(!is_inherited("CARGO_HOME") && !is_inherited("CARGO_HTTP_CAINFO"));
    assert!(!is_inherited("CARGO_REGISTRIES_X_INDEX") && !is_inherited("HOME"));
}
