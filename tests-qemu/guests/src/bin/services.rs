//! One service of the machine again and again, without end: the machine, or the one below it, works for each much longer
//! than the guest, whose own instructions are few.
#![no_std]
#![no_main]

use core::arch::asm;

use guests::check::holds;
use guests::insn::assist::{Registers, km};
use guests::insn::cpu::{Page, stsi};
use guests::sccb::{READ_SCP_INFO, servc};
use guests::virtio::channel::{ANY_LENGTH, Command, SENSE_IDENTIFICATION, Subchannel};
use guests::{insn, println};

guests::clause!(
    "Millimeter: the operator is heard, and the host hears of the machine",
    native = false
);
guests::guest!(run);

/// What the test puts behind the mark.
#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    kind: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"the kind of service:    ",
    kind: 1,
};

static mut BLOCK: Page = Page([0; 4096]);

/// Store channel-subsystem characteristics.
const CHARACTERISTICS: u16 = 0x0010;
/// Subcode of DIAGNOSE 308: load clear.
const LOAD_CLEAR: u64 = 3;
/// Function of CIPHER MESSAGE: AES-256.
const AES_256: u64 = 20;

/// CHANNEL SUBSYSTEM CALL.
fn chsc(block: &mut Page) {
    block.0[..16].fill(0);
    block.0[..2].copy_from_slice(&16_u16.to_be_bytes());
    block.0[2..4].copy_from_slice(&CHARACTERISTICS.to_be_bytes());
    // SAFETY: request and response stay within the page.
    unsafe {
        asm!(".insn rre,0xb25f0000,{a},%r0", a = in(reg_addr) block.0.as_mut_ptr(), out("r0") _);
    }
}

fn read_scp_info(block: &mut Page) {
    block.0[..8].fill(0);
    block.0[..2].copy_from_slice(&4096_u16.to_be_bytes());
    let _ = servc(READ_SCP_INFO, block.0.as_mut_ptr() as usize);
}

/// Enciphers a megabyte, in as many executions as it takes.
fn encipher() {
    let mut parameter = [0; 32];
    let mut registers = Registers::new(AES_256, &mut parameter);
    let (from, to) = (0x80_0000, 0x90_0000);
    registers.first = (to, 0x10_0000);
    registers.second = (from, 0x10_0000);
    while km(&mut registers) == 3 {}
}

fn run() {
    // SAFETY: the test may have changed it before the program was loaded.
    let kind = unsafe { (&raw const PARAMETERS.kind).read_volatile() };
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    println!("the service of kind {kind} begins");
    let subchannel = Subchannel { number: 0 };
    if kind == 6 {
        holds("there is a device", subchannel.enable(0) != 0);
    }
    loop {
        match kind {
            1 => read_scp_info(block),
            2 => chsc(block),
            3 => {
                let _ = stsi(1, 1, 1, block);
            }
            4 => insn::yield_cpu(),
            // SAFETY: a new beginning.
            5 => unsafe { asm!("diag %r2, %r3, 0x308", in("r3") LOAD_CLEAR) },
            6 => {
                let command = Command(SENSE_IDENTIFICATION, ANY_LENGTH, &[0; 8]);
                let _ = subchannel.program(&[command]);
            }
            _ => encipher(),
        }
    }
}
