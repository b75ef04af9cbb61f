//! The instructions of the steps: short sequences in page frames.
//!
//! Registers 2 to 5 of a step are addresses of operands; 6 is the address of a single instruction; 7 has a page index
//! and is otherwise zero, and so serves as a key of zero; 8 is a real address; 9 is a length; 10 is loaded; 11 is
//! stored; 12 is the origin of a page table; 13 tells which sequence was performed; 14 is the modifier for EXECUTE:
//! another register or length, but no index, which would store anywhere.

use super::Random;

/// Where sequences begin in a page frame, and how far apart they are.
pub(super) const SEQUENCES: u64 = 0x800;
/// Bytes from one sequence to the next.
pub(super) const APART: u64 = 0x40;
/// Sequences in a page frame. The second half is for the supervisor state; every other quarter ends with SET
/// ADDRESS SPACE CONTROL FAST.
pub(super) const COUNT: u64 = 16;
/// Where the single instructions begin; the second half is for the supervisor state.
pub(super) const SINGLE: u64 = 0xC00;
/// Single instructions, 8 bytes apart.
pub(super) const SINGLES: u64 = 32;
/// Where SET ADDRESS SPACE CONTROL FAST stands in a sequence. The text behind it comes from another space, so it is
/// the same in all page frames: a branch to the [`tail`].
pub(super) const SPACE: u64 = APART - 8;
/// Where the tail begins.
pub(super) const TAIL: u64 = SEQUENCES - 2 * APART;
/// Where LOAD REAL ADDRESS (64) of register 10 stands, operand in register 2; and its name.
pub(super) const REAL: u64 = SEQUENCES - APART;
pub(super) const REAL_NAME: u64 = 0x7FFF;
pub(super) const LOAD_REAL: Text = text(6, 0xE3A0_2000_0003, 1);
/// Where data begin.
pub(super) const DATA: u64 = 0xD00;
/// Operands that cross the page boundary begin here.
pub(super) const CROSSING: u64 = 0xFFC;

/// An instruction: its bytes from the left, its length, the accesses to operands that it makes.
#[derive(Clone, Copy)]
pub(super) struct Text {
    bytes: u64,
    pub length: u64,
    pub accesses: u64,
}

const fn text(length: u64, bytes: u64, accesses: u64) -> Text {
    Text {
        bytes: bytes << (64 - 8 * length),
        length,
        accesses,
    }
}

/// EXECUTE RELATIVE LONG. Its target depends on its own address.
const EXRL: u64 = 0xC600;

impl Text {
    pub(super) fn put(self, at: u64) {
        let mut bytes = self.bytes;
        if bytes >> 48 == EXRL {
            // One of the single instructions in the next page.
            let target = (at & !0xFFF) + 0x1000 + SINGLE + (at >> 3 & 0x78);
            bytes |= (target - at) / 2 << 16;
        }
        for n in 0..self.length / 2 {
            let halfword = (bytes >> (48 - 16 * n)) as u16;
            // SAFETY: a page frame of the steps'.
            unsafe { ((at + 2 * n) as *mut u16).write_volatile(halfword) };
        }
    }
}

/// SUPERVISOR CALL 255, which ends a step.
pub(super) const END: Text = text(2, 0x0AFF, 0);

/// LOAD HALFWORD IMMEDIATE (64) of register 13: tells which sequence this is.
pub(super) const fn name(number: u64) -> Text {
    text(4, 0xA7D9_0000 | number, 0)
}

/// BRANCH RELATIVE ON CONDITION, always taken, over this many bytes.
pub(super) const fn branch(distance: u64) -> Text {
    text(4, 0xA7F4_0000 | distance / 2 & 0xFFFF, 0)
}

/// SET ADDRESS SPACE CONTROL FAST.
pub(super) fn space(random: &mut Random) -> Text {
    text(4, 0xB279_0000 | random.pick(&[0, 0x100, 0x300, 0x300]), 0)
}

/// A load and a store in the space that was set.
pub(super) const fn tail() -> [Text; 3] {
    [
        text(6, 0xE3A0_2000_0004, 1),
        text(6, 0xE3B0_3000_0024, 1),
        END,
    ]
}

/// EXTRACT PSW into register 10.
pub(super) const EXTRACT: Text = text(4, 0xB98D_00A0, 0);

/// An instruction for any state.
pub(super) fn plain(random: &mut Random) -> Text {
    let b = 2 + random.below(4);
    let c = 2 + random.below(4);
    let (one, both) = (b << 12, (2 + b % 3) << 28 | c << 12);
    match random.below(24) {
        // LG, L, IC, LMG
        0 | 1 => text(6, 0xE3A0_0000_0004 | b << 28, 1),
        2 => text(4, 0x58A0_0000 | one, 1),
        3 => text(4, 0x43A0_0000 | one, 1),
        4 => text(6, 0xEBAB_0000_0004 | b << 28, 2),
        // STG, ST, STC
        5 | 6 => text(6, 0xE3B0_0000_0024 | b << 28, 1),
        7 => text(4, 0x50B0_0000 | one, 1),
        8 => text(4, 0x42B0_0000 | one, 1),
        // MVC, CLC, NC, OC; OI, TM
        9 | 10 => text(6, 0xD20F_0000_0000 | both, 2),
        11 => text(6, 0xD506_0000_0000 | both, 2),
        12 => text(6, 0xD403_0000_0000 | both, 2),
        13 => text(6, 0xD607_0000_0000 | both, 2),
        14 => text(4, 0x9602_0000 | one, 1),
        15 => text(4, 0x9103_0000 | one, 1),
        // CS, CSG
        16 => text(4, 0xBAAB_0000 | one, 1),
        17 => text(6, 0xEBAB_0000_0030 | b << 28, 1),
        // EXECUTE, with and without a modification; EXECUTE RELATIVE LONG into the next page
        18 => text(4, 0x4400_6000, 2),
        19 => text(4, 0x44E0_6000, 2),
        20 => text(6, EXRL << 32, 1),
        // STAP, STCTG 7, STNSM: privileged
        21 => text(4, 0xB212_0000 | one, 1),
        22 => text(6, 0xEB77_0000_0025 | b << 28, 1),
        _ => text(4, 0xACFF_0000 | one, 1),
    }
}

/// An instruction for the supervisor state, which may be one that the machine replaces.
pub(super) fn privileged(random: &mut Random, replaced: bool) -> Text {
    let b = 2 + random.below(4);
    let c = 2 + random.below(4);
    let both = (2 + b % 3) << 28 | c << 12;
    match random.below(23) {
        // TPROT
        0..=4 if replaced => text(6, 0xE501_0000_0000 | b << 28, 1),
        // LURA, LURAG, STURA, STURG
        5 => text(4, 0xB24B_00A8, 1),
        6 => text(4, 0xB905_00A8, 1),
        7 => text(4, 0xB246_00B8, 1),
        8 => text(4, 0xB925_00B8, 1),
        // MVCOS, MVCP, MVCS
        9..=12 => text(6, 0xC890_0000_0000 | both, 2),
        13 => text(6, 0xDA97_0000_0000 | both, 2),
        14 => text(6, 0xDB97_0000_0000 | both, 2),
        // PTLB
        15..=18 => text(4, 0xB20D_0000, 0),
        _ => plain(random),
    }
}
