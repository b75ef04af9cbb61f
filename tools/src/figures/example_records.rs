//! SMF records of type 113 for tests.

use record::{
    CounterValues, Ebcdic, Moment,
    smf::{Deltas, Envelope, Identification, Records},
};

/// The TOD clock at 2026-11-21T10:00:00.
pub const BEGIN: u64 = 4_004_244_000 * 4_096_000_000;

/// The envelope of a system's record, with the interval if it has one.
pub fn envelope(system: &str, interval: Option<(u64, u64)>) -> Envelope {
    let moment = Moment::from_tod(interval.map_or(BEGIN, |(_, end)| end));
    Envelope {
        identification: interval.map(|(start, end)| Identification {
            job: Ebcdic::new("HIS"),
            reader_time: 0.into(),
            reader_date: moment.packed_date(),
            step: Ebcdic::new("HIS"),
            interval_start: start.into(),
            interval_end: end.into(),
        }),
        ..Envelope::new(Ebcdic::new(system), moment)
    }
}

/// All of these records, one behind the other.
pub fn written(mut records: Records<'_>) -> Vec<u8> {
    let (mut all, mut out) = (Vec::new(), vec![0; 32_756]);
    while let Some(length) = records.write(&mut out).unwrap() {
        all.extend(&out[..length]);
    }
    all
}

/// Where a record is from: system, machine type, class and CPU.
pub type From<'a> = (&'a str, &'a str, u8, u16);

/// The records of subtype 1 of a CPU for an interval.
pub fn deltas(from: From<'_>, (start, end): (u64, u64), sets: &[CounterValues<'_>]) -> Vec<u8> {
    let (system, machine_type, class, cpu) = from;
    let data = Deltas {
        run_start: BEGIN,
        written: end + u64::from(cpu),
        cpu,
        class,
        zcbp: false,
        speed: 5000,
        machine_type: Ebcdic::new(machine_type),
        model: Ebcdic::new("701"),
        versions: [0, 3, 6],
        lost: false,
        lost_mt: false,
        sequence_code: Ebcdic::new("0000000000035DC7"),
        core: cpu,
    };
    let envelope = envelope(system, Some((start, end)));
    written(Records::deltas(&envelope, &data, sets))
}
