//! A second reader of type 113: the offsets of IBM's formatter of these records as tables, without any code of the decoder.

use proptest::{collection::vec, prelude::*};

use super::{
    Absolutes, Data, Deltas, Envelope, Records,
    absolutes::Place,
    decode,
    golden::{SUBTYPE_1, SUBTYPE_2},
    tests::{any_envelope, any_text, any_values},
};
use crate::{CounterValues, Ebcdic, SetType, fixtures::bytes};

/// Name, offset in the section and length of each field.
type Table = &'static [(&'static str, usize, usize)];

/// The header and the self-defining section.
const RECORD: Table = &[
    ("LEN", 0, 2),
    ("FLG", 4, 1),
    ("RTY", 5, 1),
    ("TME", 6, 4),
    ("DTE", 10, 4),
    ("SID", 14, 4),
    ("WID", 18, 4),
    ("STY", 22, 2),
    ("SOF", 28, 4),
    ("SLN", 32, 2),
    ("SON", 34, 2),
    ("IOF", 36, 4),
    ("ILN", 40, 2),
    ("ION", 42, 2),
    ("DOF", 44, 4),
    ("DLN", 48, 2),
    ("DON", 50, 2),
];

const SUBSYSTEM: Table = &[("RVN", 2, 2), ("PNM", 4, 8), ("OSL", 12, 8)];

const IDENTIFICATION: Table = &[
    ("JBN", 0, 8),
    ("RST", 8, 4),
    ("RSD", 12, 4),
    ("STP", 16, 8),
    ("IntervalStart", 24, 8),
    ("IntervalEnd", 32, 8),
];

const DELTAS: Table = &[
    ("CTS", 0, 8),
    ("CTM", 8, 8),
    ("CpuId", 16, 2),
    ("CpuProcClass", 18, 1),
    ("CpuSpeed", 20, 4),
    ("MachType", 24, 4),
    ("MachModel", 28, 16),
    ("CtrVersion0", 44, 2),
    ("CtrVersion1", 46, 2),
    ("CtrVersion2", 48, 2),
    ("Flags", 50, 2),
    ("CSOF", 52, 4),
    ("CSLN", 56, 2),
    ("CSON", 58, 2),
    ("MachSeqCode", 60, 16),
    ("CoreId", 76, 2),
];

const DELTAS_SET: Table = &[
    ("CSType", 0, 2),
    ("CSFlags", 2, 2),
    ("CDOF", 4, 4),
    ("CDLN", 8, 2),
    ("CDON", 10, 2),
];

const ABSOLUTES: Table = &[
    ("CTS", 0, 8),
    ("CTM", 8, 8),
    ("CPU#", 16, 1),
    ("CpuProcClass", 17, 1),
    ("CF", 18, 2),
    ("CTRVN1", 20, 2),
    ("CTRVN2", 22, 2),
    ("CSOF", 24, 4),
    ("CSLN", 28, 2),
    ("CSON", 30, 2),
    ("CDOF", 32, 4),
    ("CDLN", 36, 2),
    ("CDON", 38, 2),
    ("CPSP", 40, 4),
    ("MachType", 44, 4),
    ("MachModel", 48, 16),
    ("CpuId", 64, 2),
    ("MachSeqCode", 68, 16),
];

const ABSOLUTES_SET: Table = &[("CST", 0, 1), ("CSN", 2, 2), ("CSP", 4, 8)];

/// A section of a record, which a table describes.
#[derive(Clone, Copy)]
struct Section<'a> {
    record: &'a [u8],
    at: usize,
    table: Table,
}

impl<'a> Section<'a> {
    fn bytes(&self, name: &str) -> &'a [u8] {
        let (_, offset, length) = self.table.iter().find(|field| field.0 == name).unwrap();
        &self.record[self.at + offset..][..*length]
    }

    fn number(&self, name: &str) -> u64 {
        let digits = self.bytes(name).iter();
        digits.fold(0, |number, byte| number << 8 | u64::from(*byte))
    }

    fn text<const N: usize>(&self, name: &str) -> Ebcdic<N> {
        Ebcdic(*self.bytes(name).first_chunk().unwrap())
    }

    /// The only section that these fields locate, if there is one, which has this length.
    fn only(&self, [offset, length, number]: [&str; 3], table: Table, has: u64) -> Option<Self> {
        let section = self.one_of([offset, length, number], table, has, 0);
        assert!(self.number(number) <= 1);
        section
    }

    /// Section `index` of those that these fields locate.
    fn one_of(&self, of: [&str; 3], table: Table, has: u64, index: u64) -> Option<Self> {
        let [offset, length, number] = of.map(|name| self.number(name));
        if index >= number {
            return None;
        }
        assert_eq!(length, has, "{}", of[1]);
        let at = (offset + index * length) as usize;
        let record = self.record;
        Some(Self { record, at, table })
    }
}

const fn record(record: &[u8]) -> Section<'_> {
    let (at, table) = (0, RECORD);
    Section { record, at, table }
}

/// The counters of the sets of a record of subtype 2, as the exec finds them: those of a set follow those of the set
/// before it.
fn absolute_sets(record: &Section<'_>, data: &Section<'_>) -> Vec<(u16, u64, Vec<u64>)> {
    let mut at = data.number("CDOF") as usize;
    let of = ["CSOF", "CSLN", "CSON"];
    let sections = (0..).map_while(|index| data.one_of(of, ABSOLUTES_SET, 12, index));
    let sets = sections.map(|set| {
        let length = data.number("CDLN") as usize;
        let counters = (0..set.number("CSN")).map(|_| {
            let counter = u64::from_be_bytes(*record.record[at..].first_chunk().unwrap());
            at += length;
            counter
        });
        let counters = counters.collect();
        (set.number("CST") as u16, set.number("CSP"), counters)
    });
    sets.collect()
}

/// The counters of the sets of a record of subtype 1.
fn delta_sets(record: &Section<'_>, data: &Section<'_>) -> Vec<(u16, Vec<u64>)> {
    let of = ["CSOF", "CSLN", "CSON"];
    let sections = (0..).map_while(|index| data.one_of(of, DELTAS_SET, 12, index));
    let sets = sections.map(|set| {
        let (at, length) = (set.number("CDOF") as usize, set.number("CDLN") as usize);
        assert_eq!(length == 8, set.number("CSFlags") & 0x8000 != 0);
        let counters = (0..set.number("CDON") as usize).map(|index| {
            let own = &record.record[at + index * length..][..length];
            own.iter()
                .fold(0, |number, byte| number << 8 | u64::from(*byte))
        });
        (set.number("CSType") as u16, counters.collect())
    });
    sets.collect()
}

/// Compares what precedes the data, and returns the data section.
fn data<'a>(record: &Section<'a>, envelope: &Envelope, table: Table, length: u64) -> Section<'a> {
    assert_eq!(record.number("LEN"), record.record.len() as u64);
    assert_eq!(record.number("RTY"), 113);
    assert_eq!(record.number("TME"), envelope.time.into());
    assert_eq!(record.number("DTE"), envelope.date.into());
    assert_eq!(record.text("SID"), envelope.system);
    let section = record.only(["SOF", "SLN", "SON"], SUBSYSTEM, 20);
    assert_eq!(section.is_some(), envelope.product.is_some());
    if let (Some(section), Some(product)) = (section, envelope.product) {
        assert_eq!(section.text("RVN"), product.version);
        assert_eq!(section.text("PNM"), product.product);
        assert_eq!(section.text("OSL"), product.level);
    }
    let section = record.only(["IOF", "ILN", "ION"], IDENTIFICATION, 40);
    assert_eq!(section.is_some(), envelope.identification.is_some());
    if let (Some(section), Some(job)) = (section, envelope.identification) {
        assert_eq!(section.text("JBN"), job.job);
        assert_eq!(section.number("RST"), job.reader_time.get().into());
        assert_eq!(section.number("RSD"), job.reader_date.get().into());
        assert_eq!(section.text("STP"), job.step);
        let interval = ["IntervalStart", "IntervalEnd"].map(|name| section.number(name));
        assert_eq!(interval, [job.interval_start.get(), job.interval_end.get()]);
    }
    let section = record.only(["DOF", "DLN", "DON"], table, length);
    section.unwrap()
}

/// A record as this writer made it before it knew the lengths of the two sections: the subsystem section without its
/// reserved bytes, and a type of two bytes and a bitmap of 32 in the counter-set sections.
fn earlier(now: &[u8]) -> Vec<u8> {
    let fields = record(now);
    let mut out = now.to_vec();
    if let Some(section) = fields.only(["SOF", "SLN", "SON"], SUBSYSTEM, 20) {
        let at = section.at;
        out.copy_within(at + 2..at + 20, at);
        out[at + 18..at + 20].fill(0);
        out[33] = 18;
    }
    if fields.number("STY") != 2 {
        return out;
    }
    let data = fields.only(["DOF", "DLN", "DON"], ABSOLUTES, 84).unwrap();
    let sets = absolute_sets(&fields, &data);
    let mut offset = if sets.is_empty() {
        out.len()
    } else {
        data.number("CSOF") as usize
    };
    out.truncate(offset);
    for (set, _, counters) in &sets {
        let mut section = [0; 36];
        section[..2].copy_from_slice(&set.to_be_bytes());
        for bit in 0..counters.len().min(256) {
            section[2 + bit / 8] |= 0x80 >> (bit % 8);
        }
        section[34..].copy_from_slice(&(counters.len() as u16).to_be_bytes());
        out.extend(section);
    }
    out.resize(out.len().next_multiple_of(8), 0);
    offset = if data.number("CDOF") == 0 {
        0
    } else {
        out.len()
    };
    for (.., counters) in &sets {
        out.extend(counters.iter().flat_map(|counter| counter.to_be_bytes()));
    }
    out[data.at + 28..data.at + 30].copy_from_slice(&36_u16.to_be_bytes());
    out[data.at + 32..data.at + 36].copy_from_slice(&(offset as u32).to_be_bytes());
    let length = out.len() as u16;
    out[..2].copy_from_slice(&length.to_be_bytes());
    out
}

/// Whether two records of any form have the same content.
fn same(one: &[u8], other: &[u8]) -> bool {
    let (one, other) = (decode(one).unwrap(), decode(other).unwrap());
    let data = match (one.data, other.data) {
        (Data::Deltas(one), Data::Deltas(other)) => {
            one.data == other.data && one.sets().eq(other.sets())
        }
        (Data::Absolutes(one), Data::Absolutes(other)) => {
            one.data == other.data && one.sets().eq(other.sets())
        }
        _ => false,
    };
    data && one.envelope == other.envelope
}

#[test]
fn a_record_of_the_earlier_form_is_read_by_the_lengths_of_its_sections() {
    for golden in [SUBTYPE_1, SUBTYPE_2] {
        let now = bytes(golden);
        assert!(same(&now, &earlier(&now)));
    }
    let sets = bytes("0001 C0 00*31 0002 0004 80 00*31 0001");
    assert_eq!(earlier(&bytes(SUBTYPE_2))[200..272], sets);
    let product = bytes("F0F1 C8C9E2 40*5 D3C5E5C5D340F140 0000");
    assert_eq!(earlier(&bytes(SUBTYPE_1))[52..72], product);
}

#[test]
fn a_counter_set_section_that_grew_to_the_earlier_length_is_not_taken_for_one() {
    let mut record = bytes(SUBTYPE_2);
    // Two sections of 36 bytes, of which the first 12 are known.
    let sets: Vec<u8> = record[200..224]
        .chunks(12)
        .flat_map(|set| [set, &[0xEE; 24]].concat())
        .collect();
    record.splice(200..224, sets);
    let length = record.len() as u16;
    record[..2].copy_from_slice(&length.to_be_bytes());
    record[141] = 36;
    record[144..148].copy_from_slice(&272_u32.to_be_bytes());
    assert!(same(&record, &bytes(SUBTYPE_2)));
}

#[test]
fn the_bitmap_of_a_large_set_is_all_ones() {
    let golden = bytes(SUBTYPE_2);
    let Data::Absolutes(golden) = decode(&golden).unwrap().data else {
        panic!("another subtype");
    };
    let envelope = decode(&bytes(SUBTYPE_1)).unwrap().envelope;
    for (count, bitmap) in [
        (1, 1 << 63),
        (63, u64::MAX << 1),
        (64, u64::MAX),
        (65, u64::MAX),
        (160, u64::MAX),
    ] {
        let values: Vec<u64> = (0..count).collect();
        let sets = [CounterValues::new(SetType::EXTENDED, &values)];
        let mut out = [0; 4096];
        let mut records = Records::absolutes(&envelope, &golden.data, &sets);
        let length = records.write(&mut out).unwrap().unwrap();
        let record = record(&out[..length]);
        let data = data(&record, &envelope, ABSOLUTES, 84);
        assert_eq!(absolute_sets(&record, &data), [(4, bitmap, values)]);
    }
}

proptest! {
    #[test]
    fn a_reader_by_offsets_finds_the_fields_of_subtype_1(
        envelope in any_envelope(),
        (run_start, written, speed) in any::<(u64, u64, u32)>(),
        (cpu, versions, core) in any::<(u16, [u16; 3], u16)>(),
        (class, zcbp, lost, lost_mt) in any::<(u8, bool, bool, bool)>(),
        (machine_type, model, sequence_code) in (any_text(), any_text(), any_text()),
        values in vec((any::<u16>(), any_values()), 0..8),
    ) {
        let deltas = Deltas {
            run_start, written, cpu, class, zcbp, speed, machine_type, model, versions, lost, lost_mt,
            sequence_code, core,
        };
        let sets: Vec<_> = values.iter().map(|(set, values)| CounterValues::new(SetType(*set), values)).collect();
        let mut out = [0; 4096];
        let length = Records::deltas(&envelope, &deltas, &sets).write(&mut out).unwrap().unwrap();
        let record = record(&out[..length]);
        prop_assert_eq!(record.number("STY"), 1);
        let data = data(&record, &envelope, DELTAS, 78);
        let found = ["CTS", "CTM", "CpuId", "CpuProcClass", "CpuSpeed", "CoreId"].map(|name| data.number(name));
        prop_assert_eq!(found, [run_start, written, cpu.into(), class.into(), speed.into(), core.into()]);
        let found = ["CtrVersion0", "CtrVersion1", "CtrVersion2"].map(|name| data.number(name));
        prop_assert_eq!(found, versions.map(u64::from));
        prop_assert_eq!(data.text("MachType"), machine_type);
        prop_assert_eq!(data.text("MachModel"), model);
        prop_assert_eq!(data.text("MachSeqCode"), sequence_code);
        let flags = [(lost, 0x8000), (lost_mt, 0x4000), (zcbp, 0x1000)];
        let flags = flags.iter().map(|(is_on, bit)| if *is_on { *bit } else { 0 }).sum::<u64>();
        prop_assert_eq!(data.number("Flags"), flags);
        prop_assert_eq!(delta_sets(&record, &data), values);
        prop_assert!(same(record.record, &earlier(record.record)));
    }

    #[test]
    fn a_reader_by_offsets_finds_the_fields_of_subtype_2(
        envelope in any_envelope(),
        (run_start, written, speed) in any::<(u64, u64, u32)>(),
        (cpu, class, zcbp, versions, lost) in any::<(u16, u8, bool, [u16; 2], bool)>(),
        place in prop_oneof![Just(Place::First), Just(Place::Intermediate), Just(Place::Final)],
        (machine_type, model, sequence_code) in (any_text(), any_text(), any_text()),
        values in vec((1..=4_u16, any_values()), 0..5),
    ) {
        let absolutes = Absolutes {
            run_start, written, cpu, class, zcbp, place, lost, versions, speed, machine_type, model,
            sequence_code,
        };
        let sets: Vec<_> = values.iter().map(|(set, values)| CounterValues::new(SetType(*set), values)).collect();
        let mut out = [0; 4096];
        let length = Records::absolutes(&envelope, &absolutes, &sets).write(&mut out).unwrap().unwrap();
        let record = record(&out[..length]);
        prop_assert_eq!(record.number("STY"), 2);
        let data = data(&record, &envelope, ABSOLUTES, 84);
        let found = ["CTS", "CTM", "CpuId", "CPU#", "CpuProcClass", "CPSP"].map(|name| data.number(name));
        prop_assert_eq!(
            found,
            [run_start, written, cpu.into(), (cpu & 0xFF).into(), class.into(), speed.into()]
        );
        prop_assert_eq!(["CTRVN1", "CTRVN2"].map(|name| data.number(name)), versions.map(u64::from));
        prop_assert_eq!(data.text("MachType"), machine_type);
        prop_assert_eq!(data.text("MachModel"), model);
        prop_assert_eq!(data.text("MachSeqCode"), sequence_code);
        let place = match place {
            Place::First => 0x8000,
            Place::Intermediate => 0x4000,
            _ => 0x2000,
        };
        let flags = [(lost, 0x0800), (zcbp, 0x0400)];
        let flags = flags.iter().map(|(is_on, bit)| if *is_on { *bit } else { 0 }).sum::<u64>();
        prop_assert_eq!(data.number("CF"), place | flags);
        let found: Vec<_> = absolute_sets(&record, &data)
            .into_iter()
            .map(|(set, present, counters)| {
                assert_eq!(present.leading_ones() as usize, counters.len());
                assert_eq!(present.count_ones() as usize, counters.len());
                (set, counters)
            })
            .collect();
        prop_assert_eq!(&found, &values);
        let total = values.iter().map(|(_, values)| values.len() as u64).sum::<u64>();
        prop_assert_eq!(data.number("CDON"), total);
        prop_assert!(same(record.record, &earlier(record.record)));
    }
}
