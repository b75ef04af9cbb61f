//! Two levels at once: Linux samples a command with its own perf while the machine samples its whole boot from below.

use std::{collections::BTreeMap, fs};

use measure::{
    report::{Hot, Report},
    symbols::{
        SymbolTable,
        linux::{BOOT, KERNEL},
    },
};
use tempfile::TempDir;
use tests_qemu::{command, suite::test};

use crate::guest::{boot, section};

/// The interval of both levels, in cycles.
const INTERVAL: &str = "100000";

/// A command that spends its time in one routine of the kernel, and the guest's own symbols.
const QUESTIONS: &str = r"
perf record -q -o data -e cycles -c 100000 dd if=/dev/urandom of=/dev/null bs=64k count=640 2>/dev/null
echo @report; perf report --stdio -i data -n --sort sym 2>/dev/null | grep '\[k\]' | head -n 1
echo @kallsyms; grep ' [TtWw] [^[]*$' /proc/kallsyms
";

/// The samples and the routine of perf's first line.
fn hottest_of_perf(line: &str) -> (u64, String) {
    let mut words = line.split_whitespace();
    let samples = words.nth(1).and_then(|number| number.parse().ok());
    let name = words.last().map(str::to_owned);
    samples
        .zip(name)
        .unwrap_or_else(|| panic!("no samples of perf: {line}"))
}

fn the_boot_is_profiled_from_below_while_perf_samples(release: &str) {
    let directory = TempDir::new().unwrap();
    let script = directory.path().join("questions");
    fs::write(&script, QUESTIONS).unwrap();
    let script = script.to_str().unwrap();
    let line = ["--release", release, "--profile", "--interval", INTERVAL];
    let finished = boot(
        directory.path(),
        &[&line[..], &["--script", script]].concat(),
    );
    assert_eq!(finished.code, Some(0), "{}", finished.error);
    let run = directory.path().join("run");
    let report = Report::read(&run).unwrap();
    assert_eq!(report.doubts, Vec::<String>::new());
    assert!(report.taken() > 10_000 && report.lost() == 0);

    // The guest itself gives these names to these addresses, wherever the kernel lies.
    let guest: Vec<(u64, &str)> = section(&finished.output, "kallsyms")
        .lines()
        .filter_map(|line| {
            let mut words = line.split_whitespace();
            let address = u64::from_str_radix(words.next()?, 16).ok()?;
            Some((address, words.nth(1)?))
        })
        .collect();
    let place = |name: &str| guest.iter().find(|known| known.1 == name).unwrap().0;
    let table = fs::read_to_string(run.join("symbols.txt")).unwrap();
    let table = SymbolTable::from_text(&table).unwrap();
    let own: BTreeMap<u64, &str> = table
        .symbols()
        .iter()
        .filter(|symbol| symbol.module == KERNEL)
        .map(|symbol| (symbol.start, &symbol.name[..]))
        .collect();
    let moved = place("_stext").wrapping_sub(*own.keys().next().unwrap());
    for (address, name) in &own {
        let address = address.wrapping_add(moved);
        assert!(guest.contains(&(address, name)), "{address:X} {name}");
    }
    for (from, to) in [("_stext", "_etext"), ("_sinittext", "_einittext")] {
        let inside = place(from)..place(to);
        for (address, name) in guest.iter().filter(|known| inside.contains(&known.0)) {
            let known = own.contains_key(&address.wrapping_sub(moved));
            assert!(known, "{address:X} {name} is missing");
        }
    }
    assert!(own.len() > 10_000, "{}", own.len());

    // Both levels found the same hottest routine, with the same share.
    let perf = section(&finished.output, "report");
    let (samples, name) = hottest_of_perf(perf);
    let routines: Vec<&Hot> = report
        .hot
        .iter()
        .filter(|hot| hot.module == KERNEL)
        .collect();
    assert_eq!(routines[0].symbol, name, "{perf}\n{:?}", &routines[..5]);
    let difference = routines[0].samples.abs_diff(samples);
    assert!(
        difference * 20 <= samples,
        "{samples} by perf, {} from below",
        routines[0].samples
    );

    // The report tells the boot stage, the kernel and the processes apart.
    let programs = report.programs();
    let of = |what: &dyn Fn(&Hot) -> bool| -> u64 {
        let lines = programs.iter().filter(|hot| what(hot));
        lines.map(|hot| hot.samples).sum()
    };
    assert!(of(&|hot| hot.symbol == BOOT) > 1000, "{programs:?}");
    assert!(of(&|hot| hot.symbol == KERNEL) > samples, "{programs:?}");
    assert!(
        of(&|hot| hot.symbol == "perf" && hot.module.starts_with("pid ")) > 10,
        "{programs:?}"
    );
    let unknown = of(&|hot| hot.symbol.starts_with("(unknown"));
    assert!(unknown * 200 < report.taken(), "{programs:?}");

    // The report from the raw files repeats the report of the run, without the guest's messages to the host.
    let again = command::measure(&["report", run.to_str().unwrap()]).unwrap();
    let again = command::finish(again).unwrap();
    let text = again.output.replace(run.to_str().unwrap(), "run");
    assert!(finished.output.ends_with(&text), "{text}");
    assert!(
        !finished.output.contains("millimeter: "),
        "{}",
        finished.output
    );
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_boot_of_6_1_is_profiled_from_below_while_perf_samples() {
    the_boot_is_profiled_from_below_while_perf_samples("6.1");
}

#[test]
fn the_boot_of_6_12_is_profiled_from_below_while_perf_samples() {
    the_boot_is_profiled_from_below_while_perf_samples("6.12");
}

#[test]
#[ignore = "before a release: the newest kernel changes"]
fn the_boot_of_the_newest_linux_is_profiled_from_below_while_perf_samples() {
    the_boot_is_profiled_from_below_while_perf_samples("newest");
}
