//! The operands that control instructions store, as far as text and registers give them.
//!
//! Whoever performs such an instruction knows its operands. This is for those who only see that it was performed.
//! STORE COUNTER MULTIPLE, CHANNEL SUBSYSTEM CALL and MOVE PAGE are not here: their operands have other lengths.

use super::operand::Place::{self, Base, Long};
use super::{Access, OperandSpace, Reference, State, Step, condition_code, step};
use crate::opcodes::opcode;

/// How much is stored.
enum Amount {
    Bytes(u64),
    /// So many bytes for each register from R1 to R3.
    Registers(u64),
}

/// What an opcode stores.
const fn stored(opcode: u16) -> Option<(Place, Amount)> {
    use Amount::{Bytes, Registers};
    Some(match opcode {
        // STNSM, STOSM; STCTL; STCTG.
        0xAC00 | 0xAD00 => (Base, Bytes(1)),
        0xB600 => (Base, Registers(4)),
        0xEB25 => (Long, Registers(8)),
        // STIDP, STCKC, STPT; STPX; STAP.
        0xB202 | 0xB207 | 0xB209 => (Base, Bytes(8)),
        0xB211 => (Base, Bytes(4)),
        0xB212 => (Base, Bytes(2)),
        // STSCH; TSCH; TPI; STCRW; STCPS; STSI.
        0xB234 => (Base, Bytes(52)),
        0xB235 => (Base, Bytes(96)),
        0xB236 => (Base, Bytes(8)),
        0xB239 => (Base, Bytes(4)),
        0xB23A => (Base, Bytes(32)),
        0xB27D => (Base, Bytes(4096)),
        // QSI, QCTRI.
        0xB286 | 0xB28E => (Base, Bytes(64)),
        _ => return None,
    })
}

/// Whether an instruction that has completed with a condition code stored at all.
fn has_stored(opcode: u16, condition_code: u64, before: &State<'_>, address: u64) -> bool {
    match opcode {
        0xB234 | 0xB235 => condition_code != 3,
        // The other words go to real storage if the address is zero.
        0xB236 => condition_code == 1 && address != 0,
        // Function code 0 only asks for the level.
        0xB27D => condition_code == 0 && before.general[0] & 0xF000_0000 != 0,
        _ => true,
    }
}

/// Reports what a control instruction has stored, if it is one of those that can be told. It was completed.
pub fn stored_by_control(
    text: &[u8; 6],
    at: u64,
    before: &State<'_>,
    after: &State<'_>,
    sink: &mut impl FnMut(Reference),
) {
    let opcode = opcode(text);
    let Some((place, amount)) = stored(opcode) else {
        return;
    };
    let mut step: Step<'_> = step(text, at, before, after, sink);
    let (address, base) = step.place(place);
    let length = match amount {
        Amount::Bytes(bytes) => bytes,
        Amount::Registers(bytes) => {
            let (left, right) = (text[1] >> 4, text[1] & 15);
            (u64::from(right.wrapping_sub(left) & 15) + 1) * bytes
        }
    };
    if has_stored(opcode, condition_code(after), before, address) {
        step.access(Access::Store, address, length, OperandSpace::Current(base));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::references::{Knowledge, references};

    /// Address and length of what is stored under a condition code.
    fn found(text: [u8; 6], condition_code: u64) -> Vec<(u64, u64)> {
        let mut general = [0; 16];
        (general[0], general[1]) = (0x1000_0001, 0x2000);
        let state = |mask| State {
            general: &general,
            mask,
        };
        let after = condition_code << (63 - 19);
        let mut found = Vec::new();
        let mut note = |reference: Reference| found.push((reference.address, reference.length));
        let known = references(&text, 0, &state(0), &state(after), &mut note);
        assert_eq!(known, Knowledge::Elsewhere, "{text:02X?}");
        stored_by_control(&text, 0, &state(0), &state(after), &mut note);
        found
    }

    #[test]
    fn a_control_instruction_stores_where_its_text_says() {
        for (text, expected) in [
            ([0xB2, 0x12, 0x10, 0x04, 0, 0], (0x2004, 2)),
            ([0xAC, 0xFE, 0x10, 0x08, 0, 0], (0x2008, 1)),
            ([0xB6, 0xE1, 0x10, 0x00, 0, 0], (0x2000, 16)),
            ([0xEB, 0x01, 0x10, 0x00, 0x01, 0x25], (0x3000, 16)),
            ([0xB2, 0x7D, 0x10, 0x00, 0, 0], (0x2000, 4096)),
        ] {
            assert_eq!(found(text, 0), [expected], "{text:02X?}");
        }
        // LCTL and SSM store nothing.
        assert_eq!(found([0xB7, 0x00, 0x10, 0, 0, 0], 0), []);
        assert_eq!(found([0x80, 0x00, 0x10, 0, 0, 0], 0), []);
    }

    #[test]
    fn a_condition_code_can_say_that_nothing_was_stored() {
        let test_subchannel = [0xB2, 0x35, 0x10, 0, 0, 0];
        assert_eq!(found(test_subchannel, 1), [(0x2000, 96)]);
        assert_eq!(found(test_subchannel, 3), []);
        let test_pending = [0xB2, 0x36, 0x10, 0, 0, 0];
        assert_eq!(found(test_pending, 0), []);
        assert_eq!(found(test_pending, 1), [(0x2000, 8)]);
        assert_eq!(found([0xB2, 0x7D, 0x10, 0, 0, 0], 3), []);
    }
}
