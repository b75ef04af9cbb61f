//! PSW, control registers, prefix and clocks.

use super::*;
use crate::state::pending_work::PendingWork;
use Instruction as I;
use ProgramInterruption as P;
use arch::psw::{ADDRESSING_64, BASIC_ADDRESSING, Psw};

#[test]
fn ssm_replaces_the_system_mask_and_says_that_it_opened_a_mask() {
    let mut bench = Bench::new();
    bench.cpu.pending_work.clear(PendingWork::ATTENTION);
    bench.set(0x2001, &[0x03]);
    complete(&mut bench, I::Ssm { second: at(0x2001) });
    assert_eq!(bench.cpu.psw.mask, ADDRESSING_64 | 0x0300_0000_0000_0000);
    assert!(bench.cpu.pending_work.any(PendingWork::OPENED));
}

#[test]
fn ssm_suppression_comes_after_privilege_and_before_access() {
    let mut bench = Bench::new();
    bench.cpu.control[0] |= bit64(33);
    let beyond = I::Ssm {
        second: at(0x7000_0000),
    };
    assert_eq!(exception(&mut bench, beyond), P::SpecialOperation);
    bench.cpu.psw.mask |= PROBLEM;
    assert_eq!(exception(&mut bench, beyond), P::PrivilegedOperation);
}

#[test]
fn a_reserved_bit_in_the_system_mask_is_an_early_specification_exception_with_the_new_mask() {
    let mut bench = Bench::new();
    assert_eq!(
        exception(
            &mut bench,
            I::Stosm {
                first: at(0x2000),
                i2: 0x83
            }
        ),
        P::Specification
    );
    assert_eq!(bench.cpu.psw.mask >> 56, 0x83);
    assert_eq!(bench.hardware.storage[0x2000], 0);
    bench.set(0x2000, &[0x10]);
    assert_eq!(
        exception(&mut bench, I::Ssm { second: at(0x2000) }),
        P::Specification
    );
    assert_eq!(bench.cpu.psw.mask >> 56, 0x10);
}

#[test]
fn stnsm_and_stosm_store_the_old_mask_and_change_nothing_when_the_store_is_refused() {
    let mut bench = Bench::new();
    bench.cpu.psw.mask |= 0x0300_0000_0000_0000;
    complete(
        &mut bench,
        I::Stnsm {
            first: at(0x2000),
            i2: 0xFC,
        },
    );
    assert_eq!(
        (bench.hardware.storage[0x2000], bench.cpu.psw.mask >> 56),
        (3, 0)
    );
    complete(
        &mut bench,
        I::Stosm {
            first: at(0x2001),
            i2: 0x02,
        },
    );
    assert_eq!(
        (bench.hardware.storage[0x2001], bench.cpu.psw.mask >> 56),
        (0, 2)
    );
    let before = bench.cpu.psw;
    let beyond = I::Stosm {
        first: at(0x7000_0000),
        i2: 0xFF,
    };
    assert_eq!(exception(&mut bench, beyond), P::Addressing);
    assert_eq!(bench.cpu.psw, before);
}

#[test]
fn turning_dat_on_or_off_tells_the_way_out() {
    let mut bench = translating();
    bench.cpu.pending_work.clear(PendingWork::CONTROLS);
    complete(
        &mut bench,
        I::Stnsm {
            first: at(0x2000),
            i2: 0xFF,
        },
    );
    assert!(!bench.cpu.pending_work.any(PendingWork::CONTROLS));
    complete(
        &mut bench,
        I::Stnsm {
            first: at(0x2000),
            i2: 0xFB,
        },
    );
    assert!(bench.cpu.pending_work.any(PendingWork::CONTROLS) && !bench.cpu.psw.dat());
}

#[test]
fn lpswe_loads_sixteen_bytes_across_a_page_boundary_of_the_space() {
    let mut bench = translating();
    // Page 3 is at real 8000 and page 2 is unchanged: the halves are not adjacent.
    bench.set_doublewords(PAGES + 3 * 8, &[0x8000]);
    let psw = Psw {
        mask: ADDRESSING_64 | PROBLEM,
        address: 0x1234_5678_9ABC,
    };
    bench.set_doublewords(0x2FF8, &[psw.mask]);
    bench.set_doublewords(0x8000, &[psw.address]);
    assert_eq!(
        issue(&mut bench, I::Lpswe { second: at(0x2FF8) }),
        Ok(Outcome::Jumped)
    );
    assert_eq!(bench.cpu.psw, psw);
}

#[test]
fn lpswe_off_a_doubleword_boundary_is_a_specification_exception_before_access() {
    let mut bench = Bench::new();
    assert_eq!(
        exception(
            &mut bench,
            I::Lpswe {
                second: at(0x7000_0004)
            }
        ),
        P::Specification
    );
    assert_eq!(
        exception(
            &mut bench,
            I::Lpswe {
                second: at(0x7000_0000)
            }
        ),
        P::Addressing
    );
}

#[test]
fn lpsw_expands_the_short_psw_and_requires_bit_12() {
    let mut bench = Bench::new();
    bench.set_doublewords(0x2000, &[0x000A_0000_8000_0FFF, 0x0002_0000_8000_0FFF]);
    assert_eq!(
        issue(&mut bench, I::Lpsw { second: at(0x2000) }),
        Ok(Outcome::Jumped)
    );
    assert_eq!(
        bench.cpu.psw,
        Psw {
            mask: 0x0002_0000_0000_0000 | BASIC_ADDRESSING,
            address: 0xFFF
        }
    );
    let before = bench.cpu.psw;
    assert_eq!(
        exception(&mut bench, I::Lpsw { second: at(0x2008) }),
        P::Specification
    );
    assert_eq!(bench.cpu.psw, before);
}

#[test]
fn epsw_shows_the_psw_of_the_guest_and_leaves_the_left_halves() {
    let mut bench = translating();
    bench.cpu.general[3] = u64::MAX;
    bench.cpu.general[4] = u64::MAX;
    complete(&mut bench, I::Epsw { r1: 3, r2: 4 });
    assert_eq!(bench.cpu.general[3], 0xFFFF_FFFF_0400_0001);
    assert_eq!(bench.cpu.general[4], 0xFFFF_FFFF_8000_0000);
    bench.cpu.general[0] = 7;
    bench.cpu.psw.mask |= PROBLEM;
    complete(&mut bench, I::Epsw { r1: 3, r2: 0 });
    assert_eq!(
        (bench.cpu.general[3] as u32, bench.cpu.general[0]),
        (0x0401_0001, 7)
    );
}

#[test]
fn the_problem_state_may_set_the_keys_of_its_key_mask_only() {
    let mut bench = problem();
    bench.cpu.control[3] = bit64(32 + 9);
    complete(&mut bench, I::Spka { second: at(0x90) });
    assert_eq!(bench.cpu.psw.fields().key(), 9);
    assert_eq!(
        exception(&mut bench, I::Spka { second: at(0x80) }),
        P::PrivilegedOperation
    );
    bench.cpu.control[0] |= bit64(36);
    bench.cpu.general[2] = 0x1FF;
    complete(&mut bench, I::Ipk {});
    assert_eq!(bench.cpu.general[2], 0x190);
}

#[test]
fn control_registers_wrap_around_and_load_in_full_or_not_at_all() {
    let mut bench = Bench::new();
    let values: Vec<u64> = (0..16).map(|n| 0x1111_0000_0000_0000 + n).collect();
    bench.set_doublewords(0x2000, &values);
    complete(
        &mut bench,
        I::Lctlg {
            r1: 14,
            r3: 1,
            second: at(0x2000),
        },
    );
    let loaded = [14, 15, 0, 1].map(|n: usize| bench.cpu.control[n]);
    assert_eq!(loaded, [0, 1, 2, 3].map(|n| 0x1111_0000_0000_0000 + n));
    complete(
        &mut bench,
        I::Stctg {
            r1: 15,
            r3: 0,
            second: at(0x3000),
        },
    );
    assert_eq!(
        [bench.doubleword(0x3000), bench.doubleword(0x3008)],
        [values[1], values[2]]
    );
    let before = bench.cpu.control;
    let end = bench.configuration.storage.end() as i32;
    let beyond = I::Lctlg {
        r1: 0,
        r3: 15,
        second: at(end - 64),
    };
    assert_eq!(exception(&mut bench, beyond), P::Addressing);
    assert_eq!(bench.cpu.control, before);
}

#[test]
fn lctl_and_stctl_have_the_right_halves_on_word_boundaries() {
    let mut bench = Bench::new();
    bench.cpu.control[5] = 0xAAAA_AAAA_0000_0000;
    bench.set(0x2004, &[0, 0, 0, 1, 0, 0, 0, 2]);
    complete(
        &mut bench,
        I::Lctl {
            r1: 5,
            r3: 6,
            second: at(0x2004),
        },
    );
    assert_eq!(bench.cpu.control[5..7], [0xAAAA_AAAA_0000_0001, 2]);
    complete(
        &mut bench,
        I::Stctl {
            r1: 5,
            r3: 6,
            second: at(0x3004),
        },
    );
    assert_eq!((bench.word(0x3004), bench.word(0x3008)), (1, 2));
    assert_eq!(
        exception(
            &mut bench,
            I::Stctl {
                r1: 5,
                r3: 5,
                second: at(2)
            }
        ),
        P::Specification
    );
    assert_eq!(
        exception(
            &mut bench,
            I::Lctlg {
                r1: 5,
                r3: 5,
                second: at(4)
            }
        ),
        P::Specification
    );
}

#[test]
fn a_control_register_that_is_loaded_with_what_it_holds_changes_nothing() {
    let mut bench = Bench::new();
    bench.set_doublewords(0x2000, &[bench.cpu.control[0]]);
    bench.cpu.pending_work.clear(PendingWork::CONTROLS);
    complete(
        &mut bench,
        I::Lctlg {
            r1: 0,
            r3: 0,
            second: at(0x2000),
        },
    );
    assert!(!bench.cpu.pending_work.any(PendingWork::CONTROLS));
    complete(
        &mut bench,
        I::Lctlg {
            r1: 1,
            r3: 1,
            second: at(0x2000),
        },
    );
    assert!(bench.cpu.pending_work.any(PendingWork::CONTROLS));
}

#[test]
fn spx_ignores_bits_outside_the_prefix_and_requires_the_area_in_storage() {
    let mut bench = Bench::new();
    bench.set(0x2000, &[0x80, 0x00, 0x7F, 0xFF]);
    complete(&mut bench, I::Spx { second: at(0x2000) });
    assert_eq!(bench.cpu.prefix, 0x6000);
    complete(&mut bench, I::Stpx { second: at(0x2000) });
    assert_eq!(bench.word(0x2000), 0x6000);
    let end = bench.configuration.storage.end() as u32;
    bench.set(0x2000, &end.to_be_bytes());
    assert_eq!(
        exception(&mut bench, I::Spx { second: at(0x2000) }),
        P::Addressing
    );
    assert_eq!(bench.cpu.prefix, 0x6000);
}

#[test]
fn the_clock_comparator_and_the_cpu_timer_are_levels() {
    let mut bench = Bench::new();
    bench.hardware.tod = 1000;
    bench.set_doublewords(0x2000, &[999, 1000, u64::MAX, 5]);
    for (operand, pending) in [(0x2000, true), (0x2008, false)] {
        complete(
            &mut bench,
            I::Sckc {
                second: at(operand),
            },
        );
        assert_eq!(bench.cpu.pending.clock_comparator, pending);
    }
    for (operand, pending) in [(0x2010, true), (0x2018, false)] {
        complete(
            &mut bench,
            I::Spt {
                second: at(operand),
            },
        );
        assert_eq!(bench.cpu.pending.cpu_timer, pending);
    }
    complete(&mut bench, I::Stpt { second: at(0x3000) });
    complete(&mut bench, I::Stckc { second: at(0x3008) });
    assert_eq!(
        (bench.doubleword(0x3000), bench.doubleword(0x3008)),
        (5, 1000)
    );
    // Setting the clock computes the comparator's condition again.
    bench.set_doublewords(0x2000, &[1001]);
    assert_eq!(complete(&mut bench, I::Sck { second: at(0x2000) }), 0);
    assert!(bench.cpu.pending.clock_comparator);
}

#[test]
fn sckpf_requires_zeros_before_the_programmable_field() {
    let mut bench = Bench::new();
    bench.cpu.general[0] = 0xFFFF_FFFF_0000_1234;
    complete(&mut bench, I::Sckpf {});
    assert_eq!(
        (
            bench.cpu.tod_programmable,
            bench.hardware.programmable_field
        ),
        (0x1234, 0x1234)
    );
    bench.cpu.general[0] = 0x1_0000;
    assert_eq!(exception(&mut bench, I::Sckpf {}), P::Specification);
}
