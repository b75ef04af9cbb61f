//! The rows of vectors and of floating point with an operand in storage.

use super::Sort;
use crate::references::Access::{Fetch, Store};
use crate::references::operand::Extent::*;
use crate::references::operand::Place::*;

/// E6 and E7: vectors.
pub(super) const fn vector(opcode: u16) -> Option<Sort> {
    use Sort::*;
    Some(match opcode {
        // VLEBRH, VLEBRG, VLEBRF; VLLEBRZ, VLBRREP; VLBR, VLER.
        0xE601 => One(Fetch, Indexed, Bytes(2)),
        0xE602 => One(Fetch, Indexed, Bytes(8)),
        0xE603 => One(Fetch, Indexed, Bytes(4)),
        0xE604 => One(Fetch, Indexed, LogicalElement),
        0xE605 => One(Fetch, Indexed, Element),
        0xE606 | 0xE607 => One(Fetch, Indexed, Bytes(16)),
        // VSTEBRH, VSTEBRG, VSTEBRF, VSTBR, VSTER.
        0xE609 => One(Store, Indexed, Bytes(2)),
        0xE60A => One(Store, Indexed, Bytes(8)),
        0xE60B => One(Store, Indexed, Bytes(4)),
        0xE60E | 0xE60F => One(Store, Indexed, Bytes(16)),
        // VPKZ, VLRL, VLRLR; VUPKZ, VSTRL, VSTRLR.
        0xE634 | 0xE635 => One(Fetch, Base, Immediate),
        0xE637 => One(Fetch, Base, HighestIndex),
        0xE63C | 0xE63D => One(Store, Base, Immediate),
        0xE63F => One(Store, Base, HighestIndex),
        // VLIP to VSDP.
        0xE649..=0xE67E => Nothing,
        // VLEB, VLEH, VLEG, VLEF, VLLEZ, VLREP, VL, VLBB.
        0xE700 => One(Fetch, Indexed, Bytes(1)),
        0xE701 => One(Fetch, Indexed, Bytes(2)),
        0xE702 => One(Fetch, Indexed, Bytes(8)),
        0xE703 => One(Fetch, Indexed, Bytes(4)),
        0xE704 => One(Fetch, Indexed, LogicalElement),
        0xE705 => One(Fetch, Indexed, Element),
        0xE706 => One(Fetch, Indexed, Bytes(16)),
        0xE707 => One(Fetch, Indexed, Block),
        // VSTEB, VSTEH, VSTEG, VSTEF, VST.
        0xE708 => One(Store, Indexed, Bytes(1)),
        0xE709 => One(Store, Indexed, Bytes(2)),
        0xE70A => One(Store, Indexed, Bytes(8)),
        0xE70B => One(Store, Indexed, Bytes(4)),
        0xE70E => One(Store, Indexed, Bytes(16)),
        // VGEG, VGEF; VSCEG, VSCEF: the index is in a vector register.
        0xE712 | 0xE713 => Partly(&[]),
        0xE71A | 0xE71B => Unknown,
        // VLGV, VLVG, LCBB, VESL to VESRA.
        0xE721 | 0xE722 | 0xE727 | 0xE730 | 0xE733 | 0xE738 | 0xE73A => Nothing,
        // VLM, VLL; VSTM, VSTL.
        0xE736 => One(Fetch, Base, Vectors),
        0xE737 => One(Fetch, Base, HighestIndex),
        0xE73E => One(Store, Base, Vectors),
        0xE73F => One(Store, Base, HighestIndex),
        // VLEIB to VMX.
        0xE740..=0xE7FF => Nothing,
        _ => return None,
    })
}

/// ED: floating point with an operand in storage.
pub(super) const fn floating(opcode: u16) -> Option<Sort> {
    use Sort::*;
    Some(match opcode & 0xFF {
        // LDEB, LXEB, KEB to MSEB, SQEB, MEEB; LDE, LXE, MAE, MSE, SQE, MEE.
        0x04 | 0x06 | 0x08..=0x0F | 0x14 | 0x17 | 0x24 | 0x26 | 0x2E | 0x2F | 0x34 | 0x37 => {
            One(Fetch, Indexed, Bytes(4))
        }
        // LXDB, MXDB, SQDB, KDB to MSDB; LXD, SQD, MAYL to MSD.
        0x05 | 0x07 | 0x15 | 0x18..=0x1F | 0x25 | 0x35 | 0x38..=0x3F => {
            One(Fetch, Indexed, Bytes(8))
        }
        // TCEB, TCDB, TCXB; SLDT, SRDT, SLXT, SRXT; TDCET to TDGXT.
        0x10..=0x12 | 0x40 | 0x41 | 0x48 | 0x49 | 0x50..=0x59 => Nothing,
        // LEY, LDY; STEY, STDY.
        0x64 => One(Fetch, IndexedLong, Bytes(4)),
        0x65 => One(Fetch, IndexedLong, Bytes(8)),
        0x66 => One(Store, IndexedLong, Bytes(4)),
        0x67 => One(Store, IndexedLong, Bytes(8)),
        // CZDT, CZXT, CPDT, CPXT; CDZT, CXZT, CDPT, CXPT.
        0xA8 | 0xA9 | 0xAC | 0xAD => One(Store, Base, Length),
        0xAA | 0xAB | 0xAE | 0xAF => One(Fetch, Base, Length),
        _ => return None,
    })
}
