use super::*;
use crate::state::loaded_program::LoadedProgram;
use crate::test_machine::Bench;
use arch::address::{Absolute, Real};
use arch::psw::Psw;

/// A bench whose program has one segment of `length` bytes at `destination`; only `bytes` of them are
/// kept.
fn bench(destination: u64, length: u64, bytes: &[u8]) -> Bench {
    let mut bench = Bench::new();
    let kept = bench.hardware.hsa.len() - 0x3000;
    bench.hardware.hsa[kept..kept + bytes.len()].copy_from_slice(bytes);
    let mut program = LoadedProgram::new(Psw::default());
    let segment = Segment {
        destination: Absolute(destination),
        length,
        kept: Real(bench.configuration.storage.end() + kept as u64),
        kept_length: bytes.len() as u64,
    };
    program.add(segment).unwrap();
    bench.configuration.loaded_program = program;
    bench
}

#[test]
fn a_program_is_loaded_into_its_place_with_zeros_after_it_as_often_as_requested() {
    let bytes: Vec<u8> = (0..5000u32).map(|n| (n % 251) as u8 + 1).collect();
    for destination in [0x4000, 0x4123, 0x4FFF] {
        for kept in [0, 1, 7, 8, 4095, 4097, 5000] {
            let mut bench = bench(destination, 6000, &bytes[..kept]);
            for time in 1..=2 {
                bench.hardware.storage.fill(0xEE);
                load(&bench.configuration, &mut bench.hardware);
                assert_eq!(bench.configuration.loaded_program.loads(), time);
                let at = destination as usize;
                let storage = &bench.hardware.storage;
                assert_eq!(
                    storage[at..at + kept],
                    bytes[..kept],
                    "{destination:X} {kept}"
                );
                assert!(storage[at + kept..at + 6000].iter().all(|&byte| byte == 0));
                assert_eq!((storage[at - 1], storage[at + 6000]), (0xEE, 0xEE));
            }
        }
    }
}

#[test]
fn the_first_load_moves_a_page_at_once_unless_the_machine_executed_there() {
    let bytes: Vec<u8> = (0..0x2801u32).map(|n| (n % 251) as u8 + 1).collect();
    let load_at = |destination: u64, executed: Option<(u64, u64)>, loads: usize| {
        let mut bench = bench(destination, 0x3000, &bytes);
        let executed = executed.map(|(from, to)| (Absolute(from), Absolute(to)));
        bench.configuration.loaded_program.executed = executed;
        bench.hardware.storage.fill(0xEE);
        for _ in 0..loads {
            load(&bench.configuration, &mut bench.hardware);
        }
        let storage = &bench.hardware.storage[destination as usize - 1..][..0x3002];
        assert_eq!(storage[1..0x2802], bytes[..]);
        assert!(storage[0x2802..0x3001].iter().all(|&byte| byte == 0));
        assert_eq!((storage[0], storage[0x3001]), (0xEE, 0xEE));
        bench.hardware.moves_out
    };
    assert_eq!(load_at(0x4000, None, 1), 0, "it may be everywhere");
    assert_eq!(load_at(0x4000, Some((0, 0)), 1), 3);
    assert_eq!(load_at(0x4000, Some((0, 0)), 2), 3, "the guest, by then");
    assert_eq!(load_at(0x4000, Some((0x3000, 0x4000)), 1), 3);
    assert_eq!(load_at(0x4000, Some((0x3000, 0x4001)), 1), 2);
    assert_eq!(load_at(0x4000, Some((0x6FFF, 0x9000)), 1), 2);
    assert_eq!(load_at(0x4000, Some((0x7000, 0x9000)), 1), 3);
    assert_eq!(
        load_at(0x4800, Some((0x4900, 0x5900)), 1),
        2,
        "of four pages"
    );
}

#[test]
fn a_page_that_was_executed_is_scanned_again_after_a_program_is_loaded_into_it() {
    use crate::state::page_frames::PageState;
    use crate::storage::scanner::{Entry, make_executable};
    let mut bench = bench(0x4000, 8, &[1; 8]);
    let at = Absolute(0x4000);
    let state = make_executable(&bench.configuration, &mut bench.hardware, at, Entry::At(0));
    assert_eq!(state, PageState::Text);
    load(&bench.configuration, &mut bench.hardware);
    assert_eq!(bench.configuration.page_frames.state(at), PageState::Data);
}

#[test]
fn storage_is_cleared_to_its_end_and_the_keys_if_there_were_any() {
    let mut bench = bench(0x4000, 8, &[1; 8]);
    bench.hardware.storage.fill(0xEE);
    bench.hardware.keys.fill(0x30);
    clear_storage(&bench.configuration, &mut bench.hardware);
    assert!(bench.hardware.storage.iter().all(|&byte| byte == 0));
    assert_eq!(bench.hardware.keys[5], 0x30, "nobody has set it");
    assert_eq!(bench.hardware.signs_of_life, 1, "one for each part");
    bench
        .configuration
        .keys_were_set
        .store(true, Ordering::Relaxed);
    clear_storage(&bench.configuration, &mut bench.hardware);
    assert!(bench.hardware.keys.iter().all(|&key| key == 0));
}
