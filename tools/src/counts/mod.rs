//! Exact counts of a run with `--count`: how often each instruction was executed.
//!
//! The machine sends runs of instructions and how often each was executed ([`link::counts`]). The folder keeps the payloads
//! of each CPU as they came. [`Counts`] adds them up and checks them: what is returned is whole, or it is an error.
//! [`routines`] and [`sources`] name the instructions by the rule that names samples.

use std::{
    collections::{BTreeMap, HashMap},
    path::Path,
};

use anyhow::{Context, Result, bail, ensure};
use cpumf::sampling::block::{BASIC_FORMAT, BasicEntry};
use link::counts::{self, CountEntry, CountsHead, DAT, PROBLEM};
use zerocopy::FromBytes;

use calls::CallCounts;

use crate::folder::{self, counts_cpus, counts_name, record::RunRecord};

pub mod calls;
pub mod exact;
pub mod routines;
pub mod sources;

/// An instruction that was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Instruction {
    /// Its address.
    pub address: u64,
    /// The program parameter.
    pub parameter: u64,
    /// [`PROBLEM`] and [`DAT`].
    pub state: u16,
    /// The primary address-space number.
    pub asn: u16,
}

impl Instruction {
    /// A sample of this instruction, for its name.
    #[must_use]
    pub fn sample(&self) -> BasicEntry {
        // T and P of a sample.
        const OF_SAMPLE: [(u16, u64); 2] = [(DAT, 1 << (63 - 26)), (PROBLEM, 1 << (63 - 28))];
        let state: u64 = OF_SAMPLE
            .iter()
            .filter(|(state, _)| self.state & state != 0)
            .map(|(_, bit)| bit)
            .sum();
        BasicEntry {
            head: (u64::from(BASIC_FORMAT) << 48 | state | u64::from(self.asn)).into(),
            instruction_address: self.address.into(),
            guest_program_parameter: self.parameter.into(),
            ..BasicEntry::default()
        }
    }
}

/// How often an instruction was executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Executed {
    /// Its executions.
    pub times: u64,
    /// The instructions that they count: an EXECUTE counts one for itself and one for its target.
    pub instructions: u64,
}

impl Executed {
    /// Adds more of them. The sums of all CPUs are below 2^64.
    pub fn add(&mut self, more: Self) {
        self.times = self.times.saturating_add(more.times);
        self.instructions = self.instructions.saturating_add(more.instructions);
    }
}

/// The counts of one CPU.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CpuCounts {
    /// CPU address.
    pub cpu: u16,
    /// Instructions that were counted.
    pub counted: u64,
    /// Instructions that were executed and could not be counted, because it is not known where they were.
    pub unmatched: u64,
    /// Instructions that were executed where nothing was to be counted.
    pub skipped: u64,
}

/// The exact counts of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// The CPUs, in ascending order.
    pub cpus: Vec<CpuCounts>,
    /// What all CPUs executed.
    pub executed: BTreeMap<Instruction, Executed>,
    /// The calls of all CPUs.
    pub calls: CallCounts,
}

/// A run of instructions, without its executions.
type Run = (u64, u64, u64, u64, u16, u16);

fn run(entry: &CountEntry) -> Run {
    (
        entry.start.get(),
        entry.begins.get(),
        entry.twice.get(),
        entry.parameter.get(),
        entry.state.get(),
        entry.asn.get(),
    )
}

impl Counts {
    /// Reads the counts of a folder. `None` if the run did not count.
    ///
    /// # Errors
    /// A file cannot be read, is damaged, or lacks a payload: what is left would not be exact.
    pub fn read(directory: &Path, record: &RunRecord) -> Result<Option<Self>> {
        let mut cpus = counts_cpus(directory)
            .with_context(|| format!("cannot read {}", directory.display()))?;
        cpus.extend(record.counts.iter().map(|counts| counts.cpu));
        cpus.sort_unstable();
        cpus.dedup();
        if cpus.is_empty() {
            return Ok(None);
        }
        let ranges = &record.counted_ranges;
        let is_wanted = |at: u64| {
            let mut ranges = ranges.iter();
            ranges.len() == 0 || ranges.any(|&[first, last]| (first..=last).contains(&at))
        };
        let mut found = Self::default();
        let mut runs: HashMap<Run, (CountEntry, u64)> = HashMap::new();
        for cpu in cpus {
            let path = directory.join(counts_name(cpu));
            let bytes =
                folder::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            let calls = &mut found.calls;
            let mut elsewhere = 0_u64;
            let of_cpu = read_cpu(cpu, &bytes, |entry| {
                if let Some(of_routine) = entry.calls() {
                    return calls.add(&of_routine);
                }
                if let Some(unmatched) = entry.unmatched() {
                    return calls.add_unmatched(&unmatched);
                }
                for (_, counts) in entry.instructions().filter(|(at, _)| !is_wanted(*at)) {
                    let instructions = entry.executions.get().saturating_mul(counts);
                    elsewhere = elsewhere.saturating_add(instructions);
                }
                let (_, executions) = runs.entry(run(entry)).or_insert((*entry, 0));
                *executions = executions.saturating_add(entry.executions.get());
            });
            // The record of a run that was cut off may be older than the file.
            let mut recorded = record.counts.iter().filter(|counts| counts.cpu == cpu);
            let of_cpu = of_cpu.and_then(|of_cpu| match recorded.next() {
                Some(known) if known.counted > of_cpu.counted => bail!(
                    "the run counted {} instructions, and the file has {}",
                    known.counted,
                    of_cpu.counted
                ),
                // The machine counts whole pages.
                _ => Ok(CpuCounts {
                    counted: of_cpu.counted.saturating_sub(elsewhere),
                    skipped: of_cpu.skipped.saturating_add(elsewhere),
                    ..of_cpu
                }),
            });
            found.cpus.push(of_cpu.with_context(|| {
                format!(
                    "the exact counts in {} are not whole; run it again",
                    path.display()
                )
            })?);
        }
        let counted = found
            .cpus
            .iter()
            .try_fold(0_u64, |sum, cpu| sum.checked_add(cpu.counted));
        ensure!(
            counted.is_some(),
            "the exact counts in {} are damaged: their sum has no 64 bits; run it again",
            directory.display()
        );
        for (entry, executions) in runs.into_values() {
            for (address, counts) in entry.instructions().filter(|(at, _)| is_wanted(*at)) {
                let instruction = Instruction {
                    address,
                    parameter: entry.parameter.get(),
                    state: entry.state.get(),
                    asn: entry.asn.get(),
                };
                found
                    .executed
                    .entry(instruction)
                    .or_default()
                    .add(Executed {
                        times: executions,
                        instructions: executions.saturating_mul(counts),
                    });
            }
        }
        Ok(Some(found))
    }

    /// Instructions that were counted on all CPUs.
    #[must_use]
    pub fn counted(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.counted).sum()
    }

    /// Instructions on all CPUs that could not be counted.
    #[must_use]
    pub fn unmatched(&self) -> u64 {
        let unmatched = self.cpus.iter().map(|cpu| cpu.unmatched);
        unmatched.fold(0, u64::saturating_add)
    }

    /// Instructions on all CPUs that were executed where nothing was to be counted.
    #[must_use]
    pub fn skipped(&self) -> u64 {
        let skipped = self.cpus.iter().map(|cpu| cpu.skipped);
        skipped.fold(0, u64::saturating_add)
    }
}

/// Checks the payloads of a CPU's file, and gives each entry to `each`.
///
/// # Errors
/// A payload is damaged or missing, or the entries are not as many instructions as it says.
pub fn read_cpu(cpu: u16, bytes: &[u8], mut each: impl FnMut(&CountEntry)) -> Result<CpuCounts> {
    let mut found = CpuCounts {
        cpu,
        ..CpuCounts::default()
    };
    let mut rest = bytes;
    let mut sum: u128 = 0;
    for number in 0_u32.. {
        if rest.is_empty() {
            break;
        }
        let about = || format!("payload {number} is cut off or damaged");
        let (head, _) = CountsHead::read_from_prefix(rest)
            .ok()
            .with_context(about)?;
        let length =
            size_of::<CountsHead>() + usize::from(head.count.get()) * size_of::<CountEntry>();
        let (payload, behind) = rest.split_at_checked(length).with_context(about)?;
        rest = behind;
        let (head, entries) = counts::parse(payload).with_context(about)?;
        if head.cpu.get() != cpu {
            bail!("payload {number} is of CPU {}", head.cpu);
        }
        if head.sequence.get() != number {
            bail!("payload {number} is missing");
        }
        for entry in entries {
            sum += u128::from(entry.instructions_of_one()) * u128::from(entry.executions.get());
            each(entry);
        }
        if sum != u128::from(head.counted.get()) {
            bail!(
                "the machine counted {} instructions up to payload {number}, and the file has {sum}",
                head.counted
            );
        }
        found.counted = head.counted.get();
        found.unmatched = head.unmatched.get();
        found.skipped = head.skipped.get();
    }
    Ok(found)
}

#[cfg(test)]
pub(crate) mod tests;
