//! Storage keys: one for each 4 KiB of absolute storage, with a reference and a change bit that accesses set.

use guests::dat::{self, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::insn::storage::{iske, rrbe, sske};
use guests::misdirected::{load, store};
use guests::{attempt, shows};

guests::clause!(
    "SA22-7832, Chapter 3, Storage Key; Reference Recording; Change Recording",
    native = true
);
guests::case!(run);

static mut PAGES: [Page; 3] = [const { Page([0; 4096]) }; 3];

const REFERENCE: u8 = 4;
const CHANGE: u8 = 2;

fn run() {
    let page = &raw const PAGES as u64;
    let next = page + 4096;
    sske(0x30, page);
    sske(0x58, next);
    shows!(
        "KEY-1",
        (iske(page), iske(page + 4095), iske(next)),
        (0x30, 0x30, 0x58)
    );
    for key in [0x08, 0x90, 0xF8, 0x16] {
        sske(key, page);
        shows!("KEY-2", iske(page), key);
    }
    sske(0x50, page);
    let _ = load(page);
    shows!("KEY-3", iske(page), 0x50 | REFERENCE);
    sske(0x50, page);
    store(page + 8, 7);
    shows!("KEY-4", iske(page), 0x50 | REFERENCE | CHANGE);
    // A store that does not change the contents changes the bit.
    sske(0, page);
    store(page + 8, load(page + 8));
    shows!("KEY-4", iske(page) & CHANGE, CHANGE);
    shows!("KEY-5", (rrbe(page), iske(page)), (3, CHANGE));
    // By one address or the other, it is the key of the storage.
    let kept = stctg_all();
    dat::prepare();
    dat::set_window(1, next);
    sske(0, page);
    sske(0, next);
    dat::on();
    store(WINDOW + 0x1000, 3);
    dat::off();
    lctlg_all(&kept);
    shows!(
        "KEY-6",
        (iske(next) & CHANGE, iske(page) & CHANGE),
        (CHANGE, 0)
    );
    // An operand on two pages.
    sske(0, page);
    sske(0, next);
    store(next - 4, u64::MAX);
    shows!("KEY-7", iske(page) & iske(next) & CHANGE, CHANGE);
    // What the machine performs for the control program records, too.
    sske(0, page);
    let outcome = attempt!("stctg 0, 15, 0({a})", a = in(reg_addr) page);
    shows!(
        "KEY-4",
        (outcome.code(), iske(page)),
        (0, REFERENCE | CHANGE)
    );
    sske(0, page);
    let outcome = attempt!("lctlg 4, 4, 32({a})", a = in(reg_addr) page);
    shows!("KEY-3", (outcome.code(), iske(page)), (0, REFERENCE));
    for at in [page, next] {
        sske(0, at);
    }
}
