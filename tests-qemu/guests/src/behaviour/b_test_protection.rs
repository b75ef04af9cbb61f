//! TEST PROTECTION by tables, by low-address protection, and with DAT off.

use guests::attempt::suppressed;
use guests::dat::{self, INVALID, PROTECTED, SEGMENT_INVALID, WINDOW, WINDOW_SEGMENT};
use guests::insn::control::{lctlg_0, stctg_0};
use guests::insn::cpu::Page;
use guests::insn::storage::{ptlb, tprot};
use guests::psw::bit;
use guests::{attempt, shows};

guests::clause!("SA22-7832, TEST PROTECTION", native = true);
guests::case!(run);

const PAGE: u64 = 4096;
/// The protection bit of a segment-table entry.
const SEGMENT_PROTECTED: u64 = 0x200;
/// A bit of a page-table entry that must be zero.
const PAGE_ZERO: u64 = bit(52);

static mut FRAME: Page = Page([0; 4096]);

fn run() {
    let frame = &raw const FRAME as u64;
    let cr0 = stctg_0();
    shows!("TPROT-2", tprot(frame, 0), 0);
    let far = attempt!("tprot 0({a}), 0", a = in(reg_addr) 0x7000_0000_u64);
    shows!("TPROT-10", far.number(), suppressed(5, 6));
    lctlg_0(cr0 | bit(35));
    let low = [0x1FF, 0x200, 0x11FF].map(|at| tprot(at, 0));
    lctlg_0(cr0);
    shows!("TPROT-6", low, [1, 0, 1]);

    dat::prepare();
    dat::set_window(0, frame);
    dat::set_window(1, frame | PROTECTED);
    dat::set_window(2, frame | INVALID);
    dat::set_window(3, frame | PAGE_ZERO);
    dat::set_segment(WINDOW_SEGMENT + 1, dat::window_origin() | SEGMENT_PROTECTED);
    dat::set_segment(WINDOW_SEGMENT + 2, dat::window_origin() | SEGMENT_INVALID);
    dat::on();
    let [valid, protected, invalid] = [0, 1, 2].map(|n| tprot(WINDOW + n * PAGE, 0));
    let by_segment = tprot(WINDOW + (1 << 20), 0);
    let unavailable = [tprot(WINDOW + (2 << 20), 0), tprot(1 << 40, 0)];
    let wrong = attempt!("tprot 0({a}), 0", a = in(reg_addr) WINDOW + 3 * PAGE);
    dat::off();
    shows!("TPROT-2", valid, 0);
    shows!(["TPROT-3", "TPROT-7"], protected, 1);
    shows!(["TPROT-3", "TPROT-8"], by_segment, 1);
    shows!("TPROT-5", [invalid, unavailable[0], unavailable[1]], [3; 3]);
    shows!("TPROT-11", wrong.number(), suppressed(0x12, 6));
    ptlb();
}
