//! Each form has the call stacks of a run that followed them.

use super::*;
use crate::{
    calls::stacks,
    folder::{CONSOLE, MAPPED, OBJECTS, SYMBOLS, record::RunRecord},
    formats::samples::tests::block,
    report::tests::with_stacks,
    symbols::Symbol,
};
use link::stack::StackHead;

/// The frames of a stack, from the outermost on.
type Stack = Vec<String>;

/// Samples 0 and 1 of CPU 0: `start` had called `inner` at 200006 and 20000E.
fn called() -> Stack {
    ["g", "start", "inner"].map(str::to_owned).to_vec()
}

#[test]
fn folded_stacks_begin_with_the_program_and_end_with_the_sampled_routine() {
    let directory = with_stacks();
    assert_eq!(
        text(directory.path(), To::Folded),
        "(unknown address) 1\n(wait) 1\ng;inner 1\ng;start 2\ng;start;inner 2\n"
    );
}

#[test]
fn speedscope_and_the_firefox_profiler_get_each_frame() {
    let directory = with_stacks();
    let value: Value = serde_json::from_str(&text(directory.path(), To::Speedscope)).unwrap();
    let name = |place: &Value| {
        let frame = &value["shared"]["frames"][place.as_u64().unwrap() as usize];
        frame["name"].as_str().unwrap().to_owned()
    };
    let samples = value["profiles"][0]["samples"].as_array().unwrap();
    let stacks = samples.iter().map(|stack| stack.as_array().unwrap());
    let stacks: Vec<Stack> = stacks
        .map(|stack| stack.iter().map(name).collect())
        .collect();
    assert_eq!(stacks[..2], [called(), called()]);
    assert_eq!(stacks[2], ["g", "start"]);

    let value: Value = serde_json::from_str(&text(directory.path(), To::Firefox)).unwrap();
    let thread = &value["threads"][0];
    let table = thread["stackTable"]["prefix"].as_array().unwrap();
    let mut stack = thread["samples"]["stack"][0].as_u64();
    let mut frames = 0;
    while let Some(place) = stack {
        frames += 1;
        stack = table[place as usize].as_u64();
    }
    assert_eq!(frames, 3);
}

#[test]
fn pprof_gets_the_locations_of_calls_behind_the_sampled_one() {
    let directory = with_stacks();
    let profile = Profile::open(directory.path()).unwrap();
    let mut out = Vec::new();
    write(&profile, To::Pprof, &mut out, &mut Ticker::silent()).unwrap();
    let mut bytes = Vec::new();
    GzDecoder::new(&out[..]).read_to_end(&mut bytes).unwrap();
    let whole = published::Profile::decode(&bytes[..]).unwrap();
    let address = |id: &u64| whole.locations[*id as usize - 1].address;
    let stacks: Vec<Vec<u64>> = whole
        .samples
        .iter()
        .map(|sample| sample.location_ids.iter().map(address).collect())
        .filter(|stack: &Vec<u64>| stack.len() > 1)
        .collect();
    let calls = [[0x20_0020, 0x20_0005], [0x20_0024, 0x20_000D]];
    assert_eq!(stacks, calls);
}

#[test]
fn perf_data_has_the_call_chain_of_each_sample() {
    let directory = with_stacks();
    let file = directory.path().join("perf.data");
    export(directory.path(), To::Perf, None, Progress::Silent).unwrap();
    let reader = std::io::BufReader::new(File::open(file).unwrap());
    let PerfFileReader {
        mut perf_file,
        mut record_iter,
    } = PerfFileReader::parse_file(reader).unwrap();
    let mut chains = Vec::new();
    while let Some(record) = record_iter.next_record(&mut perf_file).unwrap() {
        let PerfFileRecord::EventRecord { record, .. } = record else {
            panic!("a record of perf's own");
        };
        if let EventRecord::Sample(sample) = record.parse().unwrap() {
            let chain = sample.callchain.unwrap();
            let chain: Vec<u64> = (0..chain.len()).filter_map(|at| chain.get(at)).collect();
            chains.push(chain);
        }
    }
    let user = -512_i64 as u64;
    assert_eq!(chains.len(), 7);
    assert!(chains.contains(&vec![user, 0x20_0020, 0x20_0006]));
    assert!(chains.contains(&vec![user, 0x20_0024, 0x20_000E]));
    assert!(chains.contains(&vec![user, 0x20_0000]));
}

/// A run of Linux with one sample: in the kernel, which process 7 had called from its routine `inner`.
fn of_a_call_of_the_kernel(mapped: &str) -> tempfile::TempDir {
    let directory = report::tests::directory();
    let write = |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
    let mut record = RunRecord::read(directory.path()).unwrap();
    record.is_linux = true;
    record.cpus = 1;
    record.totals.truncate(1);
    record.write(directory.path()).unwrap();
    fs::remove_file(directory.path().join("sdb-cpu1.bin")).unwrap();
    write(
        SYMBOLS,
        b"0000000000100000\t0000000000200000\tkernel\t_stext\n",
    );
    write(
        CONSOLE,
        b"\x1Emillimeter: kernel 100000\n\x1Emillimeter: process 7 caller\n",
    );
    let mut block = block(&[(0x10_0040, 0)], 0);
    block[16..24].copy_from_slice(&(0x8000_0000_u64 << 32 | 7).to_be_bytes());
    write("sdb-cpu0.bin", &block);
    let returns = [0x10_0080, 0x1_0000_0124, 0x99, 0, 0x1_0000_0220];
    let head = StackHead {
        address: 0x10_0040.into(),
        count: (returns.len() as u16).into(),
        program: 2.into(),
        ..StackHead::default()
    };
    write("stacks-cpu0.bin", &stacks::bytes(&head, &returns));
    write(MAPPED, mapped.as_bytes());
    fs::create_dir(directory.path().join(OBJECTS)).unwrap();
    let routine = |start: u64, name: &str| Symbol {
        start,
        end: start + 0x100,
        module: String::new(),
        name: name.to_owned(),
    };
    let symbols = [routine(0x100, "inner"), routine(0x200, "outer")];
    let object = elf::file(0x100, 0x200, &symbols).unwrap();
    write("objects/0", &object);
    directory
}

/// The call chain of the only sample, and the records of names and mappings before it.
fn chain_and_records(directory: &Path) -> (Vec<u64>, Vec<String>) {
    export(directory, To::Perf, None, Progress::Silent).unwrap();
    let reader = std::io::BufReader::new(File::open(directory.join("perf.data")).unwrap());
    let PerfFileReader {
        mut perf_file,
        mut record_iter,
    } = PerfFileReader::parse_file(reader).unwrap();
    let (mut chain, mut records) = (Vec::new(), Vec::new());
    while let Some(record) = record_iter.next_record(&mut perf_file).unwrap() {
        let PerfFileRecord::EventRecord { record, .. } = record else {
            panic!("a record of perf's own");
        };
        let name = |path: Vec<u8>| {
            let path = String::from_utf8(path).unwrap();
            path.rsplit('/').next().unwrap().to_owned()
        };
        match record.parse().unwrap() {
            EventRecord::Sample(sample) => {
                let found = sample.callchain.unwrap();
                chain = (0..found.len()).filter_map(|at| found.get(at)).collect();
            }
            EventRecord::Comm(comm) => {
                let name = name(comm.name.as_slice().to_vec());
                records.push(format!("{} is {name}", comm.pid));
            }
            EventRecord::Mmap(map) if map.pid > 0 => {
                let name = name(map.path.as_slice().to_vec());
                let (start, offset) = (map.address, map.page_offset);
                records.push(format!("{} {start:X} {offset:X} {name}", map.pid));
            }
            _ => {}
        }
    }
    (chain, records)
}

#[test]
fn a_process_whose_samples_are_in_the_kernel_has_the_names_of_its_callers_there() {
    // The file's text is not at its beginning.
    let directory = of_a_call_of_the_kernel("map 7 100000000 100001000 0 /bin/caller\n");
    let (kernel, user) = (-128_i64 as u64, -512_i64 as u64);
    let (chain, records) = chain_and_records(directory.path());
    let expected = [
        kernel,
        0x10_0040,
        0x10_0080,
        user,
        0x1_0000_0124,
        0x1_0000_0220,
    ];
    assert_eq!(chain, expected);
    assert_eq!(records, ["7 is caller", "7 100000000 0 0.caller"]);
    assert!(directory.path().join("perf.data.symbols/0.caller").exists());

    // Nobody knows what it mapped: its callers have the name of all programs.
    let directory = of_a_call_of_the_kernel("");
    let (chain, records) = chain_and_records(directory.path());
    assert_eq!(chain, expected);
    assert_eq!(records, ["7 is caller", "7 0 0 (user space)"]);
}
