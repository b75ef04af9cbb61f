//! The host command as Cargo's runner for s390x-unknown-linux-gnu: the test suites of well-known crates, and the recipe for CI.

use std::{
    env, fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use measure::{
    building::{
        install::{self, Lack},
        repository,
    },
    computer::progress::Progress,
    linux::{cache::Cache, packages},
};
use tempfile::TempDir;
use tests_qemu::{command, suite::test};

const TARGET: &str = "s390x-unknown-linux-gnu";

/// Crates with test suites of their own in what crates.io has of them.
const CRATES: [(&str, &str); 3] = [
    ("itoa", "1.0.18"),
    ("semver", "1.0.28"),
    ("smallvec", "1.16.5"),
];

/// The cross compiler finds the start of a program, which is in the C library, another package.
fn can_link() -> bool {
    let mut find = Command::new("s390x-linux-gnu-gcc");
    let found = find.arg("-print-file-name=Scrt1.o").output();
    found
        .is_ok_and(|output| Path::new(String::from_utf8_lossy(&output.stdout).trim()).is_absolute())
}

/// The linker, and the library of the target. A computer without a way to rustup's server cannot have the library; then
/// nothing can be built, and the test says so.
fn has_target() -> bool {
    let lack = || Lack {
        what: "a linker and a C library for s390x".to_owned(),
        packages: vec!["gcc-s390x-linux-gnu", "libc6-dev-s390x-cross"],
        otherwise: "install a cross compiler of your system".to_owned(),
    };
    let lacks = || (!can_link()).then(lack).into_iter().collect();
    install::provide(lacks, &Progress::Plain).unwrap();
    let mut add = Command::new("rustup");
    add.args(["target", "add", TARGET]);
    let is_there = add.stdin(Stdio::null()).output();
    let is_there = is_there.is_ok_and(|output| output.status.success());
    if !is_there {
        println!("nothing was tried: rustup target add {TARGET} fails here");
    }
    is_there
}

/// Cargo in this directory, with the host command as its runner.
fn cargo(directory: &Path, counts: &Path) -> Command {
    let program = command::program().unwrap();
    let runner = format!("{} exec --json {}", program.display(), counts.display());
    let mut cargo = Command::new(env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo
        .current_dir(directory)
        .env(
            "CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_LINKER",
            "s390x-linux-gnu-gcc",
        )
        .env("CARGO_TARGET_S390X_UNKNOWN_LINUX_GNU_RUNNER", runner)
        // How many tests run at a time here says nothing about the guest.
        .env_remove("RUST_TEST_THREADS")
        .stdin(Stdio::null());
    cargo
}

/// What a command wrote. It must succeed.
fn succeed(mut command: Command) -> String {
    let output = command.output().unwrap();
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (output_text, error) = (text(&output.stdout), text(&output.stderr));
    assert!(output.status.success(), "{output_text}\n{error}");
    output_text
}

/// The sources of the crates, by Cargo, without the benchmarks and what only they need.
fn sources(directory: &Path) -> Vec<PathBuf> {
    let mut manifest =
        "[package]\nname = \"suites\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[dependencies]\n"
            .to_owned();
    for (name, version) in CRATES {
        manifest.push_str(&format!("{name} = \"={version}\"\n"));
    }
    fs::create_dir_all(directory.join("src")).unwrap();
    fs::write(directory.join("src/lib.rs"), "").unwrap();
    fs::write(directory.join("Cargo.toml"), manifest).unwrap();
    let mut metadata = cargo(directory, Path::new("counts"));
    metadata.args(["metadata", "--format-version", "1"]);
    let metadata: serde_json::Value = serde_json::from_str(&succeed(metadata)).unwrap();
    let found = |name: &str| {
        let packages = metadata["packages"].as_array().unwrap();
        let package = packages.iter().find(|package| package["name"] == name);
        let manifest = package.unwrap()["manifest_path"].as_str().unwrap();
        Path::new(manifest).parent().unwrap().to_owned()
    };
    let copies = CRATES.map(|(name, _)| {
        let copy = directory.join(name);
        let mut copying = Command::new("cp");
        copying.arg("-r").arg(found(name)).arg(&copy);
        succeed(copying);
        let manifest = fs::read_to_string(copy.join("Cargo.toml")).unwrap();
        fs::write(copy.join("Cargo.toml"), without_benchmarks(&manifest)).unwrap();
        copy
    });
    copies.to_vec()
}

/// A manifest without the sections of benchmarks; the crate is a workspace of its own.
fn without_benchmarks(manifest: &str) -> String {
    let (mut kept, mut is_kept) = (String::new(), true);
    for line in manifest.lines() {
        if line.starts_with('[') {
            is_kept = !line.contains("criterion") && line != "[[bench]]";
        }
        if is_kept {
            kept.push_str(line);
            kept.push('\n');
        }
    }
    kept.push_str("\n[workspace]\n");
    kept
}

#[test]
#[ignore = "builds the test suites of three crates"]
fn the_suites_of_three_crates_pass_with_the_same_numbers_twice() {
    if !has_target() {
        return;
    }
    let directory = TempDir::new().unwrap();
    for source in sources(directory.path()) {
        let numbers = ["first", "second"].map(|round| {
            let counts = source.join(round);
            let mut suite = cargo(&source, &counts);
            suite.args(["test", "--lib", "--tests", "--target", TARGET]);
            suite.env("CARGO_TARGET_DIR", directory.path().join("target"));
            let output = succeed(suite);
            assert!(output.contains("test result: ok. "), "{output}");
            fs::read_to_string(counts).unwrap()
        });
        let [first, second] = numbers;
        assert!(first.contains("\"user_instructions\":"), "{first}");
        assert_eq!(first, second, "{}", source.display());
    }
}

#[test]
#[ignore = "gets libraries that no other test needs"]
fn a_program_finds_the_libraries_of_its_libraries_in_debians_packages() {
    let cache = Cache::of_user().unwrap();
    let tree = packages::debugger(&cache, &Progress::Plain).unwrap();
    let program = tree.join("usr/bin/gdb").display().to_string();
    let command = command::measure(&["exec", &program, "--version"]).unwrap();
    let finished = command::finish(command).unwrap();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.output.starts_with("GNU gdb"), "{finished:?}");
}

/// The first block of shell commands of a page.
fn script(page: &str) -> String {
    let text = fs::read_to_string(repository::root().join("tools/book/src").join(page)).unwrap();
    let (_, behind) = text.split_once("```sh\n").unwrap();
    let (script, _) = behind.split_once("```\n").unwrap();
    script.to_owned()
}

#[test]
#[ignore = "builds a program for s390x-unknown-linux-gnu"]
fn the_recipe_for_ci_finds_a_function_that_became_slower() {
    if !has_target() {
        return;
    }
    let directory = TempDir::new().unwrap();
    let here = directory.path();
    fs::create_dir_all(here.join("src")).unwrap();
    fs::create_dir_all(here.join("ci")).unwrap();
    let manifest = "[package]\nname = \"sum\"\nversion = \"0.0.0\"\nedition = \"2024\"\n[profile.release]\nstrip = \"none\"\n";
    fs::write(here.join("Cargo.toml"), manifest).unwrap();
    fs::write(here.join("ci/s390x.sh"), script("ci.md")).unwrap();
    let write = |rounds: u32| {
        let program = "#[inline(never)]\nfn parse(text: &[u8]) -> u64 {\n    let mut sum = 0_u64;\n    for _ in 0..ROUNDS {\n        for byte in std::hint::black_box(text) {\n            sum = sum.wrapping_mul(31).wrapping_add(u64::from(*byte));\n        }\n    }\n    sum\n}\n\nfn main() {\n    println!(\"{}\", parse(&[7; 10_000]));\n}\n\n#[test]\nfn it_is_a_sum() {\n    assert_ne!(parse(&[1]), 0);\n}\n";
        fs::write(
            here.join("src/main.rs"),
            format!("const ROUNDS: u32 = {rounds};\n\n{program}"),
        )
        .unwrap();
    };
    let run = |update: bool| {
        let mut script = Command::new("sh");
        script.arg("ci/s390x.sh").current_dir(here);
        script.env("MILLIMETER", repository::root());
        script.env("PROGRAM", "sum");
        script.env("CARGO_TARGET_DIR", here.join("built"));
        if update {
            script.env("UPDATE", "1");
        }
        command::finish(script).unwrap()
    };
    write(200);
    let first = run(true);
    assert_eq!(first.code, Some(0), "{first:?}");
    assert!(first.output.contains("it_is_a_sum ... ok"), "{first:?}");
    write(202);
    let slower = run(false);
    assert_eq!(slower.code, Some(1), "{slower:?}");
    assert!(
        slower
            .output
            .contains("regression: user: sum::parse grew by"),
        "{slower:?}"
    );
    let summary = fs::read_to_string(here.join("s390x.md")).unwrap();
    assert!(summary.contains("| user: sum::parse |"), "{summary}");
    assert!(here.join("s390x.xml").is_file());
}

#[test]
fn both_pipelines_of_the_book_call_the_script_and_set_what_it_needs() {
    let page = fs::read_to_string(repository::root().join("tools/book/src/ci.md")).unwrap();
    let pipelines: Vec<&str> = page.split("```yaml\n").skip(1).collect();
    assert_eq!(pipelines.len(), 2);
    let script = script("ci.md");
    for pipeline in pipelines {
        let (pipeline, _) = pipeline.split_once("```").unwrap();
        for needed in [
            "sh ci/s390x.sh",
            "MILLIMETER:",
            "PROGRAM:",
            "rustup target add s390x-unknown-linux-gnu",
        ] {
            assert!(pipeline.contains(needed), "{needed} is not in\n{pipeline}");
        }
        for file in ["s390x.md", "s390x.xml"] {
            assert!(script.contains(file));
        }
    }
}
