//! From raw files to what a person wants to know: where the time went.
//!
//! A report is always made from a directory, also at the end of the run that wrote it: so the same
//! report can be made again at any time, and a run that was cut off has one too.

use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use millimeter::cpumf::{Model, model};
use sha2::{Digest, Sha256};

use crate::{
    collect::{COUNTERS, sdb_cpus, sdb_name},
    counters::{self, CounterValues},
    linux::names::{BOOT, KERNEL},
    profile::{Line, Names, names::optional},
    record::Record,
    samples::{self, CpuSamples},
};

/// A line of the table of the hottest routines.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Hot {
    /// The routine, or one of the lines in parentheses.
    pub symbol: String,
    /// The program that it is part of; empty where there is none.
    pub module: String,
    /// Samples in it.
    pub samples: u64,
}

/// Everything that was measured.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Where the raw files are.
    pub directory: PathBuf,
    /// How the run was and how it ended.
    pub record: Record,
    /// Samples by CPU.
    pub cpus: Vec<CpuSamples>,
    /// Counter sets by level, CPU or coprocessor group, and set.
    pub counters: Vec<CounterValues>,
    /// Routines by samples, the hottest first.
    pub hot: Vec<Hot>,
    /// SHA-256 of all blocks, CPU after CPU.
    pub sdb_sha256: String,
    /// What is missing or damaged, in sentences.
    pub doubts: Vec<String>,
}

impl Report {
    /// Reads the files of a run.
    pub fn read(directory: &Path) -> Result<Self> {
        let record = Record::read(directory)?;
        let (names, mut doubts) = Names::of_run(directory, &record)?;
        let mut hash = Sha256::new();
        let mut cpus = Vec::new();
        for cpu in
            sdb_cpus(directory).with_context(|| format!("cannot read {}", directory.display()))?
        {
            let path = directory.join(sdb_name(cpu));
            let bytes =
                fs::read(&path).with_context(|| format!("cannot read {}", path.display()))?;
            hash.update(&bytes);
            cpus.push(samples::read(cpu, &bytes));
        }
        let (counters, cut) =
            counters::read(&optional(&directory.join(COUNTERS))?.unwrap_or_default());
        if cut {
            doubts.push(format!("{COUNTERS} ends in the middle of a counter set"));
        }
        let hot = hottest(&cpus, &names);
        let digest = hash.finalize();
        let sdb_sha256 = digest.iter().map(|byte| format!("{byte:02x}")).collect();
        let mut report = Self {
            directory: directory.to_owned(),
            record,
            cpus,
            counters,
            hot,
            sdb_sha256,
            doubts,
        };
        report.find_doubts();
        Ok(report)
    }

    /// Samples that reached the host.
    pub fn taken(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.entries.len() as u64).sum()
    }

    /// Samples that found no room: as the machine counted them, or the trailers of a run that was
    /// cut off.
    pub fn lost(&self) -> u64 {
        if self.record.totals.is_empty() {
            self.cpus.iter().map(|cpu| cpu.overflow).sum()
        } else {
            self.record
                .totals
                .iter()
                .map(|totals| totals.samples_lost)
                .sum()
        }
    }

    /// Blocks that reached the host.
    pub fn blocks(&self) -> u64 {
        self.cpus.iter().map(|cpu| cpu.blocks).sum()
    }

    /// The model that the guest found, which says what its counters are.
    pub fn model(&self) -> &'static Model {
        let started = self.record.started.as_ref();
        started
            .and_then(|started| u16::from_str_radix(&started.machine_type, 16).ok())
            .and_then(model::of_type)
            .unwrap_or(&model::DEFAULT)
    }

    /// Samples of Linux by program: the kernel and the boot stage as one line each, modules and processes as
    /// they are in [`Self::hot`]. Of any other guest there are none.
    pub fn programs(&self) -> Vec<Hot> {
        let mut programs: Vec<Hot> = Vec::new();
        for hot in self.hot.iter().filter(|_| self.record.is_linux) {
            let is_whole = [KERNEL, BOOT].contains(&&hot.module[..]);
            let program = Hot {
                symbol: if is_whole { &hot.module } else { &hot.symbol }.clone(),
                module: if is_whole { "" } else { &hot.module }.to_owned(),
                samples: 0,
            };
            let is_it = |known: &&mut Hot| {
                (&known.symbol, &known.module) == (&program.symbol, &program.module)
            };
            match programs.iter_mut().find(is_it) {
                Some(known) => known.samples += hot.samples,
                None => programs.push(Hot {
                    samples: hot.samples,
                    ..program
                }),
            }
        }
        programs.sort_by_key(|line| std::cmp::Reverse(line.samples));
        programs
    }

    /// A share of all samples, in percent.
    pub fn percent(&self, samples: u64) -> f64 {
        let taken = self.taken();
        if taken == 0 {
            0.0
        } else {
            samples as f64 * 100.0 / taken as f64
        }
    }

    fn find_doubts(&mut self) {
        let link = &self.record.link;
        let malformed: u64 = self.cpus.iter().map(|cpu| cpu.malformed).sum();
        let invalid: u64 = self.cpus.iter().map(|cpu| cpu.invalid).sum();
        let said: u64 = self
            .record
            .totals
            .iter()
            .map(|totals| totals.samples_taken)
            .sum();
        let arrived = self.taken() + invalid;
        let mut doubts = Vec::new();
        let mut doubt = |number: u64, text: &str| {
            if number > 0 {
                doubts.push(format!("{number} {text}"));
            }
        };
        doubt(
            link.bad_frames,
            "frames of the link did not check and were dropped",
        );
        doubt(
            link.bad_payloads,
            "frames of the link mean nothing to this tool",
        );
        doubt(link.blocks_missing, "sample-data blocks did not arrive");
        doubt(malformed, "sample-data blocks are damaged or cut off");
        doubt(invalid, "samples are marked invalid");
        if self.record.mode_found() != self.record.mode {
            doubts.push(format!(
                "{} mode was asked for, and the machine found its clock to be {}",
                self.record.mode,
                self.record.mode_found()
            ));
        }
        // The samples of a collection run are in its own files, and those of a profiler are its own.
        let are_his = self.record.interval == 0;
        if !self.record.totals.is_empty() && said != arrived && !are_his {
            doubts.push(format!(
                "the machine stored {said} samples, and {arrived} arrived"
            ));
        }
        self.doubts.extend(doubts);
    }
}

/// Counts samples by their names. Equal counts are in alphabetical order, so the result depends on
/// nothing but the samples.
fn hottest(cpus: &[CpuSamples], names: &Names) -> Vec<Hot> {
    let mut counts: BTreeMap<Line<'_>, u64> = BTreeMap::new();
    for entry in cpus.iter().flat_map(|cpu| &cpu.entries) {
        *counts.entry(names.line(entry)).or_default() += 1;
    }
    let mut hot: Vec<Hot> = counts
        .into_iter()
        .map(|(line, samples)| Hot {
            symbol: line.symbol.into_owned(),
            module: line.module.into_owned(),
            samples,
        })
        .collect();
    // A stable sort: what is equal stays in alphabetical order.
    hot.sort_by_key(|line| std::cmp::Reverse(line.samples));
    hot
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::{
        collect::{CONSOLE, SYMBOLS},
        counters::tests::payload,
        profile::names::{LIMITED, UNKNOWN, WAIT},
        record::{End, GuestEnd, TotalsRecord, tests::record},
        samples::tests::{INVALID, LIMITED as LIMITED_BIT, WAIT as WAIT_BIT, block},
    };
    use millimeter::link::data::{COPROCESSOR_GROUP, Level};

    /// A directory as a run of two CPUs leaves it.
    pub(crate) fn directory() -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        let write =
            |name: &str, bytes: &[u8]| fs::write(directory.path().join(name), bytes).unwrap();
        let mut record = record();
        record.cpus = 2;
        record.end = End::Guest(GuestEnd {
            cpu: 0,
            reason: 1,
            psw_mask: 2 << 48,
            psw_address: 0xFFF,
        });
        record.totals = vec![
            TotalsRecord {
                cpu: 0,
                samples_taken: 5,
                samples_lost: 2,
                guest_instructions: 1000,
                ..TotalsRecord::default()
            },
            TotalsRecord {
                cpu: 1,
                samples_taken: 2,
                ..TotalsRecord::default()
            },
        ];
        record.write(directory.path()).unwrap();
        write(
            SYMBOLS,
            b"0000000000200000\t0000000000200010\tg\tstart\n0000000000200020\t0000000000200040\tg\tinner\n",
        );
        write(
            "sdb-cpu0.bin",
            &block(
                &[
                    (0x20_0020, 0),
                    (0x20_0024, 0),
                    (0x20_0000, 0),
                    (0x99_0000, 0),
                    (0x20_0000, WAIT_BIT),
                ],
                2,
            ),
        );
        write("sdb-cpu1.bin", &block(&[(0x20_003F, 0), (0x20_0000, 0)], 0));
        let mut counters = Vec::new();
        for cpu in 0..2 {
            counters.extend(payload(
                cpu,
                Level::Machine,
                1,
                0,
                &[1000 + u64::from(cpu), 500],
            ));
            counters.extend(payload(cpu, Level::Machine, 2, 32, &[10, 5]));
            counters.extend(payload(cpu, Level::Guest, 1, 0, &[77, 88]));
            let aes = [7 * u64::from(cpu), 9, 0, 0];
            counters.extend(payload(cpu, Level::Machine, 3, 76, &aes));
            counters.extend(payload(cpu, Level::Machine, 0, 128, &[0, 7, 70, 0]));
            counters.extend(payload(cpu, Level::Machine, 5, 448, &[300, 20, 0]));
            let group = [0, 0, 0, 0, 40 + u64::from(cpu), 9, 0, 0];
            let set = COPROCESSOR_GROUP;
            counters.extend(payload(cpu, Level::Machine, set, 0, &group));
        }
        write(COUNTERS, &counters);
        directory
    }

    #[test]
    fn samples_are_counted_by_routine_with_lines_for_wait_and_unknown_addresses() {
        let directory = directory();
        let report = Report::read(directory.path()).unwrap();
        let lines: Vec<(&str, &str, u64)> = report
            .hot
            .iter()
            .map(|hot| (&hot.symbol[..], &hot.module[..], hot.samples))
            .collect();
        assert_eq!(
            lines,
            [
                ("inner", "g", 3),
                ("start", "g", 2),
                (UNKNOWN, "", 1),
                (WAIT, "", 1)
            ]
        );
        assert_eq!((report.taken(), report.lost(), report.blocks()), (7, 2, 2));
        assert_eq!(report.doubts, Vec::<String>::new());
        assert!((report.percent(7) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn samples_of_linux_are_counted_by_program_as_well() {
        const PROBLEM: u64 = 1 << (63 - 28);
        let directory = directory();
        assert_eq!(Report::read(directory.path()).unwrap().programs(), []);
        let write = |name: &str, text: &str| fs::write(directory.path().join(name), text).unwrap();
        let mut record = Record::read(directory.path()).unwrap();
        record.is_linux = true;
        record.write(directory.path()).unwrap();
        write(
            SYMBOLS,
            "0000000000010000\t0000000000010020\tboot stage\tstartup\n\
             0000000000200000\t0000000000200010\tkernel\ta\n\
             0000000000200010\t0000000000200020\tkernel\tb\n",
        );
        let samples = block(
            &[
                (0x20_0002, 0),
                (0x20_0012, 0),
                (0x1_0000, 0),
                (0x1_0000, PROBLEM),
            ],
            0,
        );
        fs::write(directory.path().join("sdb-cpu0.bin"), samples).unwrap();
        fs::remove_file(directory.path().join("sdb-cpu1.bin")).unwrap();
        let report = Report::read(directory.path()).unwrap();
        assert!(report.doubts[0].contains("did not say where its kernel lies"));
        write(CONSOLE, "\x1Emillimeter: kernel 200000\n");
        let report = Report::read(directory.path()).unwrap();
        let lines: Vec<(String, u64)> = report
            .programs()
            .into_iter()
            .map(|hot| (hot.symbol, hot.samples))
            .collect();
        let line = |name: &str, samples| (name.to_owned(), samples);
        assert_eq!(
            lines,
            [
                line("kernel", 2),
                line("(user space)", 1),
                line("boot stage", 1)
            ]
        );
        assert!(!report.doubts.join("").contains("lies"));
    }

    #[test]
    fn limited_samples_have_a_line_of_their_own() {
        let directory = directory();
        let samples = block(&[(0, LIMITED_BIT), (0x20_0020, 0), (0, LIMITED_BIT)], 0);
        fs::write(directory.path().join("sdb-cpu1.bin"), samples).unwrap();
        let report = Report::read(directory.path()).unwrap();
        let limited = report.hot.iter().find(|hot| hot.symbol == LIMITED);
        assert_eq!(limited.map(|hot| hot.samples), Some(2));
    }

    #[test]
    fn a_report_of_damaged_files_says_what_it_doubts() {
        let directory = directory();
        let path = |name: &str| directory.path().join(name);
        fs::remove_file(path(SYMBOLS)).unwrap();
        let mut sdb = fs::read(path("sdb-cpu1.bin")).unwrap();
        sdb[2 * 32 + 1] = 1;
        sdb[2 * 32..2 * 32 + 8].copy_from_slice(&(1u64 << 48 | INVALID).to_be_bytes());
        sdb.push(0);
        fs::write(path("sdb-cpu1.bin"), sdb).unwrap();
        fs::write(path(COUNTERS), [0; 5]).unwrap();
        let report = Report::read(directory.path()).unwrap();
        let doubts = report.doubts.join("\n");
        for expected in [
            "symbols.txt is missing",
            "counters.bin ends",
            "1 sample-data blocks",
            "1 samples are marked",
            "stored 7 samples, and 8 arrived",
        ] {
            assert!(doubts.contains(expected), "{expected} in {doubts}");
        }
        assert_eq!(report.hot[0].symbol, UNKNOWN);
    }
}
