use super::*;
use crate::bench::{Bench, value};
use crate::operator::His;
use arch::cpu::MAXIMUM_CPUS;
use cpumf::model::{MODELS, Z15};
use record::smf::Data;
use std::boxed::Box;
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Files in memory, by set and kind.
#[derive(Clone, Default)]
struct Memory(Rc<RefCell<Kept>>);

#[derive(Default)]
struct Kept {
    files: BTreeMap<std::string::String, std::vec::Vec<u8>>,
    ended: Option<(u16, bool)>,
}

impl Files for Memory {
    fn write(&mut self, set: u16, file: File, bytes: &[u8]) {
        let mut kept = self.0.borrow_mut();
        let file = kept.files.entry(format!("{set} {file:?}")).or_default();
        file.extend_from_slice(bytes);
    }

    fn failed(&mut self, file: File, why: CannotEncode) {
        panic!("{file:?}: {why}");
    }

    fn end(&mut self, set: u16, map: bool) {
        self.0.borrow_mut().ended = Some((set, map));
    }
}

#[test]
fn the_counters_of_every_model_fit() {
    for model in &MODELS {
        let counts = Event::ALL.map(|event| {
            event
                .counter_set()
                .map_or(0, |set| usize::from(model.range(set).count))
        });
        let sum: usize = counts.iter().sum();
        assert!(sum <= MOST_NAMES, "{}: {sum}", model.name);
    }
}

/// In a box, as it is large.
struct Boxed(Box<Hisprof<Memory>>);

impl Exit for Boxed {
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling {
        self.0.call(call, service)
    }
}

struct Operator {
    bench: Bench,
    his: His<Boxed>,
    memory: Memory,
    subtype: Option<u8>,
}

impl Operator {
    fn new() -> Self {
        let mut bench = Bench::new();
        let mut his = His::new();
        his.service.enable(&mut bench);
        let memory = Memory::default();
        Self {
            bench,
            his,
            memory,
            subtype: None,
        }
    }

    fn enter(&mut self, line: &str) {
        let files = self.memory.clone();
        self.his.command(&mut self.bench, line, |run| {
            let mut hisprof = Box::new(Hisprof::new(files));
            hisprof.lend(vec![0; MAXIMUM_CPUS * ROOM].leak());
            hisprof.subtype = self.subtype;
            let system = System {
                model: &Z15,
                machine_type: 0x8561,
                capacity: Ebcdic::new("702"),
                sequence_code: Ebcdic::new("0000000000012345"),
                speed: 1000,
            };
            hisprof.begin(run, system);
            Boxed(hisprof)
        });
    }

    fn file(&self, name: &str) -> std::vec::Vec<u8> {
        let kept = self.memory.0.borrow();
        kept.files.get(name).cloned().unwrap_or_default()
    }
}

#[test]
fn hisprof_queries_its_counters_at_each_step_of_a_run_that_collects_some() {
    for (line, between) in [("F HIS,B,CTRONLY,SI=2", 120_000_000), ("F HIS,B,CNT=NO", 0)] {
        let mut operator = Operator::new();
        operator.enter(line);
        for _ in 0..3 {
            let clock = &operator.bench.clock;
            clock.set(clock.get() + 120_000_000);
            operator.his.tick(&mut operator.bench);
        }
        let hisprof = operator.his.service.registry().profilers().next().unwrap();
        assert_eq!(hisprof.between_queries(), between, "{line}");
    }
}

#[test]
fn a_run_writes_the_selected_subtype_only_and_its_other_files_as_ever() {
    let files = |subtype| {
        let mut operator = Operator::new();
        operator.subtype = subtype;
        operator.bench.counted = 10;
        operator.enter("F HIS,B,CTRONLY,CTRSET=BASIC");
        operator.bench.counted = 30;
        operator.enter("F HIS,END");
        ["0 Smf", "0 Monitor", "0 Counters"].map(|name| operator.file(name))
    };
    let [both, monitor, text] = files(None);
    for subtype in [1, 2] {
        let [smf, same_monitor, same_text] = files(Some(subtype));
        let mut expected = instructions(&both);
        expected.retain(|(written, ..)| *written == u16::from(subtype));
        assert_eq!(instructions(&smf), expected);
        assert!(
            !expected.is_empty() && (same_monitor, same_text) == (monitor.clone(), text.clone())
        );
    }
}

#[test]
fn a_record_names_his_as_its_subsystem_and_the_machine_as_stsi_does() {
    let mut operator = Operator::new();
    operator.enter("F HIS,B,SMP=NO,CTRSET=BASIC,MAP=NO");
    operator.enter("F HIS,END");
    let smf = operator.file("0 Smf");
    assert_eq!((smf[4], smf[5]), (0xC0, 113), "subsystem and subtypes");
    let record = smf::decode(&smf).unwrap();
    let envelope = record.envelope;
    assert_eq!(envelope.subsystem, Some(Ebcdic::new("HIS")));
    assert_eq!(envelope.product.unwrap().product, Ebcdic::new("HIS"));
    let Data::Absolutes(data) = record.data else {
        panic!("the first record has values");
    };
    let texts = [data.data.model, data.data.sequence_code];
    assert_eq!(texts, ["702", "0000000000012345"].map(Ebcdic::new));
    let text = std::string::String::from_utf8(operator.file("0 Counters")).unwrap();
    let line = "\nMODEL: 8561-702  SEQCODE: 0000000000012345\n";
    assert!(text.contains(line), "{text}");
}

/// The instruction counters in SMF records: subtype, CPU, number of the set, value.
fn instructions(mut bytes: &[u8]) -> std::vec::Vec<(u16, u16, u64)> {
    let mut found = std::vec::Vec::new();
    while !bytes.is_empty() {
        let record = smf::decode(bytes).unwrap();
        let (cpu, first) = match &record.data {
            Data::Deltas(data) => (data.data.cpu, data.sets().next()),
            Data::Absolutes(data) => (data.data.cpu, data.sets().next()),
        };
        let counter = first.unwrap().counters.get(1).unwrap();
        found.push((record.header.subtype.get(), cpu, counter));
        bytes = &bytes[usize::from(record.header.length.get())..];
    }
    found
}

#[test]
fn each_step_writes_deltas_and_values_of_one_reading_and_a_new_state_begins_with_its_own_values() {
    let mut operator = Operator::new();
    operator.bench.cpus = bit64(1);
    operator.bench.counted = 10;
    operator.enter("F HIS,B,SMP=NO,CTRSET=BASIC,CNTINTVAL=1");
    operator.bench.counted = 30;
    operator
        .bench
        .clock
        .set(operator.bench.clock.get() + 60_000_000);
    operator.his.tick(&mut operator.bench);
    operator.bench.counted = 100;
    operator.his.speed_changed(&mut operator.bench);
    operator.bench.counted = 101;
    operator.enter("F HIS,END");
    let at = |counted| value(1, 1, counted);
    let step = |counted, more| [(1, 1, more), (2, 1, at(counted))];
    let mut expected = vec![(2, 1, at(10))];
    expected.extend(step(30, at(30) - at(10)));
    expected.extend(step(100, at(100) - at(30)));
    expected.push((2, 1, at(100)));
    expected.extend(step(101, at(101) - at(100)));
    assert_eq!(instructions(&operator.file("0 Smf")), expected);
    let text = |name| std::string::String::from_utf8(operator.file(name)).unwrap();
    for (name, state_change, instructions) in [
        ("0 Counters", "STATE CHANGE: YES", at(100) - at(10)),
        ("1 Counters", "STATE CHANGE: NO", at(101) - at(100)),
    ] {
        let text = text(name);
        assert!(text.contains(state_change), "{text}");
        assert!(text.contains(&format!(" {instructions:016X}")), "{text}");
    }
    assert_eq!(operator.memory.0.borrow().ended, Some((1, true)));
}

#[test]
fn a_counter_file_tells_that_a_state_change_ended_it_also_when_the_run_ends_with_it() {
    for (choice, last) in [("STOP", "YES"), ("IGNORE", "NO")] {
        let mut operator = Operator::new();
        operator.enter(&format!("F HIS,B,CTRONLY,STATECHANGE={choice}"));
        operator.his.speed_changed(&mut operator.bench);
        operator.enter("F HIS,END");
        let text = std::string::String::from_utf8(operator.file("0 Counters")).unwrap();
        assert!(text.contains(&format!("STATE CHANGE: {last}\n")), "{text}");
    }
}

#[test]
fn lost_counter_data_are_indicated_in_the_next_records_only() {
    let mut operator = Operator::new();
    operator.bench.cpus = bit64(0);
    operator.enter("F HIS,B,SMP=NO,CTRSET=BASIC,MAP=NO,CNTFILE=NO");
    operator
        .his
        .counter_data_lost(&mut operator.bench, CounterLoss::Cpu);
    operator.his.speed_changed(&mut operator.bench);
    operator.enter("F HIS,END");
    let bytes = operator.file("0 Smf");
    let mut rest = &bytes[..];
    let mut lost = std::vec::Vec::new();
    while !rest.is_empty() {
        let record = smf::decode(rest).unwrap();
        lost.push(match record.data {
            Data::Deltas(data) => data.data.lost,
            Data::Absolutes(data) => data.data.lost,
        });
        rest = &rest[usize::from(record.header.length.get())..];
    }
    // First; deltas and values of the change, values of the new state; deltas and values of the end.
    assert_eq!(lost, [false, true, true, true, false, false]);
    assert_eq!(operator.file("0 Counters"), []);
    assert_eq!(operator.memory.0.borrow().ended, Some((1, false)));
}

#[test]
fn a_loss_of_mt_counter_data_is_not_a_loss_of_the_others() {
    use CounterLoss::{Cpu, Mt};
    // (the set of the run, what is lost, bits 0 and 1 of subtype 1, bit 4 of subtype 2, the .CNT file's alert)
    for (set, losses, deltas, absolutes, alert) in [
        ("(BASIC,MTDIAG)", &[Mt][..], 0x4000, 0, "YES"),
        ("(BASIC,MTDIAG)", &[Cpu], 0x8000, 0x0800, "YES"),
        ("(BASIC,MTDIAG)", &[Mt, Cpu], 0xC000, 0x0800, "YES"),
        ("BASIC", &[Mt], 0x4000, 0, "NO"),
        ("BASIC", &[], 0, 0, "NO"),
    ] {
        let mut operator = Operator::new();
        operator.bench.cpus = bit64(0);
        operator.bench.authorized = Event::Basic.bit().union(Event::MtDiagnostic.bit());
        operator.enter("F HIS,SERVICE,REFRESH");
        operator.enter(&format!("F HIS,B,CTRONLY,CTRSET={set}"));
        for loss in losses {
            operator.his.counter_data_lost(&mut operator.bench, *loss);
        }
        operator.enter("F HIS,END");
        let bytes = operator.file("0 Smf");
        let mut rest = &bytes[..];
        let mut flags = std::vec::Vec::new();
        while !rest.is_empty() {
            // The flags are read as a program with the manual reads them.
            let data = u32::from_be_bytes(*rest[44..].first_chunk().unwrap()) as usize;
            let (at, bits) = match rest[23] {
                1 => (data + 50, 0xF000),
                _ => (data + 18, 0x1C00),
            };
            flags.push(u16::from_be_bytes(*rest[at..].first_chunk().unwrap()) & bits);
            let length = u16::from_be_bytes(*rest.first_chunk().unwrap());
            rest = &rest[usize::from(length)..];
        }
        // Values of the beginning; deltas and values of the end.
        assert_eq!(flags, [0, deltas, absolutes], "{set} {losses:?}");
        let text = std::string::String::from_utf8(operator.file("0 Counters")).unwrap();
        let line = format!("LOSS OF COUNTER DATA ALERT: {alert}\n");
        assert!(text.contains(&line), "{text}");
        let bytes = operator.file("0 Monitor");
        let first = monitor::decode(&bytes).unwrap();
        let last = monitor::decode(&bytes[first.length..]).unwrap();
        let count = losses.iter().filter(|loss| **loss == Cpu).count();
        assert_eq!(last.counters.unwrap().data.lost, count as u32);
    }
}

#[test]
fn the_monitor_records_count_losses_of_counter_data_over_all_runs_and_outside_of_them() {
    let mut operator = Operator::new();
    operator.bench.cpus = bit64(0);
    operator
        .his
        .counter_data_lost(&mut operator.bench, CounterLoss::Cpu);
    let mut counts = std::vec::Vec::new();
    for _ in 0..2 {
        operator.memory.0.borrow_mut().files.clear();
        operator.enter("F HIS,B,CTRONLY,CTRSET=BASIC,CNTFILE=NO");
        operator
            .his
            .counter_data_lost(&mut operator.bench, CounterLoss::Cpu);
        operator.enter("F HIS,END");
        operator
            .his
            .counter_data_lost(&mut operator.bench, CounterLoss::Cpu);
        let clock = &operator.bench.clock;
        clock.set(clock.get() + 1_000_000);
        let bytes = operator.file("0 Monitor");
        let mut rest = &bytes[..];
        while !rest.is_empty() {
            let record = monitor::decode(rest).unwrap();
            counts.push(record.counters.unwrap().data.lost);
            rest = &rest[record.length..];
        }
    }
    // One before the runs, one in each and one after each.
    assert_eq!(counts, [1, 2, 3, 4]);
}

#[test]
fn records_have_core_and_thread_of_a_cpu_and_the_first_thread_has_the_counters_of_the_core() {
    let mut operator = Operator::new();
    operator.bench.threads = 2;
    operator.bench.cpus = bit64(0) | bit64(1) | bit64(2) | bit64(3);
    operator.bench.authorized = Event::Basic.bit().union(Event::MtDiagnostic.bit());
    operator.enter("F HIS,SERVICE,REFRESH");
    operator.enter("F HIS,B,SMP=NO,MAP=NO,CTRSET=(BASIC,MTDIAG)");
    operator.bench.counted = 10;
    operator.enter("F HIS,END");
    let smf = operator.file("0 Smf");
    let found = sets(&smf, 1);
    let expected = [(0, 6), (0, 1), (1, 1), (2, 6), (2, 1), (3, 1)];
    let expected = expected.map(|(cpu, set)| (cpu, SetType(set)));
    assert_eq!(
        found.keys().copied().collect::<BTreeSet<_>>(),
        BTreeSet::from(expected)
    );
    for cpu in [0, 2] {
        let counters = &found[&(cpu, SetType::MT_DIAGNOSTIC)];
        assert!(counters.iter().copied().eq((449..=496).map(|n| 10 * n)));
    }
    let mut rest = &smf[..];
    let mut cores = std::vec::Vec::new();
    while !rest.is_empty() {
        let record = smf::decode(rest).unwrap();
        if let Data::Deltas(data) = &record.data {
            cores.push((data.data.cpu, data.data.core));
        }
        rest = &rest[usize::from(record.header.length.get())..];
    }
    assert_eq!(cores, [(0, 0), (1, 0), (2, 1), (3, 1)]);
    let bytes = operator.file("0 Monitor");
    let mut rest = &bytes[..];
    let mut threads = std::vec::Vec::new();
    while !rest.is_empty() {
        let record = monitor::decode(rest).unwrap();
        let data = record.counters.unwrap().data;
        threads.push((data.cpu, data.core, data.thread));
        rest = &rest[record.length..];
    }
    let expected = [(0, 0, 0), (1, 0, 1), (2, 1, 0), (3, 1, 1)];
    assert_eq!(threads, [expected, expected].concat());
}

#[test]
fn a_thread_without_any_of_the_counters_of_a_run_is_not_in_its_files() {
    let mut operator = Operator::new();
    operator.bench.threads = 2;
    operator.bench.authorized = Event::MtDiagnostic.bit();
    operator.enter("F HIS,SERVICE,REFRESH");
    operator.enter("F HIS,B,CTRONLY,CTRSET=MTDIAG");
    operator.enter("F HIS,END");
    let found = sets(&operator.file("0 Smf"), 1);
    assert_eq!(
        found.keys().collect::<std::vec::Vec<_>>(),
        [&(0, SetType::MT_DIAGNOSTIC)]
    );
    let text = std::string::String::from_utf8(operator.file("0 Counters")).unwrap();
    assert_eq!(text.matches(" FOR CPU ").count(), 1, "{text}");
}

/// The counters in the SMF records of a subtype, by CPU and set.
fn sets(mut bytes: &[u8], subtype: u16) -> BTreeMap<(u16, SetType), std::vec::Vec<u64>> {
    let mut found = BTreeMap::new();
    while !bytes.is_empty() {
        let record = smf::decode(bytes).unwrap();
        let (cpu, sets): (_, std::vec::Vec<_>) = match &record.data {
            Data::Deltas(data) => (data.data.cpu, data.sets().collect()),
            Data::Absolutes(data) => (data.data.cpu, data.sets().collect()),
        };
        if record.header.subtype.get() == subtype {
            for set in sets {
                found.insert((cpu, set.set), set.counters.iter().collect());
            }
        }
        bytes = &bytes[usize::from(record.header.length.get())..];
    }
    found
}

#[test]
fn software_counters_are_only_in_the_deltas_of_each_cpu_and_without_names_in_the_text() {
    for (choice, hardware) in [("ZOS", 0), ("SOFTWARE", 0), ("COMPLETE", 2)] {
        let mut operator = Operator::new();
        operator.bench.authorized = operator.bench.authorized.union(Events::SOFTWARE);
        operator.enter("F HIS,SERVICE,REFRESH");
        operator.bench.counted = 10;
        operator.enter(&format!("F HIS,B,SMP=NO,MAP=NO,CTRSET={choice}"));
        operator.bench.counted = 1_000_010;
        operator.enter("F HIS,END");
        let smf = operator.file("0 Smf");
        let deltas = sets(&smf, 1);
        assert_eq!(deltas.len(), 2 * (hardware + 1));
        for cpu in 0..2 {
            let counters = &deltas[&(cpu, SetType::ZOS)];
            let expected = (1..=1500).map(|number| 1_000_000 * number);
            assert!(counters.iter().copied().eq(expected), "{counters:?}");
        }
        assert_eq!(sets(&smf, 2).len(), 2 * hardware, "{choice}");
        assert_eq!(operator.file("0 Monitor").is_empty(), hardware == 0);
        let text = std::string::String::from_utf8(operator.file("0 Counters")).unwrap();
        let (before, behind) = text.split_once("COUNTER SET= ZOS\n").unwrap();
        assert_eq!(before.contains("COUNTER SET= BASIC"), hardware != 0);
        let names = "COUNTER IDENTIFIERS:\nSOFTWARE COUNTER INFORMATION NOT AVAILABLE\n";
        assert!(behind.starts_with(names), "{behind}");
        let last = [1497, 1498, 1499, 1500].map(|n| format!(" {:016X}", 1_000_000 * n));
        let last = format!("\n1496-1499:{}\n", last.concat());
        assert_eq!(behind.matches(&last).count(), 2);
        assert_eq!(
            behind
                .matches("EVENT COUNTERS (HEXADECIMAL) FOR CPU")
                .count(),
            2
        );
    }
}
