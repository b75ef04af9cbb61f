//! The counters of cryptographic functions, of the CPU and of its group, count only while their set is active, count
//! on from a value that the program sets, and go on from zero behind the greatest one.

use guests::coprocessor::{Kind, Operands};
use guests::externals::wait_for_the_operator;
use guests::insn::measurement::{controls, ecctr, epctr, lcctl, lpctl, scctr, set, spctr};
use guests::shows;

guests::clause!(
    "SA23-2260, Crypto-Activity Counter Set; Coprocessor-Group Counter Set (values and states)",
    native = false,
    options = "--cryptography",
    when_waiting = "AUTH CPU 0 COUNTERS GROUP OFF; INTERRUPT CPU 0; AUTH CPU 0 COUNTERS GROUP ON; INTERRUPT CPU 0"
);
guests::case!(run);

/// Counts SHA functions of the CPU.
const SHA: u64 = 68;
/// Counts SHA functions of group 0.
const GROUP_SHA: u64 = 0;
const INACTIVE: u64 = controls(set::CRYPTO, 0);
const ACTIVE: u64 = controls(set::CRYPTO, set::CRYPTO);

fn hash() {
    Operands::of(Kind::Sha).issue(Kind::Sha);
}

fn of_the_cpu() {
    lcctl(INACTIVE);
    scctr(SHA, 5);
    hash();
    shows!("CRYPTO-26", ecctr(SHA), (0, 5));
    lcctl(ACTIVE);
    hash();
    shows!(["CRYPTO-26", "SCCTR-13"], ecctr(SHA), (0, 6));
    scctr(SHA, 1 << 40);
    hash();
    shows!("SCCTR-13", ecctr(SHA), (0, (1 << 40) + 1));
    scctr(SHA, u64::MAX);
    hash();
    shows!("COUNTER-7", ecctr(SHA), (0, 0));
    // Disabled meanwhile: nothing of it is seen later.
    lcctl(0);
    hash();
    lcctl(ACTIVE);
    shows!("CRYPTO-26", ecctr(SHA), (0, 0));
    lcctl(0);
}

fn of_the_group() {
    lpctl(2);
    spctr(GROUP_SHA, 5);
    hash();
    shows!("GROUP-3", epctr(GROUP_SHA, 0), (0, 5));
    lpctl(3);
    hash();
    shows!("EPCTR-11", epctr(GROUP_SHA, 0), (0, 6));
    shows!("SPCTR-11", spctr(GROUP_SHA, 1 << 40), 0);
    hash();
    shows!(
        ["EPCTR-11", "SPCTR-11"],
        epctr(GROUP_SHA, 0),
        (0, (1 << 40) + 1)
    );
    spctr(GROUP_SHA, u64::MAX);
    hash();
    shows!("COUNTER-8", epctr(GROUP_SHA, 0), (0, 0));
    // A CPU without authorization does not see the counter, but its functions count.
    wait_for_the_operator();
    hash();
    shows!(["EPCTR-8", "GROUP-20"], epctr(GROUP_SHA, 7), (3, 7));
    wait_for_the_operator();
    shows!("GROUP-20", epctr(GROUP_SHA, 0), (0, 1));
    // Other counters of a group that nothing counts keep their values while the sets become active and inactive.
    spctr(GROUP_SHA + 7, 77);
    for controls in [2, 3, 2] {
        lpctl(controls);
        shows!(
            "STATE-20",
            (epctr(GROUP_SHA, 0), epctr(GROUP_SHA + 7, 0)),
            ((0, 1), (0, 77))
        );
    }
    lpctl(0);
}

fn run() {
    of_the_cpu();
    of_the_group();
}
