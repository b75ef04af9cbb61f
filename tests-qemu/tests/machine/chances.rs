//! An instruction's chance to be sampled is its share of the cycles, whether the hardware or the machine performs it.

use measure::{numbers::quantities::Sampling, options::RunOptions};
use tests_qemu::{
    chance::{critical, even},
    ipl,
    suite::test,
};

/// Primes, so that they have no factor in common with the length of a loop.
const INTERVALS: [u64; 5] = [1009, 1511, 2003, 3001, 4999];

/// Every instruction of a loop has so many bytes.
const LENGTH: u64 = 4;

/// A loop of the guest: where it is, its instructions, and which of them traps.
struct Loop {
    at: u64,
    instructions: u64,
    trapped: u64,
}

impl Loop {
    /// Reads the guest's line on a loop.
    fn parse(line: &str) -> Option<Self> {
        let (at, rest) = line.strip_prefix("loop at ")?.split_once(": ")?;
        let (instructions, rest) = rest.split_once(" instructions, number ")?;
        Some(Self {
            at: u64::from_str_radix(at, 16).ok()?,
            instructions: instructions.parse().ok()?,
            trapped: rest.strip_suffix(" traps")?.parse().ok()?,
        })
    }

    /// The samples of each instruction.
    fn samples(&self, addresses: &[u64]) -> Vec<u64> {
        let mut samples = vec![0; self.instructions as usize];
        for address in addresses {
            let place = address.wrapping_sub(self.at) / LENGTH;
            if let Some(samples) = samples.get_mut(place as usize) {
                *samples += 1;
            }
        }
        samples
    }
}

#[test]
fn samples_are_spread_evenly_over_loops_with_a_trapped_instruction() {
    for interval in INTERVALS {
        let outcome = ipl::above_with_success(&RunOptions {
            sampling: Sampling::Every(interval),
            ..ipl::options("trapped-loops")
        })
        .unwrap();
        let entries = outcome.report.cpus.iter().flat_map(|cpu| &cpu.entries);
        let addresses: Vec<u64> = entries
            .map(|entry| entry.instruction_address.get())
            .collect();
        let loops: Vec<Loop> = outcome.console.lines().filter_map(Loop::parse).collect();
        assert_eq!(loops.len(), 10, "{}", outcome.console);
        for of in loops {
            let samples = of.samples(&addresses);
            let (found, limit) = (even(&samples), critical(samples.len() - 1));
            assert!(
                found < limit,
                "{found:.1} is above {limit:.1} with number {} trapped, a sample every {interval} cycles: {samples:?}",
                of.trapped
            );
        }
    }
}
