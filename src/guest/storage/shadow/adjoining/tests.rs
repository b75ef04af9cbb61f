//! Pages at random behind each other: what the hardware would fetch across the boundary of two pages is the guest's text, or
//! begins with a replacement.

use crate::dispatch;
use crate::hardware::Hardware;
use crate::state::page_frames::PageState;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::requests::Request;
use crate::state::shadow::{SEGMENT, Side};
use crate::storage::scanner;
use crate::storage::shadow::{self, build_identity, valid_entries};
use crate::test_machine::Bench;
use crate::test_random::Random;
use arch::address::{Absolute, PAGE, Real, Virtual};
use arch::interruption::Class;
use arch::psw::{self, DAT, PROBLEM, Psw};
use arch::table::{PTE_FRAME, PTE_INVALID, STE_INVALID, TEID_FETCH};
use insn::split;
use std::collections::BTreeMap;

/// Page frames: fewer than virtual pages, and more than there are code copies.
const FRAMES: u64 = 12;
const FRAMES_AT: u64 = SEGMENT;
/// Virtual pages, on both sides of the boundary of two segments, and at both ends of the space.
const PAGES: [u64; 12] = [
    0x2F_D000,
    0x2F_E000,
    0x2F_F000,
    0x30_0000,
    0x30_1000,
    0x30_2000,
    0x30_3000,
    0x30_4000,
    0x30_5000,
    0x30_6000,
    0x7FFF_F000,
    0x1000,
];
const SEGMENT_TABLE: u64 = 0x8_0000;
const PAGE_TABLES: u64 = 0x8_4000;

/// Halfwords that are sensitive, that have each of the lengths, and that are no instruction.
const HALFWORDS: [u16; 14] = [
    0xB98D, 0xB2B0, 0xB279, 0x4440, 0xC640, 0xE501, 0x07FE, 0x1812, 0x4120, 0xC041, 0xE320, 0x0024,
    0x0000, 0xA728,
];

/// What the parts of instructions of [`split`] are made of.
const PARTS: [u16; 6] = [0xEC12, 0xEC80, 0x8057, 0x0054, 0xED12, 0x000C];

/// Which instructions of [`split`] the hardware performs wrongly.
#[derive(Clone, Copy)]
enum Wrong {
    Nothing,
    Tests,
    Products,
}

/// Where in a page what matters is.
const PLACES: [u64; 8] = [0, 2, 4, 0x100, 0xFF8, 0xFFA, 0xFFC, 0xFFE];

fn page_entry(page: u64) -> u64 {
    PAGE_TABLES + page / SEGMENT % 8 * 0x800 + page / PAGE % 256 * 8
}

fn bench(is_strict: bool, wrong: Wrong) -> Bench {
    let mut bench = Bench::new();
    bench.configuration.strict = is_strict;
    bench.configuration.quirks.ends_at_tests = matches!(wrong, Wrong::Tests);
    bench.configuration.quirks.multiplies_wrongly = matches!(wrong, Wrong::Products);
    for segment in 0..2048 {
        bench.set_doublewords(SEGMENT_TABLE + 8 * segment, &[STE_INVALID]);
    }
    for page in PAGES {
        let segment = page / SEGMENT;
        let table = PAGE_TABLES + segment % 8 * 0x800;
        bench.set_doublewords(SEGMENT_TABLE + 8 * segment, &[table]);
    }
    for entry in 0..8 * 256 {
        bench.set_doublewords(PAGE_TABLES + 8 * entry, &[PTE_INVALID]);
    }
    // The program new PSW.
    bench.set_doublewords(0x1D0, &[psw::ADDRESSING_64, 0x7_0000]);
    for control in [1, 7, 13] {
        bench.cpu.control[control] = SEGMENT_TABLE | 3;
    }
    build_identity(&bench.configuration, &mut bench.hardware);
    bench
}

/// The page that the hardware fetches instructions from, by the tables that it has for them.
fn mapped(bench: &Bench) -> BTreeMap<(u64, u64), u64> {
    let own = valid_entries(&bench.cpu, &bench.hardware).into_iter();
    let own = own.filter(|(_, side, ..)| *side == Side::Instructions);
    let shadow = &bench.configuration.shadow;
    let complete = (256..512).map(|page| {
        let table = shadow.identity_table(page / 256, Side::Instructions);
        let entry = bench.hardware.hsa_load(table.offset(page % 256 * 8));
        (u64::MAX, Side::Instructions, Virtual(page * PAGE), entry)
    });
    own.chain(complete)
        .filter(|(.., entry)| entry & PTE_INVALID == 0)
        .map(|(guest, _, at, entry)| ((guest, at.0), entry & PTE_FRAME))
        .collect()
}

/// The halfword at an offset of a page that the hardware fetches from, and that of the guest.
fn halfwords(bench: &Bench, mapped: u64, offset: u64) -> [u16; 2] {
    let pages = &bench.configuration.page_frames;
    let owner = pages.owner_of_copy(Real(mapped));
    let frame = owner.unwrap_or_else(|| bench.hardware.absolute_of(Real(mapped)));
    let original = bench.hardware.load_u16(frame.offset(offset));
    if owner.is_none() {
        return [original; 2];
    }
    let fetched = bench.hardware.hsa_load(Real(mapped).offset(offset & !7));
    [(fetched >> (48 - 8 * (offset & 6))) as u16, original]
}

fn check(bench: &Bench, what: &str) {
    let all = mapped(bench);
    for (&(guest, at), &first) in &all {
        let Some(&second) = all.get(&(guest, at.wrapping_add(PAGE))) else {
            continue;
        };
        let text = [(first, 0xFFC), (first, 0xFFE), (second, 0), (second, 2)]
            .map(|(page, offset)| halfwords(bench, page, offset)[0]);
        let caught = bench.configuration.caught();
        if caught.has_split() {
            let [one, two, three, four] = text;
            let is_caught = |text| split::is_caught(text, caught);
            let crosses = [[one, two, three], [two, three, four]].map(is_caught);
            assert_eq!(crosses, [false; 2], "{what}: {guest:x} {at:x} {text:04x?}");
        }
        for offset in [0xFFC, 0xFFE] {
            let [begins, original] = halfwords(bench, first, offset);
            let length = insn::length((original >> 8) as u8) as u64;
            if begins != original {
                continue;
            }
            for rest in (0x1000..offset + length).step_by(2) {
                let [fetched, original] = halfwords(bench, second, rest - 0x1000);
                assert_eq!(fetched, original, "{what}: {guest:x} {at:x} {offset:x}");
            }
        }
    }
}

fn trap(bench: &mut Bench, code: u16, length: u64, address: u64) {
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    cpu.interruption.old = Psw {
        mask: dispatch::real_psw(cpu).mask,
        address,
    };
    cpu.interruption.cause = (length as u32) << 16 | u32::from(code);
    dispatch::take_over(cpu);
    dispatch::enter(cpu, configuration, hardware, Class::Program);
    dispatch::program(cpu, configuration, hardware);
    dispatch::leave(cpu, configuration, hardware);
}

/// The guest executes at an address: the hardware misses what is not mapped, and refuses what is replaced. Returns whether the
/// instruction is executed alone.
fn execute(bench: &mut Bench, at: u64) -> bool {
    let is_there = |bench: &Bench, page: u64| {
        let own = !bench.cpu.psw.dat() && !bench.cpu.shadow.owns_real;
        let guest = match bench.cpu.psw.dat() {
            _ if own => u64::MAX,
            true => SEGMENT_TABLE | 3,
            false => super::super::REAL,
        };
        mapped(bench).get(&(guest, page)).copied()
    };
    for _ in 0..4 {
        let page = at & !(PAGE - 1);
        let Some(first) = is_there(bench, page) else {
            bench.cpu.interruption.identification = page | TEID_FETCH;
            trap(bench, 0x11, 2, at);
            if bench.cpu.psw.address != at {
                return false;
            }
            continue;
        };
        let [fetched, _] = halfwords(bench, first, at % PAGE);
        let length = insn::length((fetched >> 8) as u8) as u64;
        if at % PAGE + length > PAGE && is_there(bench, page.wrapping_add(PAGE)).is_none() {
            bench.cpu.interruption.identification = page.wrapping_add(PAGE) | TEID_FETCH;
            trap(bench, 0x11, 2, at);
            if bench.cpu.psw.address != at {
                return false;
            }
            continue;
        }
        if matches!(fetched, 0xB9FF | 0xE5FF | 0) {
            trap(bench, 1, length, at.wrapping_add(length));
            return bench.cpu.shadow.alone.is_some();
        }
        break;
    }
    false
}

fn step(bench: &mut Bench, random: &mut Random) -> bool {
    let modes = [DAT, DAT | PROBLEM, 0];
    if random.one_in(20) {
        let mask = random.one_of(&modes) | psw::ADDRESSING_64;
        bench.cpu.psw.mask = mask;
        bench.cpu.pending_work |= PendingWork::CONTROLS;
    }
    let frame = FRAMES_AT + random.below(FRAMES) * PAGE;
    let Bench {
        cpu,
        configuration,
        hardware,
    } = bench;
    match random.below(8) {
        0 => {
            let at = Absolute(frame + random.one_of(&PLACES));
            let value = if configuration.caught().has_split() && random.one_in(2) {
                random.one_of(&PARTS)
            } else {
                random.one_of(&HALFWORDS)
            };
            if random.one_in(2) {
                scanner::store_into(configuration, hardware, at);
                hardware.store_u16(at, value);
            } else {
                let shift = 48 - 8 * (at.0 & 6);
                let at = Absolute(at.0 & !7);
                let before = hardware.load_u64(at) & !(0xFFFF << shift);
                let value = before | u64::from(value) << shift;
                scanner::store_value_into(configuration, hardware, at, (value, 8));
                hardware.store_u64(at, value);
            }
        }
        1 => {
            let entry = Absolute(page_entry(random.one_of(&PAGES)));
            let value = if random.one_in(5) { PTE_INVALID } else { frame };
            hardware.store_u64(entry, value);
            shadow::purge(configuration, hardware, Request::Entry(entry));
        }
        _ => {
            let page = if cpu.psw.dat() {
                random.one_of(&PAGES)
            } else {
                frame
            };
            let at = page + random.one_of(&PLACES);
            cpu.psw.address = at;
            dispatch::leave(cpu, configuration, hardware);
            if cpu.psw.dat() && shadow::has_single_table(cpu) {
                shadow::split(cpu, configuration, hardware);
                dispatch::leave(cpu, configuration, hardware);
            }
            return execute(bench, at);
        }
    }
    false
}

fn run(is_strict: bool, wrong: Wrong, seed: u64, steps: u64) -> [u64; 3] {
    let mut random = Random(seed | 1);
    let mut bench = bench(is_strict, wrong);
    let mut seen = [0; 3];
    for number in 0..steps {
        seen[2] += u64::from(step(&mut bench, &mut random));
        let Bench {
            cpu,
            configuration,
            hardware,
        } = &mut bench;
        cpu.state = crate::state::vcpu::CpuState::Operating;
        cpu.psw.mask &= !psw::WAIT;
        dispatch::leave(cpu, configuration, hardware);
        check(&bench, &format!("seed {seed}, step {number}"));
        let pages = &bench.configuration.page_frames;
        for frame in (0..FRAMES).map(|n| Absolute(FRAMES_AT + n * PAGE)) {
            if matches!(pages.state(frame), PageState::Copied(_)) {
                seen[0] += u64::from(pages.begins(frame));
                seen[1] += u64::from(pages.ends(frame));
            }
        }
    }
    seen
}

#[test]
fn what_is_fetched_across_the_end_of_a_page_is_the_guests_text_or_begins_with_a_replacement() {
    for (is_strict, wrong, seeds, least) in [
        (false, Wrong::Nothing, 40, 500),
        (true, Wrong::Nothing, 40, 500),
        (false, Wrong::Tests, 15, 180),
        (true, Wrong::Tests, 15, 180),
        (false, Wrong::Products, 15, 180),
    ] {
        let mut seen = [0; 3];
        for seed in 1..seeds {
            let seed = u64::wrapping_mul(seed, 0x9E37_79B9_7F4A_7C15);
            let more = run(is_strict, wrong, seed, 1000);
            seen = core::array::from_fn(|n| seen[n] + more[n]);
        }
        // Copies that begin so, copies that end so, and instructions executed alone.
        assert!(seen.iter().all(|&count| count > least), "{seen:?}");
    }
}
