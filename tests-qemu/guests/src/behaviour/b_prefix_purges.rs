//! SET PREFIX purges the translation-lookaside buffer of its CPU, whether the prefix changes or not. (QEMU removes the
//! entries of the two prefix areas only, hence not native.)

use guests::dat::{self, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{Page, spx, stpx};
use guests::misdirected::{load, store};
use guests::shows;

guests::clause!(
    "SA22-7832, Chapter 3, Translation-Lookaside Buffer (clearing)",
    native = false
);
guests::case!(run);

static mut FRAMES: [Page; 2] = [const { Page([0; 4096]) }; 2];

#[repr(C, align(8192))]
struct Area([u64; 1024]);
static mut AREA: Area = Area([0; 1024]);

/// What the page holds before and after its entry and the prefix were set.
fn around(prefix: u32) -> (u64, u64) {
    let frame = &raw const FRAMES as u64;
    dat::set_window(3, frame);
    dat::on();
    let before = load(WINDOW + 0x3000);
    dat::set_window(3, frame + 4096);
    spx(prefix);
    let after = load(WINDOW + 0x3000);
    dat::off();
    dat::replace_window(3, dat::INVALID);
    (before, after)
}

fn run() {
    let kept = stctg_all();
    let frame = &raw const FRAMES as u64;
    store(frame, 1);
    store(frame + 4096, 2);
    let area = &raw const AREA as u64;
    for at in (0..8192).step_by(8) {
        store(area + at, load(at));
    }
    dat::prepare();
    let same = around(stpx());
    let other = around(area as u32);
    spx(0);
    lctlg_all(&kept);
    shows!("TLB-3", [same, other], [(1, 2); 2]);
}
