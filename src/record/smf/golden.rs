//! A record of each subtype, written out by hand from the layouts with its values beside it.

use zerocopy::byteorder::big_endian::{U32, U64};

use super::{
    Absolutes, Data, Deltas, Envelope, Identification, Records, Subsystem, absolutes::Place, decode,
};
use crate::{CounterValues, Ebcdic, SetType, fixtures::bytes};

pub const SUBTYPE_1: &str = "
    00F0                        | 000 SMF113LEN 240
    0000                        | 002 SMF113SEG
    C0                          | 004 SMF113FLG subsystem identifier valid, subtypes
    71                          | 005 SMF113RTY 113
    0036EE80                    | 006 SMF113TME 10:00:00.00, 3,600,000 hundredths
    0126325F                    | 010 SMF113DTE day 325 of 2026
    D4C9D3D3                    | 014 SMF113SID MILL
    C8C9E240                    | 018 SMF113WID HIS
    0001                        | 022 SMF113STY
    0000                        | 024
    0018                        | 026 SMF113SDL 24
    00000034 0014 0001          | 028 SMF113SOF 52, SLN 20, SON 1
    00000048 0028 0001          | 036 SMF113IOF 72, ILN 40, ION 1
    00000070 004E 0001          | 044 SMF113DOF 112, DLN 78, DON 1
    0000                        | 052
    F0F1                        | 054 SMF113RVN 01
    C8C9E2 40*5                 | 056 SMF113PNM HIS
    D3C5E5C5D340F140            | 064 SMF113OSL LEVEL 1
    C8C9E2D7D9D6C340            | 072 SMF113JBN HISPROC
    0036EE4E                    | 080 SMF113RST 09:59:59.50, 3,599,950 hundredths
    0126325F                    | 084 SMF113RSD day 325 of 2026
    E2E3C5D7F1404040            | 088 SMF113STP STEP1
    DF00000000000001            | 096 SMF113IntervalStart
    DF00000100000002            | 104 SMF113IntervalEnd
    DF00000000000000            | 112 SMF113_1_CTS
    DF00000100000003            | 120 SMF113_1_CTM
    0001                        | 128 SMF113_1_CpuId 1
    00                          | 130 SMF113_1_CpuProcClass CP
    00                          | 131
    000003E8                    | 132 SMF113_1_CpuSpeed 1000
    F8F5F6F1                    | 136 SMF113_1_MachType 8561
    E3F0F1 40*13                | 140 SMF113_1_MachModel T01
    0000 0003 0006              | 156 SMF113_1_CtrVersion0 0, 1 3, 2 6
    8000                        | 162 SMF113_1_Flags lost counter data
    000000C0 000C 0002          | 164 SMF113_1_CSOF 192, CSLN 12, CSON 2
    F0*11 F3F5C4C3F7            | 172 SMF113_1_MachSeqCode 0000000000035DC7
    0001                        | 188 SMF113_1_CoreId 1
    0000                        | 190
    0001 8000 000000D8 0008 0002| 192 BASIC, UseLCDS, CDOF 216, CDLN 8, CDON 2
    0002 0000 000000E8 0004 0002| 204 PROBLEM-STATE, short, CDOF 232, CDLN 4, CDON 2
    0000000123456789            | 216 SMF113_1_LCDS counter 0
    0000000000000002            | 224 counter 1
    FFFFFFFF                    | 232 SMF113_1_SCDS counter 32
    00000000                    | 236 counter 33
";

pub const SUBTYPE_2: &str = "
    00F8                        | 000 SMF113LEN 248
    0000                        | 002 SMF113SEG
    40                          | 004 SMF113FLG subtypes
    71                          | 005 SMF113RTY 113
    00000000                    | 006 SMF113TME midnight
    0126001F                    | 010 SMF113DTE day 1 of 2026
    E2E8E2F1                    | 014 SMF113SID SYS1
    40404040                    | 018 SMF113WID
    0002                        | 022 SMF113STY
    0000                        | 024
    0018                        | 026 SMF113SDL 24
    00000000 0000 0000          | 028 no subsystem section
    00000000 0000 0000          | 036 no identification section
    00000070 0054 0001          | 044 SMF113DOF 112, DLN 84, DON 1
    00*60                       | 052
    DF00000000000000            | 112 SMF113_2_CTS
    DF00000000000010            | 120 SMF113_2_CTM
    05                          | 128 SMF113_2_CPU# what has room of 105 hexadecimal
    04                          | 129 SMF113_2_CpuProcClass zIIP
    2800                        | 130 SMF113_2_CF final, lost counter data
    0001 0001                   | 132 SMF113_2_CTRVN1 1, SMF113_2_CTRVN2 1
    000000C8 000C 0002          | 136 SMF113_2_CSOF 200, CSLN 12, CSON 2
    000000E0 0008 0003          | 144 SMF113_2_CDOF 224, CDLN 8, CDON 3
    00001130                    | 152 SMF113_2_CPSP 4400
    F2F0F9F7                    | 156 SMF113_2_MachType 2097
    C5F1F2 40*13                | 160 SMF113_2_MachModel E12
    0105                        | 176 SMF113_2_CpuId 105 hexadecimal
    0000                        | 178
    F0*16                       | 180 SMF113_2_MachSeqCode
    00000000                    | 196
    01 00 0002 C0 00*7          | 200 BASIC, CSN 2, CSP two counters
    04 00 0001 80 00*7          | 212 EXTENDED, CSN 1, CSP one counter
    FFFFFFFFFFFFFFFF            | 224 SMF113_2_CDS counter 0
    0000000000000000            | 232 counter 1
    0123456789ABCDEF            | 240 counter 128
";

const RUN_START: u64 = 0xDF00_0000_0000_0000;

#[test]
fn a_record_of_subtype_1_is_read_from_its_bytes_and_written_to_them() {
    let golden = bytes(SUBTYPE_1);
    let record = decode(&golden).unwrap();
    let envelope = Envelope {
        system: Ebcdic::new("MILL"),
        subsystem: Some(Ebcdic::new("HIS")),
        system_bits: 0,
        time: 3_600_000,
        date: 0x0126_325F,
        product: Some(Subsystem {
            version: Ebcdic::new("01"),
            product: Ebcdic::new("HIS"),
            level: Ebcdic::new("LEVEL 1"),
        }),
        identification: Some(Identification {
            job: Ebcdic::new("HISPROC"),
            reader_time: U32::new(3_599_950),
            reader_date: U32::new(0x0126_325F),
            step: Ebcdic::new("STEP1"),
            interval_start: U64::new(RUN_START + 1),
            interval_end: U64::new(0xDF00_0001_0000_0002),
        }),
    };
    assert_eq!(record.envelope, envelope);
    let Data::Deltas(decoded) = record.data else {
        panic!("subtype {}", record.header.subtype);
    };
    let deltas = Deltas {
        run_start: RUN_START,
        written: 0xDF00_0001_0000_0003,
        cpu: 1,
        class: 0,
        zcbp: false,
        speed: 1000,
        machine_type: Ebcdic::new("8561"),
        model: Ebcdic::new("T01"),
        versions: [0, 3, 6],
        lost: true,
        lost_mt: false,
        sequence_code: Ebcdic::new("0000000000035DC7"),
        core: 1,
    };
    assert_eq!(decoded.data, deltas);
    let sets = [
        CounterValues::new(SetType::BASIC, &[0x1_2345_6789, 2]),
        CounterValues::new(SetType::PROBLEM_STATE, &[0xFFFF_FFFF, 0]),
    ];
    assert!(decoded.sets().eq(sets));

    let mut out = [0xAA; 500];
    let mut records = Records::deltas(&envelope, &deltas, &sets);
    assert_eq!(records.write(&mut out), Ok(Some(240)));
    assert_eq!(out[..240], golden);
    assert_eq!(records.write(&mut out), Ok(None));
}

#[test]
fn a_record_of_subtype_2_is_read_from_its_bytes_and_written_to_them() {
    let golden = bytes(SUBTYPE_2);
    let record = decode(&golden).unwrap();
    let envelope = Envelope {
        system: Ebcdic::new("SYS1"),
        subsystem: None,
        system_bits: 0,
        time: 0,
        date: 0x0126_001F,
        product: None,
        identification: None,
    };
    assert_eq!(record.envelope, envelope);
    let Data::Absolutes(decoded) = record.data else {
        panic!("subtype {}", record.header.subtype);
    };
    let absolutes = Absolutes {
        run_start: RUN_START,
        written: RUN_START + 16,
        cpu: 0x105,
        class: 4,
        zcbp: false,
        place: Place::Final,
        lost: true,
        versions: [1, 1],
        speed: 4400,
        machine_type: Ebcdic::new("2097"),
        model: Ebcdic::new("E12"),
        sequence_code: Ebcdic::new("0000000000000000"),
    };
    assert_eq!(decoded.data, absolutes);
    let sets = [
        CounterValues::new(SetType::BASIC, &[u64::MAX, 0]),
        CounterValues::new(SetType::EXTENDED, &[0x0123_4567_89AB_CDEF]),
    ];
    assert!(decoded.sets().eq(sets));

    let mut out = [0xAA; 500];
    let mut records = Records::absolutes(&envelope, &absolutes, &sets);
    assert_eq!(records.write(&mut out), Ok(Some(248)));
    assert_eq!(out[..248], golden);
    assert_eq!(records.write(&mut out), Ok(None));
}
