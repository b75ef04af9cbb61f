//! Logs written by hand.

use super::{paths::LONGEST, *};

const PERFORM: &str =
    "millimeter::guest::millicode::fast_path::perform::<millimeter::machine::native::Native>";

/// The distance that makes addresses of the ELF small numbers.
const LINKED: u64 = 0u64.wrapping_sub(0x2_0000);

fn image() -> SymbolTable {
    let symbols = [
        ("0000000000020000", "0000000000020010", "start"),
        ("0000000000020100", "0000000000020120", ENTRY),
        ("0000000000020120", "0000000000020140", "leave_to_guest"),
        ("0000000000020140", "0000000000020160", "trap_external"),
        ("0000000000020200", "0000000000020300", PERFORM),
        ("0000000000020300", "0000000000020400", "store"),
    ];
    let text: String = symbols
        .iter()
        .map(|(start, end, name)| format!("{start}\t{end}\tm\t{name}\n"))
        .collect();
    SymbolTable::from_text(&text).unwrap()
}

fn log(addresses: &[u64]) -> String {
    addresses
        .iter()
        .map(|address| {
            format!(
                "Trace 0: 0x7fecdb164400 [0000000000000000/{address:016x}/00000003/ff020201] \n"
            )
        })
        .collect()
}

/// Entry, performance, exit: six instructions, two of them in the performance.
const USUAL: [u64; 6] = [0x100, 0x106, 0x200, 0x204, 0x10C, 0x120];

fn measured(log: &str, times: u64) -> Result<Trap> {
    let image = image();
    let code = Code::new(&image, LINKED).unwrap();
    let paths = paths(log.as_bytes(), code.entry, &code.entries)?;
    code.trap(&paths, times, |address| performs(&image, address))
}

/// As if the debug information had said it.
fn performs(image: &SymbolTable, address: u64) -> bool {
    let symbol = image.find(address);
    symbol.is_some_and(|symbol| is_fast_path(&symbol.name))
}

#[test]
fn the_usual_path_is_divided_by_the_routines_on_it() {
    let cold = log(&[0x0, 0x4, 0x100, 0x300, 0x308, 0x120]);
    let end = log(&[0x100, 0x4, 0x4]);
    let trap = measured(&(cold + &log(&USUAL).repeat(3) + &end), 3).unwrap();
    let part = |routine: &str, performs, instructions| Part {
        routine: routine.to_owned(),
        performs,
        instructions,
    };
    assert_eq!(
        trap.parts,
        [
            part(ENTRY, false, 3),
            part(PERFORM, true, 2),
            part("leave_to_guest", false, 1)
        ]
    );
    assert_eq!((trap.whole(), trap.outside()), (6, 4));
    assert!(
        trap.to_string()
            .ends_with("     6  in all, 4 of them do not perform"),
        "{trap}"
    );
}

#[test]
fn a_routine_belongs_to_the_performance_only_when_the_performance_calls_it() {
    let path = [
        0x100, 0x300, 0x106, 0x200, 0x300, 0x304, 0x204, 0x10C, 0x120,
    ];
    let trap = measured(&log(&path).repeat(3), 3).unwrap();
    assert_eq!((trap.whole(), trap.outside()), (9, 5), "{trap}");
}

#[test]
fn performance_that_does_not_return_is_an_error() {
    let path = log(&[0x100, 0x200, 0x204, 0x120]);
    let error = measured(&path.repeat(3), 3).unwrap_err().to_string();
    assert!(error.contains("does not return to trap_program"), "{error}");
}

#[test]
fn the_image_is_found_where_it_has_moved() {
    let moved = USUAL.map(|address| address + 0x1F70_0000);
    let image = image();
    let code = Code::new(&image, LINKED.wrapping_add(0x1F70_0000)).unwrap();
    assert_eq!(code.range, 0x1F70_0000..0x1F70_0400);
    let text = log(&moved).repeat(3);
    let paths = paths(text.as_bytes(), code.entry, &code.entries).unwrap();
    let trap = code.trap(&paths, 2, |address| performs(&image, address));
    assert_eq!(trap.unwrap().outside(), 4);
}

#[test]
fn an_instruction_that_is_taken_back_counts_when_it_begins_again() {
    let usual = log(&USUAL);
    let again = usual.replace(
        "Trace 0: 0x7fecdb164400 [0000000000000000/0000000000000204/00000003/ff020201] \n",
        "Trace 0: 0x7fecdb164400 [00000000/0000000000000204/00000003/ff020201] \n\
         Stopped execution of TB chain before 0x7fecdb164400 [0000000000000204] \n\
         Trace 0: 0x7fecdb164400 [00000000/0000000000000204/00000003/ff020201] \n",
    );
    assert_eq!(again.lines().count(), 8);
    let trap = measured(&(again.repeat(2) + &usual), 2).unwrap();
    assert_eq!((trap.whole(), trap.outside()), (6, 4));
}

#[test]
fn another_interruption_ends_a_path_and_begins_none() {
    let external = log(&[0x140, 0x144, 0x148]);
    let trap = measured(&(log(&USUAL) + &external).repeat(2), 2).unwrap();
    assert_eq!(trap.whole(), 6);
}

#[test]
fn a_target_of_execute_is_an_instruction_at_the_same_address() {
    let mut with_target = USUAL.to_vec();
    with_target.insert(2, 0x106);
    assert_eq!(
        measured(&log(&with_target).repeat(3), 3).unwrap().outside(),
        5
    );
}

#[test]
fn a_log_without_a_usual_path_is_an_error_that_says_so() {
    let says = |log: &str, times, words: &str| {
        let error = format!("{:#}", measured(log, times).unwrap_err());
        assert!(error.contains(words), "{error}");
    };
    says("", 3, "no program interruption at 100");
    says(&log(&USUAL).repeat(3), 200, "no more than 2 take");
    says(
        &log(&[0x100, 0x120]).repeat(9),
        8,
        "does not go through millicode::fast_path::perform",
    );
    says("Linking TBs\n", 3, "not one of execution: Linking TBs");
    says("Trace 0: 0x7 [0/zz/0/0]\n", 3, "not one of execution");
}

#[test]
fn a_line_that_was_cut_off_is_not_an_instruction() {
    let cut = log(&USUAL).repeat(3) + &log(&[0x100]) + "Trace 0: 0x7fecdb1";
    assert_eq!(measured(&cut, 3).unwrap().whole(), 6);
}

#[test]
fn a_path_without_end_is_forgotten() {
    let endless = log(&[0x100]) + &log(&[0x4]).repeat(LONGEST);
    let trap = measured(&(endless.clone() + &endless + &log(&USUAL).repeat(2)), 1).unwrap();
    assert_eq!(trap.whole(), 6);
}

#[test]
fn an_inlined_part_of_a_routine_performs_and_the_rest_does_not() {
    // What stands at 20108 to 2010F came from the fast path, which calls `store`.
    let path = [0x100, 0x108, 0x300, 0x304, 0x10C, 0x110, 0x120];
    let text = log(&path).repeat(3);
    let image = image();
    let code = Code::new(&image, LINKED).unwrap();
    let paths = paths(text.as_bytes(), code.entry, &code.entries).unwrap();
    let inlined = |address| (0x2_0108..0x2_0110).contains(&address);
    let trap = code.trap(&paths, 3, inlined).unwrap();
    assert_eq!((trap.whole(), trap.outside()), (7, 3), "{trap}");
}

#[test]
fn an_image_without_the_entry_is_refused_by_its_name() {
    let table = SymbolTable::from_text(
        "0000000000000100\t0000000000000120\tm\tother_entry\n0000000000000200\t0000000000000300\tm\tother\n",
    )
    .unwrap();
    let error = Code::new(&table, 0).err().unwrap().to_string();
    assert!(error.contains("no symbol trap_program"), "{error}");
}

#[test]
fn the_guest_says_how_often() {
    assert_eq!(times("hello\ntimes 200\n").unwrap(), 200);
    let error = times("times many\n").unwrap_err().to_string();
    assert!(
        error.contains("times NUMBER") && error.contains("times many"),
        "{error}"
    );
}
