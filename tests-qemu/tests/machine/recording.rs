//! The machine executes instructions one at a time exactly, and within a known price.

use std::{
    collections::{BTreeMap, BTreeSet},
    time::Duration,
};

use measure::{
    computer::progress::Progress, machine::run::RunOutcome, numbers::quantities::Sampling,
};
use millimeter::insn::{
    branch::{Site, branch},
    opcode,
    placed::{finds_all, placed},
    references::State,
};
use tests_qemu::{ipl, suite::test};

/// The limit of the longest run. The run only has to end.
const LIMIT: Duration = Duration::from_secs(1800);

/// Runs a guest that records program events above the machine.
fn recorded(guest: &str) -> RunOutcome {
    let mut options = ipl::options(guest);
    options.sampling = Sampling::Off;
    // A machine that executes one instruction at a time says seldom that it is there.
    options.silence = LIMIT;
    options.limit = Some(LIMIT);
    ipl::above_with_success(&options).unwrap()
}

/// Executes this many random instructions from a seed.
fn random(seed: u64, instructions: u64) {
    let parameters = [seed, instructions];
    let file =
        ipl::with_parameters("random-recording", b"random instructions from", &parameters).unwrap();
    println!("{}", recorded(file.path().to_str().unwrap()).console);
}

#[test]
fn random_instructions_executed_one_at_a_time_alter_what_their_events_indicate_and_end_as_without_events()
 {
    random(11, 20_000);
}

#[test]
fn a_second_stream_of_random_instructions_does_the_same() {
    random(12, 20_000);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn a_quarter_of_a_million_random_instructions_executed_one_at_a_time_do_the_same() {
    random(11, 250_000);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn another_quarter_of_a_million_random_instructions_do_the_same() {
    random(12, 250_000);
}

/// The opcodes whose registers need not all have changed at once in any of the instructions: those of strings and of long
/// operands, which hardly any random registers designate.
const OF_LONG_OPERANDS: [u16; 12] = [
    0x0E00, 0x0F00, 0xA800, 0xA900, 0xB241, 0xB255, 0xB2A6, 0xB2A7, 0xB9B0, 0xB9B1, 0xB9B2, 0xB9B3,
];

/// An instruction that the guest `placing` executed: its text, the states before and after it as far as they count, and the
/// registers that it changed.
fn executed(line: &str) -> Option<([u8; 6], [u64; 2], u16)> {
    let [text, before, after, changed] = line.split(' ').collect::<Vec<_>>()[..] else {
        return None;
    };
    let number = u64::from_str_radix(text, 16).ok()? << (64 - 4 * text.len());
    let codes = [before, after].map(|code| code.parse::<u64>().unwrap() << 44);
    let changed = u16::from_str_radix(changed, 16).ok()?;
    Some((*number.to_be_bytes().first_chunk()?, codes, changed))
}

/// If an opcode placed something so often, its registers have all changed at once in some instruction.
const OFTEN: u32 = 12;

/// Executes each opcode `rounds` times on bare QEMU. No register has changed in which nothing was placed; and of each opcode
/// that often placed something, some instruction has changed every register in which it did.
fn places_what_changes(seed: u64, rounds: u64) {
    let file =
        ipl::with_parameters("placing", b"random placements from..", &[seed, rounds]).unwrap();
    for qemu in ipl::qemus(&Progress::Plain).unwrap() {
        let guest = file.path().to_str().unwrap();
        let native = ipl::natively(guest, 1, Some(&qemu.path)).unwrap();
        assert!(native.console.ends_with("done\n"), "{}", native.complaints);
        let mut seen: BTreeMap<u16, (u32, bool)> = BTreeMap::new();
        let mut count = 0;
        for (text, codes, changed) in native.console.lines().filter_map(executed) {
            let general = [0; 16];
            // A branch may have come back from anywhere. What it places, host tests know.
            let site = Site {
                at: 0,
                next: 0,
                length_code: 0,
            };
            if branch(&text, &site, &general, codes[0]).is_some() {
                continue;
            }
            let [before, after] = codes.map(|mask| State {
                general: &general,
                mask,
            });
            let placed = placed(&text, &before, &after);
            let more = changed & !placed;
            assert!(
                more == 0 || !finds_all(&text),
                "{qemu}: {text:02X?} {codes:X?}: {more:04X} changed, too"
            );
            if placed != 0 {
                let (times, all) = seen.entry(opcode(&text)).or_default();
                *times += 1;
                *all |= changed == placed;
            }
            count += 1;
        }
        seen.retain(|_, (times, _)| *times >= OFTEN);
        println!(
            "{qemu}: {count} instructions, {} opcodes that often place",
            seen.len()
        );
        let never: Vec<_> = seen
            .into_iter()
            .filter(|(opcode, (_, all))| !all && !OF_LONG_OPERANDS.contains(opcode))
            .map(|(opcode, _)| format!("{opcode:04X}"))
            .collect();
        assert_eq!(never, Vec::<String>::new(), "{qemu}");
    }
}

#[test]
fn random_instructions_of_every_opcode_change_only_registers_in_which_they_place_values() {
    places_what_changes(1, 48);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn many_random_instructions_of_every_opcode_do_the_same() {
    places_what_changes(2, 400);
}

/// The cases that QEMU 7.2 identifies wrongly: the condition code in the old PSW is the one before the instruction; a
/// branch that does not jump to the next block designates what follows it; no event is indicated together with a
/// branch or with SUPERVISOR CALL.
const WRONG_IN_7: &[&str] = &[
    "fetch of LTR of 1",
    "fetch of LTR of -1",
    "fetch of a branch behind LTR",
    "fetch in a range",
    "fetch over the end of storage",
    "fetch of BRCT",
    "fetch of EX",
    "fetch of EXRL",
    "fetch that nullifies",
    "nullification behind LTR",
    "STOSM on",
    "LPSWE off",
    "SVC",
    "an operation that is not assigned",
    "BCR",
    "BASR",
    "BCTR",
    "BRC backwards",
    "BRCT to itself",
    "BRC, fetch and branch",
    "CS that does not",
    "STURG",
    "EX of MVI",
];

/// The cases that QEMU 10 identifies wrongly: a storage alteration, or a fetch beside a jump, is indicated only with
/// the next interruption; the old PSW of EXECUTE and of LOAD PSW EXTENDED is a different one.
const WRONG_IN_10: &[&str] = &[
    "fetch of a branch behind LTR",
    "fetch over the end of storage",
    "fetch of BRCT",
    "fetch of EX",
    "fetch of EXRL",
    "LPSWE off",
    "an operation that is not assigned",
    "BRC, fetch and branch",
    "MVI",
    "ST",
    "STG",
    "MVC",
    "STM",
    "CS that stores",
    "CS that does not",
    "STNSM",
    "STNSM off that stores",
    "STCTG",
    "ST behind LTR",
    "STURG",
    "EX of MVI",
];

/// The interruptions in each case.
fn cases(console: &str) -> BTreeMap<&str, Vec<&str>> {
    let mut cases: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for (case, interruption) in console.lines().filter_map(|line| line.split_once(": ")) {
        cases.entry(case).or_default().push(interruption);
    }
    cases
}

#[test]
fn events_that_bare_qemu_records_correctly_are_identified_as_on_bare_qemu() {
    const GUEST: &str = "recording-natively";
    for qemu in ipl::qemus(&Progress::Plain).unwrap() {
        let mut options = ipl::options(GUEST);
        options.qemu = Some(qemu.path.clone());
        let above = ipl::above_with_success(&options).unwrap();
        let native = ipl::natively(GUEST, 1, Some(&qemu.path)).unwrap();
        assert_eq!(native.exit_code, Some(0), "{}", native.console);
        let (ours, theirs) = (cases(&above.console), cases(&native.console));
        let all: BTreeSet<&str> = ours.keys().copied().collect();
        assert_eq!(all, theirs.keys().copied().collect::<BTreeSet<&str>>());
        let differ: BTreeSet<&str> = all
            .iter()
            .copied()
            .filter(|case| ours[case] != theirs[case])
            .collect();
        let wrong: BTreeSet<&str> = match qemu.version.0 {
            ..8 => WRONG_IN_7.iter().copied().collect(),
            10.. => WRONG_IN_10.iter().copied().collect(),
            // Nobody examined this version. It may do no worse than either of the others.
            _ => differ
                .iter()
                .copied()
                .filter(|case| WRONG_IN_7.contains(case) || WRONG_IN_10.contains(case))
                .collect(),
        };
        for case in differ.symmetric_difference(&wrong) {
            println!(
                "{case}\n  above the machine: {:?}\n  on bare QEMU:      {:?}",
                ours.get(case),
                theirs.get(case)
            );
        }
        // The wrong cases must still differ. Once one agrees, compare it.
        assert_eq!(differ, wrong, "on QEMU {:?}", qemu.version);
    }
}

#[test]
fn a_step_takes_at_most_600_instructions_of_the_machine_and_a_store_beside_a_range_at_most_400() {
    println!("{}", recorded("stepping").console);
}

#[test]
fn the_machine_executes_nothing_for_a_range_while_the_guest_is_outside_its_pages() {
    println!("{}", recorded("tracing").console);
}
