//! The cache model agrees with a second one, written from its definition, on what guests really access.

use std::{fs, path::PathBuf};

use measure::{
    computer::progress::Progress,
    events::file,
    machine::run::RunOutcome,
    options::RunOptions,
    views::{
        json,
        trace::{self, Form, TraceOptions},
    },
};
use millimeter::{
    arch::address::Absolute,
    cache::{Cache, Geometry, Shape, Written},
    insn::{
        self,
        references::{Knowledge, State, references},
    },
    link::trace::{EXECUTED, Event, parse},
};
use object::{Object, ObjectSegment};
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

use model::Remembered;

/// The second model. The firmware's own tests use it, too.
#[path = "../../../src/cache/model.rs"]
mod model;

/// Small guests without interruptions, and caches that are smaller still.
const GUESTS: [&str; 3] = ["b_psw_mask", "b_epsw_condition_code", "b_page_end"];
const GEOMETRY: &str = "i=1K/2/64/7,d=512/4/32/9";

/// One access by the guest through one of its caches.
struct Access {
    /// [`INSTRUCTION`] or [`DATA`].
    cache: usize,
    at: u64,
    length: u64,
}

const INSTRUCTION: usize = 0;
const DATA: usize = 1;

/// Derives what a program with DAT off accessed from the trace of each of its instructions.
struct Replay {
    general: [u64; 16],
    /// Its text, where EXECUTE finds its targets.
    elf: Vec<u8>,
    accesses: Vec<Access>,
}

impl Replay {
    fn new(guest: &str) -> Self {
        Self {
            general: [0; 16],
            elf: fs::read(ipl::guest_file(guest).unwrap()).unwrap(),
            accesses: Vec::new(),
        }
    }

    /// Replays an instruction: its text, the text of its target if it is an EXECUTE, and its operands.
    fn step(&mut self, event: &Event<'_>) {
        let head = &event.head;
        let general = self.general;
        for (register, value) in event.altered() {
            self.general[usize::from(register)] = value;
        }
        // An exception suppressed this instruction.
        if head.code.get() != 0 {
            return;
        }
        let at = head.at.get();
        self.access(INSTRUCTION, at, head.length.into());
        let mut text_at = at;
        if head.state & EXECUTED != 0 {
            (text_at, _) = insn::target(&insn::decode(&self.text(at)), at, &general).unwrap();
            self.access(INSTRUCTION, text_at, event.text().len() as u64);
        }
        let after = self.general;
        let before = State {
            general: &general,
            mask: head.mask.get(),
        };
        let after = State {
            general: &after,
            mask: head.mask_after.get(),
        };
        let known = references(&head.text, text_at, &before, &after, &mut |reference| {
            self.access(DATA, reference.address, reference.length);
        });
        match known {
            Knowledge::Complete => {}
            Knowledge::Elsewhere => self.control_instruction(&head.text, &general),
            _ => panic!("{event}: {known:?}"),
        }
    }

    /// Adds what a control instruction of the guest accesses, as the manual defines it.
    fn control_instruction(&mut self, text: &[u8; 6], general: &[u64; 16]) {
        let field = u16::from_be_bytes([text[2], text[3]]);
        let base = usize::from(field >> 12);
        let contents = if base == 0 { 0 } else { general[base] };
        let operand = contents + u64::from(field & 0xFFF);
        match [text[0], text[1]] {
            // SIGNAL PROCESSOR, EXTRACT PSW, and SERVICE CALL. The service processor accesses the block of SERVICE
            // CALL.
            [0xAE, _] | [0xB9, 0x8D] | [0xB2, 0x20] => {}
            // STORE THEN AND, and OR, SYSTEM MASK, and SET SYSTEM MASK.
            [0x80 | 0xAC | 0xAD, _] => self.access(DATA, operand, 1),
            // STORE CPU ID.
            [0xB2, 0x02] => self.access(DATA, operand, 8),
            // STORE CPU ADDRESS.
            [0xB2, 0x12] => self.access(DATA, operand, 2),
            // STORE FACILITY LIST, into location 200.
            [0xB2, 0xB1] => self.access(DATA, 200, 4),
            // LOAD PSW EXTENDED.
            [0xB2, 0xB2] => self.access(DATA, operand, 16),
            _ => panic!("what {text:02X?} accesses is not known here"),
        }
    }

    fn text(&self, at: u64) -> [u8; 6] {
        let elf = object::File::parse(&*self.elf).unwrap();
        let mut segments = elf.segments();
        let text = segments.find_map(|segment| segment.data_range(at, 6).unwrap());
        text.expect("an EXECUTE stands in the guest's text")
            .try_into()
            .unwrap()
    }

    fn access(&mut self, cache: usize, at: u64, length: u64) {
        self.accesses.push(Access { cache, at, length });
    }
}

#[test]
fn both_cache_models_and_the_machine_agree_at_each_access_of_a_guest() {
    GUESTS.into_iter().for_each(agree_on);
}

/// Traces all instructions of a run. Returns its folder and what came of it.
pub fn traced(run: RunOptions, directory: &TempDir) -> (PathBuf, RunOutcome) {
    let out = directory.path().join("run");
    let options = TraceOptions {
        run: RunOptions {
            operator: vec!["PER FETCH TRACE".to_owned()],
            out: Some(out.clone()),
            ..run
        },
        exact: Some(directory.path().join("instructions")),
        form: Form::Text,
    };
    let outcome = trace::run(&options, &Progress::Silent, &mut Vec::new()).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));
    (out, outcome)
}

fn agree_on(guest: &str) {
    let geometry = Geometry::parse(GEOMETRY).unwrap();
    let directory = TempDir::new().unwrap();
    let run = RunOptions {
        exact_caches: Some(geometry),
        ..ipl::options(guest)
    };
    let (out, outcome) = traced(run, &directory);
    let mut replay = Replay::new(guest);
    file::read(&out, |payload| {
        parse(payload, |event| replay.step(&event))?;
        Ok(true)
    })
    .unwrap();

    let shapes = [geometry.instruction, geometry.data];
    let mut directories = shapes.map(|shape| vec![0; shape.lines()]);
    let [instruction, data] = &mut directories;
    let mut caches = [(shapes[0], instruction), (shapes[1], data)]
        .map(|(shape, directory)| Cache::new(shape, directory).unwrap());
    let mut second = shapes.map(Remembered::new);
    // The reset before IPL does this.
    caches.iter_mut().for_each(Cache::purge);
    second.iter_mut().for_each(Remembered::purge);
    let mut sums = [Written::default(); 2];
    for (number, &Access { cache, at, length }) in replay.accesses.iter().enumerate() {
        let written = caches[cache].access(Absolute(at), length);
        let other = second[cache].access(at, length);
        assert_eq!(
            written, other,
            "access {number}: {length} bytes at {at:X} through {cache}"
        );
        sums[cache] += other;
    }
    let [instruction, data] = sums;
    // There are so few lines that nearly all of them were replaced many times.
    for (shape, sum) in shapes.iter().zip(sums) {
        assert!(sum.directory_writes > 10 * shape.lines() as u64, "{sum:?}");
    }
    let counted = cache_counters(&outcome);
    let expected = [
        instruction.directory_writes,
        instruction.penalty_cycles,
        data.directory_writes,
        data.penalty_cycles,
    ];
    assert_eq!(counted, expected, "of {} accesses", replay.accesses.len());
}

/// Counters 2-5 as reported: directory writes and penalty cycles of the instruction cache, then of the data cache.
fn cache_counters(outcome: &RunOutcome) -> [u64; 4] {
    let text = json::text(&outcome.report).unwrap();
    let value: serde_json::Value = serde_json::from_str(&text).unwrap();
    ["2", "3", "4", "5"].map(|number| {
        let count = value["counters"]["basic"][number].as_u64();
        count.unwrap_or_else(|| panic!("no counter {number} in {text}"))
    })
}

#[test]
fn a_run_through_the_model_of_the_caches_executes_what_it_executes_without_it() {
    let plain = ipl::above_with_success(&ipl::options("b_stfl")).unwrap();
    let mut options = ipl::options("b_stfl");
    options.exact_caches = Some(Geometry::default());
    let modelled = ipl::above_with_success(&options).unwrap();
    let guest = |outcome: &RunOutcome| {
        let totals = &outcome.report.record.totals[0];
        (totals.guest_instructions, totals.guest_cycles)
    };
    assert_eq!(guest(&modelled), guest(&plain));
    assert_eq!(modelled.console, plain.console);
    let steps = modelled.report.record.totals[0].traps;
    assert!(
        steps >= guest(&plain).0,
        "{steps} traps, {:?}",
        guest(&plain)
    );
    // Text and operands were brought in, at the price that follows from the geometry.
    let counted = cache_counters(&modelled);
    for (writes, penalty) in [(counted[0], counted[1]), (counted[2], counted[3])] {
        assert!(writes != 0, "{counted:?}");
        assert_eq!(penalty, 8 * writes, "{counted:?}");
    }
}
