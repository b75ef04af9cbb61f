//! A profiler on the host. It counts the samples of a guest by address, and queries its counters each time that the
//! guest waits.
//!
//! `cargo run --package measure --example profiler [GUEST]` runs the guest (by default `hash`).

use std::{
    collections::BTreeMap,
    env,
    process::ExitCode,
    sync::{Arc, Mutex, PoisonError},
};

use measure::{
    computer::progress::Progress,
    machine::{
        profiler::{Call, Profiler, Registration, Requests},
        run::run_with_profilers,
    },
    options::RunOptions,
};
use zerocopy::FromBytes;
use {
    cpumf::sampling::block::SampleDataBlock,
    his::{answer::Kind, event::Event, exit::Handling},
};

/// How many addresses are shown.
const SHOWN: usize = 10;

/// The samples so far, by address.
#[derive(Default)]
struct Addresses {
    samples: BTreeMap<u64, u64>,
}

impl Profiler for Addresses {
    fn registration(&self) -> Registration {
        Registration {
            name: "EXAMPLE".to_owned(),
            events: Event::Basic.bit(),
            samples: true,
            acknowledges: false,
        }
    }

    fn call(&mut self, call: &Call<'_>, service: &mut Requests<'_>) -> Handling {
        match call {
            Call::Samples(samples) => {
                let block = SampleDataBlock::ref_from_bytes(samples.block).ok();
                let entries = block.into_iter().flat_map(SampleDataBlock::samples);
                for entry in entries.filter(|entry| !entry.wait()) {
                    let address = entry.instruction_address.get();
                    *self.samples.entry(address).or_default() += 1;
                }
            }
            Call::Waiting => service.query(Kind::EventData, None),
            Call::Answer(answer) => {
                for cpu in answer.cpus() {
                    let [cycles, instructions] = [0, 1].map(|number| cpu.counter(number));
                    println!(
                        "CPU {}: {} cycles, {} instructions",
                        cpu.cpu,
                        cycles.unwrap_or(0),
                        instructions.unwrap_or(0)
                    );
                }
            }
            Call::Started(None) => println!("started"),
            Call::Started(Some(warning)) => println!("started, but {warning}"),
            Call::Refused(reason) => println!("not started: {reason}"),
            Call::State(change) => println!("the state has changed: {change:?}"),
            Call::Status(status) => println!("the service: {status:?}"),
            Call::Stopped { missed } => println!("stopped; {missed} samples have passed by"),
        }
        Handling::Done
    }
}

fn main() -> ExitCode {
    let guest = env::args().nth(1).unwrap_or_else(|| "hash".to_owned());
    let addresses = Arc::new(Mutex::new(Addresses::default()));
    let all: [Box<dyn Profiler>; 1] = [Box::new(Arc::clone(&addresses))];
    let outcome = match run_with_profilers(&RunOptions::new(guest), &Progress::Silent, all) {
        Ok(outcome) => outcome,
        Err(error) => {
            eprintln!("error: {error:#}");
            return ExitCode::from(2);
        }
    };
    let addresses = addresses.lock().unwrap_or_else(PoisonError::into_inner);
    let mut hottest: Vec<_> = addresses.samples.iter().collect();
    hottest.sort_by_key(|&(address, samples)| (std::cmp::Reverse(samples), address));
    for (address, samples) in hottest.iter().take(SHOWN) {
        println!("{address:016X} {samples:6}");
    }
    ExitCode::from(outcome.end.exit_code())
}
