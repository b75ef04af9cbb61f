//! The files of a run's folder that a report reads.

use measure::{
    calls::places::Places, counts, folder::record::RunRecord, formats::counters,
    symbols::SymbolTable,
};
use millimeter::link::data::{Counters, Level};

use super::{about, link::counts_payload, shape};
use crate::Target;

pub const ALL: &[Target] = &[
    Target {
        name: "run-json",
        what: "run.json",
        good: || vec![RUN.into()],
        read: |input| match serde_json::from_slice::<RunRecord>(input) {
            Ok(record) => {
                let text = serde_json::to_vec(&record).unwrap();
                assert_eq!(serde_json::from_slice::<RunRecord>(&text).unwrap(), record);
                format!(
                    "{} {}",
                    record.end.exit_code(),
                    shape(&record.end.sentence())
                )
            }
            Err(error) => shape(&error.to_string()),
        },
        for_each_byte: 64,
        at_least: 1 << 20,
    },
    Target {
        name: "counters-bin",
        what: "counters.bin",
        good: || vec![counter_sets()],
        read: |input| {
            let (sets, cut) = counters::read(input);
            let values: usize = sets.iter().map(|set| set.values.len()).sum();
            assert!(
                values * 8 <= input.len() && (cut || values * 8 + sets.len() * 12 <= input.len())
            );
            for set in &sets {
                counters::set_name(set.set);
            }
            format!("{} {} {cut}", about(sets.len()), about(values))
        },
        for_each_byte: 64,
        at_least: 1 << 20,
    },
    Target {
        name: "counts-bin",
        what: "counts-cpuN.bin",
        good: || vec![counts_payload()],
        read: |input| {
            let (mut entries, mut sum) = (0, 0_u128);
            let read = counts::read_cpu(1, input, |entry| {
                entries += 1;
                sum += u128::from(entry.instructions_of_one()) * u128::from(entry.executions.get());
            });
            match read {
                Ok(of_cpu) => {
                    assert_eq!(u128::from(of_cpu.counted), sum);
                    format!("{}", about(entries))
                }
                Err(error) => shape(&format!("{error:#}")),
            }
        },
        for_each_byte: 16,
        at_least: 1 << 20,
    },
    Target {
        name: "places",
        what: "places.txt",
        good: || vec![PLACES.into()],
        read: |input| match Places::from_text(&String::from_utf8_lossy(input)) {
            Ok(places) => {
                assert_eq!(Places::from_text(&places.to_text()).unwrap(), places);
                format!("{:?}", places.at(0x20_0000))
            }
            Err(error) => shape(&format!("{error:#}")),
        },
        for_each_byte: 128,
        at_least: 1 << 20,
    },
    Target {
        name: "symbols",
        what: "symbols.txt",
        good: || vec![SYMBOLS.into()],
        read: |input| match SymbolTable::from_text(&String::from_utf8_lossy(input)) {
            Ok(table) => {
                assert_eq!(SymbolTable::from_text(&table.to_text()).unwrap(), table);
                let mut last = 0;
                for symbol in table.symbols() {
                    assert!(last <= symbol.start && symbol.start < symbol.end);
                    assert_eq!(table.find(symbol.end - 1), Some(symbol));
                    last = symbol.end;
                }
                format!("{} symbols", about(table.symbols().len()))
            }
            Err(error) => shape(&format!("{error:#}")),
        },
        for_each_byte: 128,
        at_least: 1 << 20,
    },
];

fn counter_sets() -> Vec<u8> {
    let mut bytes = Vec::new();
    for (cpu, level, set, first, values) in [
        (0, Level::Machine, 1, 0, &[5_u64, 6, 0, 0, 0, 0][..]),
        (0, Level::Machine, 2, 32, &[7, 8]),
        (1, Level::Guest, 0, 128, &[u64::MAX]),
        (1, Level::Guest, 16, 0, &[]),
    ] {
        let values: Vec<_> = values.iter().map(|&value| value.into()).collect();
        let counters = Counters::new(level, cpu, set, first, &values);
        bytes.extend(counters.pieces().concat());
    }
    bytes
}

const PLACES: &str = "\
0000000000200000\t0000000000200006\tregister\n\
0000000000200006\t000000000020000E\tsaved\n\
0000000000200020\t0000000000200022\tregister-beside-frame\n";

const SYMBOLS: &str = "\
0000000000200000\t0000000000200010\tguest\tstart\n\
0000000000200020\t0000000000200040\tguest\tloop of a\ttab\n\
FFFFFFFFFFFFFFF0\tFFFFFFFFFFFFFFFF\t\tlast\n";

const RUN: &str = r#"{"version":"0","guest":"loop","guest_file":"/g/loop","is_linux":false,"mode":"exact","cpus":1,
"storage":536870912,"interval":1000000,"configuration":["z14"],"rtc":"now","qemu":"QEMU","arguments":["-nodefaults"],
"started":{"mode":"exact","cpus":1,"cpu_speed":1000,"tod":1,"guest_storage_end":1,"hsa_end":2,"machine_type":"8561",
"cfvn":3,"csvn":6},"end":{"how":"guest","cpu":0,"reason":1,"psw_mask":1,"psw_address":4095},"loads":1,
"totals":[{"cpu":0,"guest_cycles":1,"guest_instructions":1,"firmware_instructions":1,"traps":1,"samples_taken":1,
"samples_lost":0}],"traps":[{"cpu":0,"cause":1,"number":2,"traps":3,"instructions":4}],
"link":{"frames":1,"bad_frames":0,"bad_payloads":0,"blocks_missing":0,"frames_sent":null}}"#;
