//! Each form has the call stacks of a run that followed them.

use super::*;
use crate::report::tests::with_stacks;

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
    let whole = pprof::ProfileMessage::decode(&bytes[..]).unwrap();
    let address = |id: &u64| whole.location[*id as usize - 1].address;
    let stacks: Vec<Vec<u64>> = whole
        .sample
        .iter()
        .map(|sample| sample.location_id.iter().map(address).collect())
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
