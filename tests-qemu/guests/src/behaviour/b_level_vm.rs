//! A guest at the virtual-machine level: what STORE SYSTEM INFORMATION tells it, and its own samples.

use guests::check::check;
use guests::insn::cpu::{Page, stsi};
use guests::insn::measurement::{SamplingRequest, lpp, lsctl};
use guests::{sampling, shows};

guests::clause!(
    "SA23-2260, Basic-Sampling Data Entry (CL, H, program parameters); Principles of Operation, STORE SYSTEM INFORMATION",
    native = false,
    options = "--level vm; --level vm --host-parameter C0FFEE; --secure=full"
);
guests::case!(run);

/// The host indicator, bit 1 of a request.
const HOST_INDICATOR: u64 = 1 << 62;
const PARAMETER: u64 = 0x8000_0000_0000_1234;

static mut BLOCK: Page = Page([0; 4096]);

fn run() {
    // SAFETY: the only reference.
    let block = unsafe { &mut *(&raw mut BLOCK) };
    let (cc, r0) = stsi(0, 0, 0, block);
    check("STSI 0: condition code", cc, 0);
    check("current level", r0 >> 28 & 0xF, 3);
    check("STSI 3.2.2: condition code", stsi(3, 2, 2, block).0, 0);
    check("  virtual machines", block.0[31] & 15, 1);
    check("  CPUs", u16::from_be_bytes([block.0[36], block.0[37]]), 1);
    check("STSI 2.2.2: condition code", stsi(2, 2, 2, block).0, 0);
    let plain = sampling::prepare(1, 10_000);
    let hosted = SamplingRequest {
        state: plain.state | HOST_INDICATOR,
        ..plain
    };
    for request in [plain, hosted] {
        let _ = sampling::prepare(1, 10_000);
        check("LSCTL", lsctl(&request), 0);
        lpp(PARAMETER);
        sampling::busy(400_000);
        check("disabled", sampling::stop(), 0);
        let entry = sampling::entry(0, 20);
        check("data-entry format", entry.format, 1);
        // The guest's own blocks are of the virtual-machine level: LSCTL ignores H.
        shows!("BSDE-11", entry.level >> 14, 2);
        shows!(["BSDE-13", "LSCTL-4"], entry.level & 0x2000, 0);
        check("LS and reserved bits", entry.level & 0x1FFF, 0);
        shows!("BSDE-30", entry.guest_parameter, PARAMETER);
        check("host program parameter", entry.host_parameter, 0);
    }
}
