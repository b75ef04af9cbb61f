//! Statements on instructions that bare QEMU does not keep: its COMPARE AND SWAP AND PURGE gives another condition code,
//! an exception of fetching the target of an EXECUTE has another length, INSERT PSW KEY does not complete, INVALIDATE
//! PAGE TABLE ENTRY clears only for the exact address, LOAD CONTROL changes registers before an access exception, real
//! addresses need no boundary, SET ADDRESS SPACE CONTROL FAST tests no secondary-space control, SET PREFIX leaves
//! translations, TEST BLOCK leaves general register 0, and TEST PROTECTION sets the change bit.

use core::ptr::{read_volatile, with_exposed_provenance, write_volatile};

use guests::attempt::{Outcome, nullified, suppressed};
use guests::dat::{self, INVALID, WINDOW};
use guests::insn::control::{lctlg_0, stctg_0, stctg_all};
use guests::insn::cpu::{Page, spx};
use guests::insn::storage::{ipte, iske, sske, tprot};
use guests::psw::bit;
use guests::{attempt, attempt_on_registers, routines, shows};

guests::clause!(
    "SA22-7832, control instructions in which bare QEMU differs",
    native = false
);
guests::case!(run);

const PAGE: u64 = 4096;

static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

/// The doubleword at an address.
fn doubleword(at: u64) -> u64 {
    // SAFETY: the address of a doubleword of the program.
    unsafe { read_volatile(with_exposed_provenance(at as usize)) }
}

fn run() {
    compare_and_swap();
    real_boundaries();
    test_block_and_protection();
    dat::prepare();
    load_control();
    address_space_control();
    set_prefix();
    page_table_entry();
    insert_psw_key();
    targets();
}

fn compare_and_swap() {
    let mut operand = [0x1111_1111_2222_2222_u64];
    let at = operand.as_mut_ptr() as u64;
    let csp = |registers: &mut [u64; 5]| {
        attempt_on_registers!("csp %r2, %r4", registers).condition_code()
    };
    let cspg = |registers: &mut [u64; 5]| {
        attempt_on_registers!("cspg %r2, %r4", registers).condition_code()
    };
    // Bits 0-31 of the registers are not what storage has.
    let mut registers = [0, 0xAAAA_AAAA_1111_1111, 0xBBBB_BBBB_3333_3333, at, 0];
    let found = (csp(&mut registers), doubleword(at));
    shows!("CSP-1", found, (0, 0x3333_3333_2222_2222));
    shows!("CSP-3", registers[1], 0xAAAA_AAAA_1111_1111);
    // The second word, by an address with bits that are ignored.
    let mut registers = [0, 0xAAAA_AAAA_2222_2222, 0x4444_4444, at + 7, 0];
    let found = (csp(&mut registers), doubleword(at));
    shows!("CSP-5", found, (0, 0x3333_3333_4444_4444));
    let mut registers = [0, 0x3333_3333_4444_4444, 0x7777_7777_8888_8888, at + 7, 0];
    let found = (cspg(&mut registers), doubleword(at));
    shows!(
        ["CSP-1", "CSP-4", "CSP-6"],
        found,
        (0, 0x7777_7777_8888_8888)
    );
}

/// LOAD and STORE USING REAL ADDRESS.
fn real_boundaries() {
    let block = [0x5A5A_5A5A_5A5A_5A5A_u64; 2];
    let at = block.as_ptr() as u64;
    macro_rules! refused {
        ($text:literal, $offset:literal) => {
            attempt!($text, a = in(reg) at + $offset).number()
        };
    }
    let refusal = suppressed(6, 4);
    shows!(
        "LURA-7",
        [refused!("lura %r1, {a}", 1), refused!("lura %r1, {a}", 2)],
        [refusal; 2]
    );
    shows!("LURA-8", refused!("lurag %r1, {a}", 4), refusal);
    shows!(
        "STURA-7",
        [refused!("stura %r1, {a}", 1), refused!("stura %r1, {a}", 2)],
        [refusal; 2]
    );
    shows!("STURA-8", refused!("sturg %r1, {a}", 4), refusal);
    shows!(
        ["STURA-7", "STURA-8"],
        [doubleword(at), doubleword(at + 8)],
        block
    );
}

fn test_block_and_protection() {
    let block = &raw const FRAMES as u64;
    let mut registers = [0x1234_5678_9ABC_DEF0, block, 0, 0, 0];
    let outcome = attempt_on_registers!("tb %r5, %r2", &mut registers);
    shows!("TB-4", (outcome.condition_code(), registers[0]), (0, 0));
    sske(0, block);
    shows!("TPROT-9", (tprot(block, 0), iske(block) & 2), (0, 0));
}

/// Operands of which a part is in an invalid page.
fn load_control() {
    dat::set_window(1, &raw const FRAMES as u64);
    dat::set_window(2, INVALID);
    let at = WINDOW + 2 * PAGE - 8;
    // SAFETY: the last doubleword of the frame, which registers 4 and 5 must not get.
    unsafe { write_volatile((&raw mut FRAMES).cast::<u64>().add(511), u64::MAX) };
    dat::on();
    let control = stctg_all();
    let words = attempt!("lctl 4, 7, 0({a})", a = in(reg_addr) at).number();
    let doublewords = attempt!("lctlg 4, 5, 0({a})", a = in(reg_addr) at).number();
    let after = stctg_all();
    dat::off();
    shows!(
        "LCTL-9",
        [words, doublewords],
        [nullified(0x11, 4), nullified(0x11, 6)]
    );
    shows!("LCTL-9", after, control);
}

fn address_space_control() {
    let cr0 = stctg_0();
    lctlg_0(cr0 & !bit(37));
    dat::on();
    let refused =
        [0_u64, 1, 3, 4].map(|code| attempt!("sacf 0({a})", a = in(reg_addr) code << 8).number());
    dat::off();
    lctlg_0(cr0);
    shows!("SACF-7", refused, [suppressed(0x13, 4); 4]);
}

/// A page-table entry that changes without an invalidation is used as it is after SET PREFIX, also if the prefix stays
/// the same.
fn set_prefix() {
    let frames = &raw mut FRAMES as *mut u64;
    // SAFETY: the frames are the program's own.
    unsafe {
        write_volatile(frames, 1);
        write_volatile(frames.add(512), 2);
    }
    dat::set_window(0, frames as u64);
    dat::on();
    let before = doubleword(WINDOW);
    dat::set_window(0, frames as u64 + PAGE);
    spx(0);
    let after = doubleword(WINDOW);
    dat::off();
    shows!("SPX-5", [before, after], [1, 2]);
}

/// The register has the index of the page, and other bits than its address.
fn page_table_entry() {
    dat::set_window(3, &raw const FRAMES as u64);
    dat::on();
    let fetch = || attempt!("lg %r1, 0({a})", a = in(reg_addr) WINDOW + 3 * PAGE).number();
    let before = fetch();
    ipte(dat::window_origin(), 0x5A5A_5A5A_5A50_3FFF);
    let after = fetch();
    dat::off();
    shows!(
        ["IPTE-4", "IPTE-6"],
        (before >> 16, after),
        (0, nullified(0x11, 6))
    );
}

fn insert_psw_key() {
    for code in 0..4_u8 {
        let mut registers = [0, 0, u64::from(code) << 28, 0, 0];
        let kept = attempt_on_registers!("spm %r3\n ipk", &mut registers);
        shows!("IPK-3", kept.condition_code(), code);
    }
}

/// Targets that cannot be fetched: in an invalid page, and beyond storage.
fn targets() {
    dat::set_window(4, INVALID);
    let ex = |target: u64| attempt!("ex %r0, 0({t})", t = in(reg_addr) target).number();
    let beyond = ex(0x7000_0000);
    dat::on();
    let invalid = ex(WINDOW + 4 * PAGE);
    dat::off();
    shows!("EX-10", beyond, suppressed(5, 4));
    shows!("EX-10", invalid, nullified(0x11, 4));
    // EXECUTE RELATIVE LONG of a target in the page behind it, which is invalid.
    let distance = (4096 - 0x100) / 2;
    routines::put(0x100, &[0xC600, 0, distance, 0x07FE]);
    dat::set_identity(routines::routine(4096), false);
    dat::on();
    let invalid =
        attempt_on_registers!("basr %r5, %r2", &mut [0, routines::routine(0x100), 0, 0, 0]);
    dat::off();
    dat::set_identity(routines::routine(4096), true);
    if let Outcome::Program(program) = invalid {
        let found = (program.code, program.length, program.old.address);
        shows!("EXRL-8", found, (0x11, 6, routines::routine(0x100)));
    }
}
