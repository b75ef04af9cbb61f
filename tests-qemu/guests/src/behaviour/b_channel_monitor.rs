//! The starts and resumptions of channel programs are counted in measurement blocks of both formats, while the channel
//! monitor and the subchannel say so.

use guests::attempt_on_registers;
use guests::check::{check, holds};
use guests::insn::cpu::Page;
use guests::virtio::channel::{ANY_LENGTH, Command, DONE, SUSPEND, Subchannel};
use guests::virtio::{load, store};

guests::clause!(
    "Principles of Operation, SET CHANNEL MONITOR and measurement blocks",
    native = true,
    options = "--qemu-arg '-device virtio-rng-ccw'"
);
guests::case!(run);

const OPERAND: u16 = 0x15;
const NO_OPERATION: u8 = 0x03;

/// In a subchannel-information block: flags, measurement-block index, characteristics, measurement-block address.
const FLAGS: u64 = 4;
const INDEX: u64 = 12;
const CHARACTERISTICS: u64 = 24;
const ADDRESS: u64 = 40;

const UPDATE: u32 = 0x10 << 16;
const FORMAT_1: u32 = 4;
const EXTENDED_MEASUREMENT_WORD: u32 = 2;

static mut BLOCKS: Page = Page([0; 4096]);
static mut INFORMATION: Page = Page([0; 4096]);

/// SET CHANNEL MONITOR: the program interruption code.
fn set_monitor(controls: u64, origin: u64) -> u16 {
    let mut registers = [0, origin, controls, 0, 0];
    attempt_on_registers!("lgr %r1, %r3\n schm", &mut registers).code()
}

/// MODIFY SUBCHANNEL: the program interruption code.
fn modify(number: u16, at: u64) -> u16 {
    let mut registers = [0, at, 0x1_0000 | u64::from(number), 0, 0];
    attempt_on_registers!("lgr %r1, %r3\n msch 0(%r2)", &mut registers).code()
}

/// The first device.
fn device() -> Option<Subchannel> {
    let mut all = (0..16).map(|number| Subchannel { number });
    all.find(|subchannel| subchannel.enable(3) != 0)
}

/// Performs a program of one command.
fn perform(subchannel: Subchannel) {
    let status = subchannel.program(&[Command(NO_OPERATION, ANY_LENGTH, &[0])]);
    check("a program: status", status, DONE);
}

fn run() {
    check("a reserved control", set_monitor(4, 0), OPERAND);
    check(
        "an origin that is not on its boundary",
        set_monitor(2, 0x10),
        OPERAND,
    );
    check(
        "  without blocks it does not matter",
        set_monitor(0, 0x10),
        0,
    );
    let Some(subchannel) = device() else {
        holds("there is a device", false);
        return;
    };
    let (blocks, at) = (&raw mut BLOCKS as u64, &raw mut INFORMATION as u64);
    let index_3 = || load::<u16>(blocks + 0x60);
    let own_block = || load::<u32>(blocks + 0x800);

    check("monitor on", set_monitor(2, blocks), 0);
    perform(subchannel);
    check("the subchannel is off", index_3(), 0);
    check("STSCH", subchannel.stsch(at), 0);
    store(at + FLAGS, load::<u32>(at + FLAGS) | UPDATE);
    store(at + INDEX, 3_u16);
    check("MSCH", subchannel.msch(at), 0);
    check("STSCH", subchannel.stsch(at), 0);
    holds("  the update is on", load::<u32>(at + FLAGS) & UPDATE != 0);
    check("  index", load::<u16>(at + INDEX), 3);
    for expected in 1..=3 {
        perform(subchannel);
        check("format 0: starts", index_3(), expected);
    }
    let nothing = Command(NO_OPERATION, ANY_LENGTH, &[0]);
    let behind = Command(NO_OPERATION, ANY_LENGTH | SUSPEND, &[0]);
    check(
        "a suspended program",
        subchannel.start(&[nothing, behind]),
        0,
    );
    check("  its start", index_3(), 4);
    check("RSCH", subchannel.rsch(), 0);
    check("  its resumption", index_3(), 5);
    let _ = subchannel.csch();
    let _ = subchannel.take_status();

    store(
        at + CHARACTERISTICS,
        load::<u32>(at + CHARACTERISTICS) | FORMAT_1,
    );
    store(at + ADDRESS, blocks + 0x800);
    check("MSCH of format 1", subchannel.msch(at), 0);
    perform(subchannel);
    check("format 1: starts", own_block(), 1);
    check("format 0: starts", index_3(), 5);
    store(at + ADDRESS, 1_u64 << 40);
    check("MSCH of a block beyond storage", subchannel.msch(at), 0);
    perform(subchannel);
    check("format 1: starts", own_block(), 1);

    let word = load::<u32>(at + CHARACTERISTICS);
    store(at + CHARACTERISTICS, word | EXTENDED_MEASUREMENT_WORD);
    check(
        "MSCH of extended measurement words",
        modify(subchannel.number, at),
        OPERAND,
    );
    store(at + CHARACTERISTICS, word & !FORMAT_1);
    check("MSCH of format 0", subchannel.msch(at), 0);
    check("monitor off", set_monitor(0, 0), 0);
    perform(subchannel);
    check("format 0: starts", index_3(), 5);
    let rest = (0..0x1000).filter(|at| !(0x60..0x62).contains(at) && *at != 0x803);
    let others = rest.filter(|at| load::<u8>(blocks + at) != 0).count();
    check("bytes stored elsewhere", others, 0);
    subchannel.disable();
}
