//! Prefixing: which real addresses the prefix exchanges, and what is a real address: those with DAT off, those that
//! translation leads to, the operands of storage keys and the assigned locations of interruptions.

use guests::dat::{self, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::{spx, stpx};
use guests::insn::storage::{iske, lurag, sske, sturg};
use guests::interruption::{Class, old_psw};
use guests::misdirected::{load, store};
use guests::psw::bit;
use guests::{attempt, lowcore, shows};

guests::clause!(
    "SA22-7832, Chapter 3, Prefixing; Address Types",
    native = true
);
guests::case!(run);

#[repr(C, align(8192))]
struct Area([u64; 1024]);
static mut AREA: Area = Area([0; 1024]);

/// A place that the runtime leaves alone, in each of the two pages.
const FIRST: u64 = 0x900;
const SECOND: u64 = 0x1900;

fn area() -> u64 {
    &raw const AREA as u64
}

/// Makes the area ready to be a prefix area: it needs what the runtime keeps in one.
fn prepare() {
    for at in (0..8192).step_by(8) {
        store(area() + at, lowcore::read::<u64>(at as usize));
    }
    store(FIRST, 0x0101_u64);
    store(SECOND, 0x0202_u64);
    store(area() + FIRST, 0xA1A1_u64);
    store(area() + SECOND, 0xA2A2_u64);
    store(area() + 8192, 0xA3A3_u64);
    store(8192, 0x0303_u64);
}

fn by_real_address() {
    shows!("PREFIX-1", (load(FIRST), load(SECOND)), (0x0101, 0x0202));
    spx(area() as u32);
    shows!("PREFIX-2", (load(FIRST), load(SECOND)), (0xA1A1, 0xA2A2));
    shows!(
        "PREFIX-3",
        (load(area() + FIRST), load(area() + SECOND)),
        (0x0101, 0x0202)
    );
    shows!(
        "PREFIX-4",
        (load(8192), load(area() + 8192)),
        (0x0303, 0xA3A3)
    );
    store(FIRST, 0xB1B1);
    store(area() + SECOND, 0x1202);
    shows!(
        "PREFIX-5",
        (lurag(FIRST), lurag(area() + FIRST)),
        (0xB1B1, 0x0101)
    );
    sturg(0xC1C1, FIRST + 8);
    spx(0);
    shows!(
        "PREFIX-5",
        (load(area() + FIRST), load(area() + FIRST + 8), load(SECOND)),
        (0xB1B1, 0xC1C1, 0x1202)
    );
}

/// The area with an odd multiple of 4 KiB: the prefix area is on a boundary of its own size.
fn boundary() {
    spx(area() as u32 | 0x1FFF);
    let found = (stpx(), load(SECOND));
    spx(0);
    shows!("PREFIX-6", found, (area() as u32, 0xA2A2));
}

/// What interruptions store and fetch.
fn interruption() {
    let svc = Class::SupervisorCall;
    lowcore::write(svc.old(), 0_u64);
    spx(area() as u32);
    let outcome = attempt!("svc 42");
    let old = old_psw(svc);
    spx(0);
    shows!(
        "PREFIX-7",
        (outcome.number() >> 16, old.address != 0),
        (0x2_002A, true)
    );
    shows!("PREFIX-7", lowcore::read::<u64>(svc.old()), 0);
}

/// Translation leads to real addresses.
fn translation() {
    let kept = stctg_all();
    dat::prepare();
    dat::set_window(0, 0);
    dat::set_window(1, area());
    spx(area() as u32);
    dat::on();
    let found = (load(WINDOW + FIRST), load(WINDOW + 0x1000 + FIRST));
    dat::off();
    spx(0);
    lctlg_all(&kept);
    shows!("PREFIX-8", found, (0xB1B1, 0x0101));
}

/// Storage keys belong to absolute storage, and their instructions have real addresses.
fn keys() {
    let (area_key, low_key) = (iske(area()), iske(0));
    sske(0x30, area());
    sske(0x50, 0);
    spx(area() as u32);
    let found = (iske(0) & 0xF8, iske(area()) & 0xF8);
    spx(0);
    sske(area_key, area());
    sske(low_key, 0);
    shows!("PREFIX-9", found, (0x30, 0x50));
}

fn run() {
    let cr0 = stctg_all()[0];
    guests::insn::control::lctlg_0(cr0 & !bit(35));
    prepare();
    by_real_address();
    boundary();
    interruption();
    translation();
    keys();
}
