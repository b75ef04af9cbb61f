//! What the guest learns of the configuration, and the service element.

use super::*;
use crate::state::vcpu::{CpuState, HeldBy};
use Instruction as I;
use ProgramInterruption as P;
use arch::control::CR0_SERVICE_SIGNAL;
use arch::extent::Extent;
use arch::facility::FacilityList;
use arch::psw::{ADDRESSING_64, EXTERNAL};
use core::sync::atomic::Ordering;

/// Where the service-call control block is.
const SCCB: u64 = 0x3000;

/// Issues SERVICE CALL; returns condition and response code, and removes the signal.
fn serve(bench: &mut Bench, command: u64) -> (u8, u16) {
    (bench.cpu.general[1], bench.cpu.general[2]) = (command, SCCB);
    let code = complete(bench, I::Servc { r1: 1, r2: 2 });
    bench
        .configuration
        .service_signal
        .store(0, Ordering::Relaxed);
    (code, bench.word(SCCB + 4) as u16)
}

#[test]
fn stap_and_stidp_store_address_and_identification_of_the_cpu() {
    let mut bench = Bench::new();
    (bench.cpu.address, bench.cpu.known_as) = (3, 3);
    bench.configuration.cpu_id = 0xFF12_3456_8561_8000;
    complete(&mut bench, I::Stap { second: at(0x2002) });
    assert_eq!(bench.word(0x2000), 3);
    complete(&mut bench, I::Stidp { second: at(0x2000) });
    assert_eq!(bench.doubleword(0x2000), 0xFF12_3456_8561_8000);
    bench.configuration.cpu_id = 0xFF12_3456_8561_0000;
    complete(&mut bench, I::Stidp { second: at(0x2000) });
    assert_eq!(bench.doubleword(0x2000), 0xFF32_3456_8561_0000);
    assert_eq!(
        exception(&mut bench, I::Stap { second: at(0x2001) }),
        P::Specification
    );
    assert_eq!(
        exception(&mut bench, I::Stidp { second: at(0x2004) }),
        P::Specification
    );
}

#[test]
fn stfl_stores_behind_low_address_protection_at_the_prefixed_location() {
    let mut bench = Bench::new();
    bench.configuration.facilities = FacilityList::default().with(0).with(31).with(67);
    bench.cpu.control[0] |= bit64(35);
    bench.cpu.prefix = 0x4000;
    complete(&mut bench, I::Stfl { second: at(0) });
    assert_eq!(bench.word(0x40C8), 0x8000_0001);
    assert_eq!(bench.word(0xC8), 0);
}

#[test]
fn stfle_stores_what_there_is_room_for_and_says_how_much_there_is() {
    let mut bench = problem();
    bench.configuration.facilities = FacilityList::default().with(0).with(67).with(142);
    bench.set_doublewords(0x2000, &[7; 4]);
    bench.cpu.general[0] = 0xAB00;
    assert_eq!(complete(&mut bench, I::Stfle { second: at(0x2000) }), 3);
    assert_eq!(bench.cpu.general[0], 0xAB02);
    assert_eq!(
        [bench.doubleword(0x2000), bench.doubleword(0x2008)],
        [bit64(0), 7]
    );
    bench.cpu.general[0] = 255;
    assert_eq!(complete(&mut bench, I::Stfle { second: at(0x2000) }), 0);
    assert_eq!(bench.cpu.general[0], 2);
    assert_eq!(bench.doubleword(0x2008), bit64(3));
    assert_eq!(
        [bench.doubleword(0x2010), bench.doubleword(0x2018)],
        [bit64(14), 7]
    );
    assert_eq!(
        exception(&mut bench, I::Stfle { second: at(0x2004) }),
        P::Specification
    );
}

#[test]
fn stsi_says_that_the_guest_is_a_logical_partition_with_shared_or_dedicated_cpus() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 2;
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x123) }), 0);
    assert_eq!(bench.cpu.general[0], 0x2000_0000);
    (bench.cpu.general[0], bench.cpu.general[1]) = (0x2000_0002, 2);
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
    assert_eq!(bench.word(0x2020), 0x0001_0040);
    assert_eq!((bench.word(0x2024), bench.word(0x2028)), (0x0002_0002, 0));
    assert_eq!(
        (bench.word(0x2034), bench.word(0x2048)),
        (1000, 0x0000_0002)
    );
    bench.configuration.dedicated = true;
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
    assert_eq!(
        (bench.word(0x2020), bench.word(0x2048)),
        (0x0001_0080, 0x0002_0000)
    );
    // There is no level 3 that the partition could see.
    (bench.cpu.general[0], bench.cpu.general[1]) = (0x3000_0002, 2);
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 3);
    bench.configuration.virtual_machine = true;
    // The machine below is no virtual machine: the guest's is the only one.
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
    assert_eq!(
        [0x201C, 0x2024, 0x2028, 0x2034].map(|at| bench.word(at)),
        [1, 0x0002_0002, 0, 1000]
    );
    bench.hardware.systems.insert((3, 2, 2), vec![1; 4096]);
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
    assert_eq!(bench.word(0x2000), 0x0101_0101);
    // The innermost virtual machine has the guest's CPUs.
    assert_eq!((bench.word(0x2024), bench.word(0x2028)), (0x0002_0002, 0));
}

#[test]
fn stsi_counts_cores_and_says_how_many_threads_they_have() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 4;
    bench.configuration.threads = crate::state::threads::Threads::new(2);
    bench.hardware.systems.insert((1, 2, 2), vec![0; 4096]);
    (bench.cpu.general[0], bench.cpu.general[1]) = (0x1000_0002, 2);
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
    assert_eq!((bench.word(0x2024), bench.word(0x2028)), (0x0002_0002, 0));
    assert_eq!(bench.word(0x2004), 0x8101_0000);
    // Until multithreading is enabled the program has specified nothing.
    for (enabled, threads) in [(false, 0x8101_0000), (true, 0x8101_0100)] {
        if enabled {
            bench.configuration.threads.enable();
        }
        (bench.cpu.general[0], bench.cpu.general[1]) = (0x2000_0002, 2);
        assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
        assert_eq!((bench.word(0x2024), bench.word(0x2028)), (0x0002_0002, 0));
        assert_eq!((bench.word(0x2040), bench.word(0x2048)), (threads, 2));
    }
    (bench.cpu.general[0], bench.cpu.general[1]) = (0xF000_0001, 2);
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 3);
}

#[test]
fn addresses_of_a_cpu_that_is_a_thread_are_its_cores_until_multithreading_is_enabled() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 4;
    bench.configuration.threads = crate::state::threads::Threads::new(2);
    bench.configuration.cpu_id = 0xFF00_0000_8561_0000;
    bench.hardware.systems.insert((1, 1, 1), vec![0; 4096]);
    bench.hardware.systems.insert((1, 2, 1), vec![0; 4096]);
    (bench.cpu.address, bench.cpu.known_as) = (2, 1);
    for (enabled, address) in [(false, 1), (true, 2)] {
        if enabled {
            bench.configuration.threads.enable();
            crate::measuring::threads::take_note(&mut bench.cpu, &bench.configuration);
        }
        complete(&mut bench, I::Stap { second: at(0x2002) });
        assert_eq!(bench.word(0x2000), address);
        complete(&mut bench, I::Stidp { second: at(0x2000) });
        assert_eq!(bench.word(0x2000), 0xFF00_0000 | address << 20);
        for (function, place) in [(0x1000_0002, 0x2064), (0x2000_0002, 0x2064)] {
            (bench.cpu.general[0], bench.cpu.general[1]) = (function, 1);
            assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
            assert_eq!(bench.word(place) & 0xFFFF, address, "{function:X}");
        }
        bench.set_doublewords(0x2000, &[0]);
    }
}

#[test]
fn a_hole_in_storage_is_announced_and_its_increments_are_not_listed() {
    let holed = Extent::with_hole(2 << 20, 3 << 20, 4 << 20);
    let mut bench = Bench::with_extent(holed);
    let block = &mut [0; 4096];
    super::super::sclp::limit_scp_info(&bench.configuration, 4096, block);
    assert_eq!((block[9], block[10], block[50]), (4, 1, 0x40));
    bench.set(SCCB, &[0, 16 + 3 * 4]);
    assert_eq!(serve(&mut bench, 0x0004_0001), (0, 0x0010));
    assert_eq!(bench.word(SCCB + 8), 0x0000_0003);
    let entries = [0, 4, 8].map(|at| bench.word(SCCB + 16 + at));
    assert_eq!(entries, [0x1_0001, 0x2_0001, 0x4_0001]);
    // One byte less, and another element.
    bench.set(SCCB, &[0, 16 + 3 * 4 - 1]);
    assert_eq!(serve(&mut bench, 0x0004_0001), (0, 0x0300));
    bench.set(SCCB, &[0, 64]);
    assert_eq!(serve(&mut bench, 0x0004_0101), (0, 0x01F0));
    let mut whole = Bench::new();
    whole.set(SCCB, &[0, 64]);
    assert_eq!(serve(&mut whole, 0x0004_0001), (0, 0x01F0));
}

#[test]
fn read_scp_info_shows_cores_and_the_multithreading_facility() {
    let mut bench = Bench::new();
    let (configuration, block) = (&mut bench.configuration, &mut [0; 4096]);
    configuration.cpus = 4;
    block[17] = 4;
    block[121] = 3;
    super::super::sclp::limit_scp_info(configuration, 4096, block);
    assert_eq!((block[17], block[121]), (4, 3));
    assert_eq!((block[42], block[43], block[66]), (0, 0, 0));
    configuration.threads = crate::state::threads::Threads::new(2);
    super::super::sclp::limit_scp_info(configuration, 4096, block);
    assert_eq!((block[17], block[121]), (2, 1));
    assert_eq!((block[42], block[43], block[66]), (0x81, 1, 0));
    configuration.threads.enable();
    configuration.threads.disable();
    super::super::sclp::limit_scp_info(configuration, 4096, block);
    assert_eq!(block[66], 1);
    block[9] = 4;
    super::super::sclp::limit_cpu_info(configuration, 4096, block);
    assert_eq!(block[9], 2);
}

#[test]
fn stsi_shows_a_machine_of_ibm_with_the_type_of_stidp() {
    let mut bench = Bench::new();
    bench.configuration.cpu_id = 0x0000_0000_8561_8000;
    bench.hardware.systems.insert((1, 1, 1), vec![0xD8; 4096]);
    (bench.cpu.general[0], bench.cpu.general[1]) = (0x1000_0001, 1);
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
    assert_eq!(
        bench.hardware.storage[0x2020..0x2024],
        [0xC9, 0xC2, 0xD4, 0x40]
    );
    assert_eq!(
        bench.hardware.storage[0x2030..0x2034],
        [0xF8, 0xF5, 0xF6, 0xF1]
    );
    assert_eq!(bench.hardware.storage[0x2034], 0xD8);
    // 701, one core at full speed, and T01.
    assert_eq!(
        bench.hardware.storage[0x2040..0x2044],
        [0xF7, 0xF0, 0xF1, 0x40]
    );
    assert_eq!(
        bench.hardware.storage[0x2064..0x2068],
        [0xE3, 0xF0, 0xF1, 0x40]
    );
    (bench.cpu.general[0], bench.cpu.general[1]) = (0x2000_0002, 1);
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 0);
    assert_eq!(bench.word(0x2000), 0);
    assert_eq!(bench.word(0x2050), 0xD8D8_D8D8);
    assert_eq!(bench.word(0x2064), 0);
}

#[test]
fn stsi_tests_its_registers_only_for_an_assigned_function() {
    let mut bench = Bench::new();
    bench.cpu.general[0] = 0xFFFF_FFFF;
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2001) }), 3);
    bench.cpu.general[0] = 0x1000_0101;
    assert_eq!(
        exception(&mut bench, I::Stsi { second: at(0x2000) }),
        P::Specification
    );
    (bench.cpu.general[0], bench.cpu.general[1]) = (0x1000_0001, 0x1_0001);
    assert_eq!(
        exception(&mut bench, I::Stsi { second: at(0x2000) }),
        P::Specification
    );
    bench.cpu.general[1] = 1;
    assert_eq!(
        exception(&mut bench, I::Stsi { second: at(0x2008) }),
        P::Specification
    );
    assert_eq!(complete(&mut bench, I::Stsi { second: at(0x2000) }), 3);
}

#[test]
fn servc_refuses_a_block_in_low_storage_in_the_prefix_area_and_beyond_storage() {
    let mut bench = Bench::new();
    bench.cpu.prefix = 0x8000;
    let end = bench.configuration.storage.end();
    let table = [
        (0x1000, P::Specification),
        (0x9000, P::Specification),
        (0x3004, P::Specification),
        (end, P::Addressing),
        (u64::MAX - 7, P::Addressing),
        (0x3000, P::Specification), // a length of zero
    ];
    bench.cpu.general[1] = 0x0002_0001;
    for (address, expected) in table {
        bench.cpu.general[2] = address;
        assert_eq!(
            exception(&mut bench, I::Servc { r1: 1, r2: 2 }),
            expected,
            "{address:x}"
        );
    }
}

#[test]
fn servc_signals_its_end_beside_pending_events_and_is_never_busy() {
    let mut bench = Bench::new();
    bench.set(SCCB, &[0, 8]);
    (bench.cpu.general[1], bench.cpu.general[2]) = (0x0044_0001, SCCB);
    bench
        .configuration
        .service_signal
        .store(1, Ordering::Relaxed);
    assert_eq!(complete(&mut bench, I::Servc { r1: 1, r2: 2 }), 0);
    assert_eq!(bench.word(SCCB + 4), 0x01F0);
    let pending = |bench: &Bench| bench.configuration.service_signal.load(Ordering::Relaxed);
    assert_eq!(pending(&bench), SCCB as u32 | 1);
    bench.set(SCCB + 0x2100, &[0, 8]);
    bench.cpu.general[2] = SCCB + 0x2100;
    assert_eq!(complete(&mut bench, I::Servc { r1: 1, r2: 2 }), 0);
    assert_eq!(pending(&bench), SCCB as u32 + 0x2101);
}

#[test]
fn a_service_signal_says_that_events_are_pending_as_soon_as_the_guest_takes_them() {
    let mut bench = Bench::new();
    bench.hardware.typed = b"ab".to_vec();
    (bench.cpu.general[1], bench.cpu.general[2]) = (0x0044_0001, SCCB);
    let signal = |bench: &mut Bench| {
        complete(bench, I::Servc { r1: 1, r2: 2 });
        let signal = &bench.configuration.service_signal;
        signal.swap(0, Ordering::Relaxed)
    };
    bench.set(SCCB, &[0, 8]);
    assert_eq!(signal(&mut bench), SCCB as u32);
    // Operator commands (event 1) are not input of the console.
    for (mask, pending) in [(1 << 31, 0), (1 << (32 - 0x1A), 1)] {
        bench
            .configuration
            .event_mask
            .store(mask, Ordering::Relaxed);
        assert_eq!(signal(&mut bench), SCCB as u32 | pending);
    }
    bench.hardware.typed.clear();
    assert_eq!(signal(&mut bench), SCCB as u32);
}

#[test]
fn a_block_that_crosses_a_page_boundary_is_answered_with_0100() {
    let mut bench = Bench::new();
    bench.set(SCCB + 8, &[0x10, 0x00]);
    (bench.cpu.general[1], bench.cpu.general[2]) = (0x0002_0001, SCCB + 8);
    assert_eq!(complete(&mut bench, I::Servc { r1: 1, r2: 2 }), 0);
    assert_eq!(bench.word(SCCB + 12), 0x0100);
}

#[test]
fn read_scp_info_shows_the_storage_and_the_cpus_of_the_guest() {
    let mut bench = Bench::new();
    let mut answer = vec![0; 4096];
    answer[..8].copy_from_slice(&[0x10, 0, 0, 0, 0, 0, 0, 0x10]);
    answer[8..11].copy_from_slice(&[2, 0, 1]); // 512 increments of 1 MiB
    answer[16..20].copy_from_slice(&[0, 4, 0, 0x80]); // 4 CPUs
    answer[121] = 3;
    bench.hardware.services.insert(0x0002_0001, answer);
    bench.set(SCCB, &[0x10, 0]);
    assert_eq!(serve(&mut bench, 0x0012_0001), (0, 0x0010));
    assert_eq!(bench.word(SCCB + 8), 0x0004_0100);
    assert_eq!(bench.word(SCCB + 16), 0x0001_0080);
    assert_eq!(bench.word(SCCB + 120) >> 16, 0);
}

#[test]
fn an_answer_that_the_block_has_no_room_for_is_the_machines_own_response() {
    let mut bench = Bench::new();
    bench
        .hardware
        .services
        .insert(0x0002_0001, vec![0, 8, 0, 0, 0, 0, 3, 0]);
    bench.set(SCCB, &[0, 8]);
    assert_eq!(serve(&mut bench, 0x0002_0001), (0, 0x0300));
    assert_eq!(bench.doubleword(SCCB + 8), 0);
}

#[test]
fn write_event_mask_offers_the_ascii_console_both_ways() {
    let mut bench = Bench::new();
    bench.set(
        SCCB,
        &[
            0, 28, 0, 0, 0, 0, 0, 0, 0, 0, 0, 4, 0, 0, 0, 0x40, 0xFF, 0xFF, 0xFF, 0xFF,
        ],
    );
    assert_eq!(serve(&mut bench, 0x0078_0005), (0, 0x0020));
    assert_eq!((bench.word(SCCB + 20), bench.word(SCCB + 24)), (0x40, 0x40));
    assert_eq!(bench.configuration.event_mask.load(Ordering::Relaxed), 0x40);
    bench.set(SCCB + 10, &[0, 5]);
    assert_eq!(serve(&mut bench, 0x0078_0005), (0, 0x74F0));
}

#[test]
fn write_event_data_prints_as_it_stands_and_refuses_what_does_not_fit() {
    let mut bench = Bench::new();
    bench.set(
        SCCB,
        &[
            0, 17, 0, 0, 0, 0, 0, 0, 0, 9, 26, 0, 0, 0, b'h', b'i', b'\n',
        ],
    );
    assert_eq!(serve(&mut bench, 0x0076_0005), (0, 0x0020));
    assert_eq!(bench.hardware.console, b"hi\n");
    assert_eq!(bench.hardware.storage[SCCB as usize + 11], 0x80);
    bench.set(SCCB + 9, &[10]);
    assert_eq!(serve(&mut bench, 0x0076_0005), (0, 0x72F0));
    bench.set(SCCB + 9, &[9, 2]);
    assert_eq!(serve(&mut bench, 0x0076_0005), (0, 0x40F0));
    assert_eq!(bench.hardware.console, b"hi\n");
}

#[test]
fn a_guest_is_held_when_it_has_written_the_awaited_words_and_only_then() {
    let mut bench = Bench::new();
    let words = command::ConsoleWords::new(b"hi\n");
    bench.configuration.awaited_words.set(words, true);
    let write = |bench: &mut Bench, text: &[u8; 3]| {
        bench.set(SCCB, &[0, 17, 0, 0, 0, 0, 0, 0, 0, 9, 26, 0, 0, 0]);
        bench.set(SCCB + 14, text);
        assert_eq!(serve(bench, 0x0076_0005), (0, 0x0020));
        bench.cpu.take_hold()
    };
    assert_eq!(write(&mut bench, b"..h"), None);
    assert_eq!(write(&mut bench, b"i\n."), Some(HeldBy::Words));
    assert_eq!(write(&mut bench, b"hi\n"), None);
}

#[test]
fn read_event_data_gives_what_was_typed_to_a_program_that_receives_it() {
    let mut bench = Bench::new();
    bench.hardware.typed = b"ls\n".to_vec();
    bench.set(SCCB, &[0x10, 0, 0, 0, 0, 0x80, 0, 0]);
    assert_eq!(serve(&mut bench, 0x0077_0005), (0, 0x60F0));
    bench
        .configuration
        .event_mask
        .store(0x40, Ordering::Relaxed);
    assert_eq!(serve(&mut bench, 0x0077_0005), (0, 0x0020));
    let block = &bench.hardware.storage[SCCB as usize..];
    assert_eq!(block[..2], [0, 18]);
    assert_eq!(block[8..18], [0, 10, 26, 0, 0, 0, 0, b'l', b's', b'\n']);
    bench.set(SCCB, &[0x10, 0]);
    assert_eq!(serve(&mut bench, 0x0077_0005), (0, 0x60F0));
}

#[test]
fn a_service_signal_is_for_any_cpu_that_is_enabled_for_it() {
    let mut bench = Bench::new();
    bench.configuration.cpus = 4;
    for cpu in [1, 3] {
        let state = &bench.configuration.mailboxes[cpu].state;
        state.store(CpuState::Operating as u8, Ordering::Relaxed);
    }
    let mut woken = |mask, control| {
        bench.set(SCCB, &[0, 8]);
        bench.cpu.psw.mask = ADDRESSING_64 | mask;
        bench.cpu.control[0] = control;
        serve(&mut bench, 0x00AA_0001);
        core::mem::take(&mut bench.hardware.woken)
    };
    assert_eq!(woken(EXTERNAL, CR0_SERVICE_SIGNAL), [], "this CPU takes it");
    assert_eq!(woken(0, CR0_SERVICE_SIGNAL), [1, 3]);
    assert_eq!(woken(EXTERNAL, 0), [1, 3]);
}
