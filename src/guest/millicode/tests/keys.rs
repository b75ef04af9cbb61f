//! Key-controlled protection of the operands of each instruction.

use super::{at, complete, exception, issue, problem, translating};
use crate::millicode::outcome::Outcome;
use crate::millicode::{perform_characters, tests::change_entry};
use crate::test_machine::Bench;
use arch::address::PAGE;
use arch::interruption::ProgramInterruption as P;
use core::sync::atomic::Ordering;
use insn::Instruction as I;

/// The block whose key the tests set.
const BLOCK: u64 = 0x5000;

fn set_key(bench: &mut Bench, block: u64, key: u8) {
    let were_set = &bench.configuration.keys_were_set;
    were_set.store(true, Ordering::Relaxed);
    bench.hardware.keys[(block / PAGE) as usize] = key;
}

/// Gives the PSW key 5, and a block key 3 with fetch protection.
fn protect(mut bench: Bench) -> Bench {
    bench.cpu.psw.mask |= 5 << 52;
    set_key(&mut bench, BLOCK, 0x38);
    bench
}

/// Instructions that fetch at this address or store there.
fn referring(address: i32) -> (Vec<I>, Vec<I>) {
    let (second, first) = (at(address), at(address));
    let (r1, r2, r3, m3) = (4, 6, 4, 1);
    let fetching = vec![
        I::Ssm { second },
        I::Lpsw { second },
        I::Lpswe { second },
        I::Lctl { r1, r3, second },
        I::Lctlg { r1, r3, second },
        I::Lctlg { r1, r3: 5, second },
        I::Spx { second },
        I::Sck { second },
        I::Sckc { second },
        I::Spt { second },
        I::Lura { r1, r2 },
        I::Lurag { r1, r2 },
        I::Lpp { second },
        I::Lcctl { second },
        I::Lpctl { second },
        I::Lsctl { second },
        I::Msch { second },
        I::Ssch { second },
        I::Chsc { r1: r2 },
    ];
    let storing = vec![
        I::Stnsm { first, i2: 0 },
        I::Stosm { first, i2: 0 },
        I::Stctl { r1, r3, second },
        I::Stctg { r1, r3, second },
        I::Stctg { r1, r3: 5, second },
        I::Stpx { second },
        I::Stap { second },
        I::Stidp { second },
        I::Stfle { second },
        I::Stsi { second },
        I::Stckc { second },
        I::Stpt { second },
        I::Stura { r1, r2 },
        I::Sturg { r1, r2 },
        I::Strag {
            first,
            second: at(0x2000),
        },
        I::Csp { r1, r2 },
        I::Cspg { r1, r2 },
        I::Qctri { second },
        I::Qsi { second },
        I::Stcctm { r1: 8, m3, second },
        I::Stsch { second },
        I::Tsch { second },
        I::Tpi { second },
        I::Stcrw { second },
        I::Stcps { second },
        I::Mvpg { r1: r2, r2: 10 },
    ];
    (fetching, storing)
}

/// A bench whose registers suit [`referring`].
fn bench() -> Bench {
    let mut bench = translating();
    // The basic counter set is enabled and active.
    bench.set(0x2100, &0x0002_0002_u64.to_be_bytes());
    complete(&mut bench, I::Lcctl { second: at(0x2100) });
    bench.cpu.general[6] = BLOCK;
    bench.cpu.general[8] = 1;
    bench.cpu.general[10] = 0x2000;
    bench
}

/// The exception that an instruction meets, if it meets one.
fn exception_of(bench: &mut Bench, instruction: I) -> Option<P> {
    if let I::Stsi { .. } = instruction {
        // 2.2.2.
        (bench.cpu.general[0], bench.cpu.general[1]) = (0x2000_0002, 2);
    }
    issue(bench, instruction)
        .err()
        .map(|fault| fault.interruption)
}

#[test]
fn the_storage_key_protects_the_operand_of_every_instruction() {
    let (fetching, storing) = referring(BLOCK as i32);
    for (fetches, instructions) in [(true, fetching), (false, storing)] {
        for instruction in instructions {
            let mut met = protect(bench());
            let before = met.hardware.storage.clone();
            let (general, control) = (met.cpu.general, met.cpu.control);
            let found = exception_of(&mut met, instruction);
            assert_eq!(found, Some(P::Protection), "{instruction}");
            assert!(met.hardware.storage == before, "{instruction} stored");
            assert_eq!(met.cpu.control, control, "{instruction}");
            assert_eq!(met.cpu.general[2..], general[2..], "{instruction}");
            for (psw, storage) in [(3, 0x38), (0, 0x38), (5, 0x58)] {
                let mut met = protect(bench());
                met.cpu.psw.mask ^= (5 ^ psw) << 52;
                set_key(&mut met, BLOCK, storage);
                let found = exception_of(&mut met, instruction);
                assert_ne!(found, Some(P::Protection), "{instruction}");
            }
            let mut met = protect(bench());
            set_key(&mut met, BLOCK, 0x30);
            let found = exception_of(&mut met, instruction);
            // CHANNEL SUBSYSTEM CALL also stores.
            let stores = !fetches || matches!(instruction, I::Chsc { .. });
            if let I::Chsc { .. } = instruction {
                met.set(BLOCK, &[0, 16]);
                let found = exception_of(&mut met, instruction);
                assert_eq!(found, Some(P::Protection), "{instruction}");
            } else {
                assert_eq!(found == Some(P::Protection), stores, "{instruction}");
            }
        }
    }
}

#[test]
fn an_operand_is_protected_if_its_last_byte_is() {
    let (fetching, storing) = referring(BLOCK as i32 - 4);
    for instruction in fetching.into_iter().chain(storing) {
        let mut met = protect(bench());
        set_key(&mut met, BLOCK - PAGE, 0x58);
        met.cpu.general[6] = BLOCK - 4;
        let before = met.hardware.storage.clone();
        let found = exception_of(&mut met, instruction);
        // Others are on a boundary, or shorter.
        let crosses = matches!(
            instruction,
            I::Lpp { .. }
                | I::Lcctl { .. }
                | I::Lpctl { .. }
                | I::Lsctl { .. }
                | I::Qctri { .. }
                | I::Qsi { .. }
                | I::Stsch { .. }
                | I::Tsch { .. }
                | I::Msch { .. }
                | I::Ssch { .. }
                | I::Tpi { .. }
        );
        assert_eq!(found == Some(P::Protection), crosses, "{instruction}");
        assert!(
            !crosses || met.hardware.storage == before,
            "{instruction} stored"
        );
    }
}

#[test]
fn moves_between_spaces_use_the_key_that_they_specify_for_one_operand_and_the_psw_key_for_the_other()
 {
    let (first, second) = (at(BLOCK as i32), at(BLOCK as i32));
    // The primary block has key 3 and the secondary one key 7, both with fetch protection.
    let bench = |psw: u64, register| {
        let mut bench = protect(bench());
        bench.cpu.psw.mask ^= (5 ^ psw) << 52;
        set_key(&mut bench, BLOCK + 0x10_0000, 0x78);
        (bench.cpu.general[7], bench.cpu.general[8]) = (16, register);
        bench
    };
    let (r1, r3) = (7, 8);
    for instruction in [
        I::Mvcp {
            r1,
            first,
            second,
            r3,
        },
        I::Mvcs {
            r1,
            first,
            second,
            r3,
        },
    ] {
        assert_eq!(complete(&mut bench(3, 0x70), instruction), 0);
        assert_eq!(exception(&mut bench(3, 0x30), instruction), P::Protection);
        assert_eq!(exception(&mut bench(7, 0x70), instruction), P::Protection);
    }
    // MOVE WITH OPTIONAL SPECIFICATIONS: to the primary space with the first key from the secondary one with the second.
    let mvcos = I::Mvcos {
        first,
        second,
        r3: 7,
    };
    for (controls, permitted) in [
        (0x3003_7083, true),
        (0x3003_6083, false),
        (0x4003_7083, false),
        // The PSW key, for one of them.
        (0x0001_7083, false),
        (0x3003_0081, false),
    ] {
        let mut met = bench(5, 0);
        met.cpu.general[0] = controls;
        if permitted {
            assert_eq!(complete(&mut met, mvcos), 0);
        } else {
            assert_eq!(exception(&mut met, mvcos), P::Protection, "{controls:X}");
        }
    }
}

#[test]
fn mvpg_uses_the_specified_key_for_the_first_or_the_second_operand() {
    let mvpg = I::Mvpg { r1: 6, r2: 10 };
    for (controls, first, second, permitted) in [
        (0x830, 0x38, 0x58, true),
        (0x830, 0x58, 0x38, false),
        (0x430, 0x58, 0x38, true),
        (0x430, 0x38, 0x58, false),
        (0x030, 0x58, 0x58, true),
        (0x030, 0x38, 0x58, false),
    ] {
        let mut met = protect(bench());
        set_key(&mut met, BLOCK, first);
        set_key(&mut met, 0x2000, second);
        met.cpu.general[0] = controls;
        if permitted {
            assert_eq!(complete(&mut met, mvpg), 0);
        } else {
            assert_eq!(exception(&mut met, mvpg), P::Protection, "{controls:X}");
        }
    }
}

#[test]
fn tprot_tells_what_its_key_permits() {
    let of = |bench: &mut Bench, key: i32| {
        let first = at(BLOCK as i32);
        let second = at(key << 4);
        complete(bench, I::Tprot { first, second })
    };
    let met = &mut protect(bench());
    assert_eq!([0, 3, 5].map(|key| of(met, key)), [0, 0, 2]);
    set_key(met, BLOCK, 0x30);
    assert_eq!([0, 3, 5].map(|key| of(met, key)), [0, 0, 1]);
    change_entry(met, BLOCK / PAGE, arch::table::PTE_PROTECTION);
    assert_eq!([0, 3, 5].map(|key| of(met, key)), [1, 1, 1]);
    set_key(met, BLOCK, 0x38);
    assert_eq!([0, 3, 5].map(|key| of(met, key)), [1, 1, 2]);
}

#[test]
fn what_is_not_an_operand_in_storage_has_no_key() {
    let met = &mut protect(bench());
    set_key(met, 0, 0x38);
    set_key(met, super::SEGMENTS, 0x38);
    set_key(met, super::PAGES, 0x38);
    complete(met, I::Stfl { second: at(0) });
    complete(met, I::Tpi { second: at(0) });
    let second = at(BLOCK as i32);
    assert_eq!(complete(met, I::Lrag { r1: 4, second }), 0);
    (met.cpu.general[4], met.cpu.general[6]) = (super::PAGES, BLOCK);
    complete(met, I::Iske { r1: 2, r2: 6 });
    complete(met, I::Ivsk { r1: 2, r2: 6 });
    complete(met, I::Rrbe { r1: 2, r2: 6 });
    complete(met, I::Tb { r1: 2, r2: 6 });
    let ipte = I::Ipte {
        r1: 4,
        r2: 6,
        r3: 0,
        m4: 0,
    };
    complete(met, ipte);
}

#[test]
fn what_the_hardware_performs_elsewhere_is_performed_without_a_key() {
    let met = &mut protect(bench());
    met.set(0x2000, &[7; 8]);
    let mvc = I::Mvc {
        l: 7,
        first: at(BLOCK as i32),
        second: at(0x2000),
    };
    let Bench {
        cpu,
        configuration,
        hardware,
    } = met;
    let performed = perform_characters(cpu, configuration, hardware, &mvc);
    assert_eq!(performed, Ok(Outcome::Completed));
    assert_eq!(cpu.psw.fields().key(), 5);
    assert_eq!(met.doubleword(BLOCK), 0x0707_0707_0707_0707);
}

#[test]
fn a_program_needs_authority_for_the_key_before_the_block_needs_to_match() {
    let mut met = protect(problem());
    (met.cpu.general[6], met.cpu.general[10]) = (BLOCK, 0x2000);
    met.cpu.general[0] = 0x830;
    let mvpg = I::Mvpg { r1: 6, r2: 10 };
    assert_eq!(exception(&mut met, mvpg), P::PrivilegedOperation);
    met.cpu.control[3] = 1 << (31 - 3);
    assert_eq!(complete(&mut met, mvpg), 0);
    met.cpu.general[0] = 0;
    assert_eq!(exception(&mut met, mvpg), P::Protection);
    let stfle = I::Stfle {
        second: at(BLOCK as i32),
    };
    assert_eq!(exception(&mut met, stfle), P::Protection);
}
