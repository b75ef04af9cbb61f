//! The instructions that the firmware may have to perform, and how their text is laid out.
//!
//! The table below is the whole decoder: opcode, name, mnemonic, format, the fields in the order in
//! which assembler language writes them, and the manual's name. An assigned instruction that is not in
//! it runs below without the firmware, or is absent there; in either case the firmware only reflects
//! what happened.
//!
//! Opcodes are written as [`opcode`] normalizes them, so that one `match` finds any instruction.

use core::fmt;

use super::format;
use super::opcodes::{assigned, opcode};
use super::operand::{Operand, RelativeOffset};

/// The type of a field, by its name.
macro_rules! field_type {
    (first) => {
        Operand
    };
    (second) => {
        Operand
    };
    (ri2) => {
        RelativeOffset
    };
    ($other:ident) => {
        u8
    };
}

macro_rules! instructions {
    ($($opcode:literal $name:ident $mnemonic:literal $format:ident ($($field:ident),*) $title:literal;)*) => {
        /// One instruction, with its operands as the text designates them.
        ///
        /// Fields are the manual's: `r1`, `r2` and `r3` number registers, `m3` and `m4` are masks of
        /// four bits, `l` is a length code, `i` and `i2` are immediate bytes, `first` and `second` the storage operands.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[allow(missing_docs, reason = "the fields are described above, once")]
        pub enum Instruction {
            $(#[doc = $title] $name { $($field: field_type!($field)),* },)*
            /// Assigned in z/Architecture, and never performed by the firmware.
            Other { opcode: u16 },
            /// Not an instruction of z/Architecture.
            Unassigned { opcode: u16 },
        }

        /// Decodes an instruction. The bytes after the end of a shorter one do not matter.
        #[must_use]
        pub fn decode(text: &[u8; 6]) -> Instruction {
            let opcode = opcode(text);
            match decode_listed(text) {
                Some(instruction) => instruction,
                None if assigned(text) => Instruction::Other { opcode },
                None => Instruction::Unassigned { opcode },
            }
        }

        /// Decodes an instruction that the firmware may have to perform; gives `None` for others. It is inlined into the
        /// `match` on its result, so that the opcode selects the routine.
        #[must_use]
        #[inline(always)]
        pub const fn decode_listed(text: &[u8; 6]) -> Option<Instruction> {
            Some(match opcode(text) {
                $($opcode => Instruction::$name { $($field: format::$format::$field(text)),* },)*
                _ => return None,
            })
        }

        impl Instruction {
            /// The opcode, as [`opcode`] normalizes it.
            #[must_use]
            pub const fn opcode(&self) -> u16 {
                match *self {
                    $(Self::$name { .. } => $opcode,)*
                    Self::Other { opcode } | Self::Unassigned { opcode } => opcode,
                }
            }

            /// The mnemonic of assembler language; empty for an instruction that is not in the table.
            #[must_use]
            pub const fn mnemonic(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $mnemonic,)*
                    Self::Other { .. } | Self::Unassigned { .. } => "",
                }
            }

            /// The instruction's name in the manuals.
            #[must_use]
            pub const fn title(&self) -> &'static str {
                match self {
                    $(Self::$name { .. } => $title,)*
                    Self::Other { .. } => "an instruction that the firmware does not perform",
                    Self::Unassigned { .. } => "an unassigned operation code",
                }
            }
        }

        /// As assembler language writes it: `ECCTR 1,2`, `LCCTL 0x10(3)`; an opcode without a name
        /// as `opcode B9F3`.
        impl fmt::Display for Instruction {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                match self {
                    $(Self::$name { $($field),* } => {
                        let operands: &[&dyn fmt::Display] = &[$($field),*];
                        write_text(f, $mnemonic, operands)
                    })*
                    Self::Other { opcode } | Self::Unassigned { opcode } => write!(f, "opcode {opcode:04X}"),
                }
            }
        }

        /// Every opcode in the table, for the tests.
        #[cfg(test)]
        pub(super) const TABLE: &[(u16, &str)] = &[$(($opcode, $mnemonic)),*];
    };
}

fn write_text(
    f: &mut fmt::Formatter<'_>,
    mnemonic: &str,
    operands: &[&dyn fmt::Display],
) -> fmt::Result {
    f.write_str(mnemonic)?;
    for (index, operand) in operands.iter().enumerate() {
        write!(f, "{}{operand}", if index == 0 { ' ' } else { ',' })?;
    }
    Ok(())
}

instructions! {
    // The opcode is byte 0.
    0x0A00 Svc "SVC" i(i) "SUPERVISOR CALL";
    0x4400 Ex "EX" rx(r1, second) "EXECUTE";
    0x4F00 Cvb "CVB" rx(r1, second) "CONVERT TO BINARY (32)";
    0x8000 Ssm "SSM" s(second) "SET SYSTEM MASK";
    0x8200 Lpsw "LPSW" s(second) "LOAD PSW";
    0x8300 Diag "DIAG" rs(r1, r3, second) "DIAGNOSE";
    0x9900 Trace "TRACE" rs(r1, r3, second) "TRACE (32)";
    0xAC00 Stnsm "STNSM" si(first, i2) "STORE THEN AND SYSTEM MASK";
    0xAD00 Stosm "STOSM" si(first, i2) "STORE THEN OR SYSTEM MASK";
    0xAE00 Sigp "SIGP" rs(r1, r3, second) "SIGNAL PROCESSOR";
    0xAF00 Mc "MC" si(first, i2) "MONITOR CALL";
    0xB100 Lra "LRA" rx(r1, second) "LOAD REAL ADDRESS (32)";
    0xB600 Stctl "STCTL" rs(r1, r3, second) "STORE CONTROL (32)";
    0xB700 Lctl "LCTL" rs(r1, r3, second) "LOAD CONTROL (32)";
    0xD200 Mvc "MVC" ss_a(l, first, second) "MOVE (CHARACTER)";
    0xD700 Xc "XC" ss_a(l, first, second) "EXCLUSIVE OR (CHARACTER)";
    0xD900 Mvck "MVCK" ss(r1, first, second, r3) "MOVE WITH KEY";
    0xDA00 Mvcp "MVCP" ss(r1, first, second, r3) "MOVE TO PRIMARY";
    0xDB00 Mvcs "MVCS" ss(r1, first, second, r3) "MOVE TO SECONDARY";
    // Bits 0-7 and 12-15.
    0xC600 Exrl "EXRL" ril(r1, ri2) "EXECUTE RELATIVE LONG";
    0xC800 Mvcos "MVCOS" ssf(first, second, r3) "MOVE WITH OPTIONAL SPECIFICATIONS";
    // The first halfword.
    0x0101 Pr "PR" none() "PROGRAM RETURN";
    0x0104 Ptff "PTFF" none() "PERFORM TIMING FACILITY FUNCTION";
    0x0107 Sckpf "SCKPF" none() "SET CLOCK PROGRAMMABLE FIELD";
    0x01FF Trap2 "TRAP2" none() "TRAP";
    0xB200 Lbear "LBEAR" s(second) "LOAD BEAR";
    0xB201 Stbear "STBEAR" s(second) "STORE BEAR";
    0xB202 Stidp "STIDP" s(second) "STORE CPU ID";
    0xB204 Sck "SCK" s(second) "SET CLOCK";
    0xB205 Stck "STCK" s(second) "STORE CLOCK";
    0xB206 Sckc "SCKC" s(second) "SET CLOCK COMPARATOR";
    0xB207 Stckc "STCKC" s(second) "STORE CLOCK COMPARATOR";
    0xB208 Spt "SPT" s(second) "SET CPU TIMER";
    0xB209 Stpt "STPT" s(second) "STORE CPU TIMER";
    0xB20A Spka "SPKA" s(second) "SET PSW KEY FROM ADDRESS";
    0xB20B Ipk "IPK" none() "INSERT PSW KEY";
    0xB20D Ptlb "PTLB" none() "PURGE TLB";
    0xB210 Spx "SPX" s(second) "SET PREFIX";
    0xB211 Stpx "STPX" s(second) "STORE PREFIX";
    0xB212 Stap "STAP" s(second) "STORE CPU ADDRESS";
    0xB214 Sie "SIE" s(second) "START INTERPRETIVE EXECUTION";
    0xB218 Pc "PC" s(second) "PROGRAM CALL";
    0xB219 Sac "SAC" s(second) "SET ADDRESS SPACE CONTROL";
    0xB220 Servc "SERVC" rre(r1, r2) "SERVICE CALL";
    0xB221 Ipte "IPTE" rrf(r1, r2, r3, m4) "INVALIDATE PAGE TABLE ENTRY";
    0xB223 Ivsk "IVSK" rre(r1, r2) "INSERT VIRTUAL STORAGE KEY";
    0xB224 Iac "IAC" rre(r1) "INSERT ADDRESS SPACE CONTROL";
    0xB225 Ssar "SSAR" rre(r1) "SET SECONDARY ASN";
    0xB226 Epar "EPAR" rre(r1) "EXTRACT PRIMARY ASN";
    0xB227 Esar "ESAR" rre(r1) "EXTRACT SECONDARY ASN";
    0xB228 Pt "PT" rre(r1, r2) "PROGRAM TRANSFER";
    0xB229 Iske "ISKE" rre(r1, r2) "INSERT STORAGE KEY EXTENDED";
    0xB22A Rrbe "RRBE" rre(r1, r2) "RESET REFERENCE BIT EXTENDED";
    0xB22B Sske "SSKE" rrf(r1, r2, m3) "SET STORAGE KEY EXTENDED";
    0xB22C Tb "TB" rre(r1, r2) "TEST BLOCK";
    0xB22E Pgin "PGIN" rre(r1, r2) "PAGE IN";
    0xB22F Pgout "PGOUT" rre(r1, r2) "PAGE OUT";
    0xB230 Csch "CSCH" none() "CLEAR SUBCHANNEL";
    0xB231 Hsch "HSCH" none() "HALT SUBCHANNEL";
    0xB232 Msch "MSCH" s(second) "MODIFY SUBCHANNEL";
    0xB233 Ssch "SSCH" s(second) "START SUBCHANNEL";
    0xB234 Stsch "STSCH" s(second) "STORE SUBCHANNEL";
    0xB235 Tsch "TSCH" s(second) "TEST SUBCHANNEL";
    0xB236 Tpi "TPI" s(second) "TEST PENDING INTERRUPTION";
    0xB237 Sal "SAL" none() "SET ADDRESS LIMIT";
    0xB238 Rsch "RSCH" none() "RESUME SUBCHANNEL";
    0xB239 Stcrw "STCRW" s(second) "STORE CHANNEL REPORT WORD";
    0xB23A Stcps "STCPS" s(second) "STORE CHANNEL PATH STATUS";
    0xB23B Rchp "RCHP" none() "RESET CHANNEL PATH";
    0xB23C Schm "SCHM" none() "SET CHANNEL MONITOR";
    0xB240 Bakr "BAKR" rre(r1, r2) "BRANCH AND STACK";
    0xB246 Stura "STURA" rre(r1, r2) "STORE USING REAL ADDRESS (32)";
    0xB247 Msta "MSTA" rre(r1) "MODIFY STACKED STATE";
    0xB248 Palb "PALB" none() "PURGE ALB";
    0xB249 Ereg "EREG" rre(r1, r2) "EXTRACT STACKED REGISTERS (32)";
    0xB24A Esta "ESTA" rre(r1, r2) "EXTRACT STACKED STATE";
    0xB24B Lura "LURA" rre(r1, r2) "LOAD USING REAL ADDRESS (32)";
    0xB24C Tar "TAR" rre(r1, r2) "TEST ACCESS";
    0xB250 Csp "CSP" rre(r1, r2) "COMPARE AND SWAP AND PURGE (32)";
    0xB254 Mvpg "MVPG" rre(r1, r2) "MOVE PAGE";
    0xB256 Sthyi "STHYI" rre(r1, r2) "STORE HYPERVISOR INFORMATION";
    0xB258 Bsg "BSG" rre(r1, r2) "BRANCH IN SUBSPACE GROUP";
    0xB25A Bsa "BSA" rre(r1, r2) "BRANCH AND SET AUTHORITY";
    0xB25F Chsc "CHSC" rre(r1) "CHANNEL SUBSYSTEM CALL";
    0xB274 Siga "SIGA" s(second) "SIGNAL ADAPTER";
    0xB276 Xsch "XSCH" none() "CANCEL SUBCHANNEL";
    0xB277 Rp "RP" s(second) "RESUME PROGRAM";
    0xB278 Stcke "STCKE" s(second) "STORE CLOCK EXTENDED";
    0xB279 Sacf "SACF" s(second) "SET ADDRESS SPACE CONTROL FAST";
    0xB27C Stckf "STCKF" s(second) "STORE CLOCK FAST";
    0xB27D Stsi "STSI" s(second) "STORE SYSTEM INFORMATION";
    0xB280 Lpp "LPP" s(second) "LOAD PROGRAM PARAMETER";
    0xB284 Lcctl "LCCTL" s(second) "LOAD CPU-COUNTER-SET CONTROLS";
    0xB285 Lpctl "LPCTL" s(second) "LOAD PERIPHERAL-COUNTER-SET CONTROLS";
    0xB286 Qsi "QSI" s(second) "QUERY SAMPLING INFORMATION";
    0xB287 Lsctl "LSCTL" s(second) "LOAD SAMPLING CONTROLS";
    0xB28E Qctri "QCTRI" s(second) "QUERY COUNTER INFORMATION";
    0xB28F Qpaci "QPACI" s(second) "QUERY PROCESSOR ACTIVITY COUNTER INFORMATION";
    0xB2AD Nqap "NQAP" rre(r1, r2) "ENQUEUE ADJUNCT PROCESSOR MESSAGE";
    0xB2AE Dqap "DQAP" rre(r1, r2) "DEQUEUE ADJUNCT PROCESSOR MESSAGE";
    0xB2AF Pqap "PQAP" none() "PROCESS ADJUNCT PROCESSOR QUEUE";
    0xB2B0 Stfle "STFLE" s(second) "STORE FACILITY LIST EXTENDED";
    0xB2B1 Stfl "STFL" s(second) "STORE FACILITY LIST";
    0xB2B2 Lpswe "LPSWE" s(second) "LOAD PSW EXTENDED";
    0xB2E0 Scctr "SCCTR" rre(r1, r2) "SET CPU COUNTER";
    0xB2E1 Spctr "SPCTR" rre(r1, r2) "SET PERIPHERAL COUNTER";
    0xB2E4 Ecctr "ECCTR" rre(r1, r2) "EXTRACT CPU COUNTER";
    0xB2E5 Epctr "EPCTR" rre(r1, r2) "EXTRACT PERIPHERAL COUNTER";
    0xB2ED Ecpga "ECPGA" rre(r1, r2) "EXTRACT COPROCESSOR-GROUP ADDRESS";
    0xB2F0 Iucv "IUCV" rre(r1, r2) "INTER-USER COMMUNICATION VEHICLE";
    0xB2FF Trap4 "TRAP4" s(second) "TRAP";
    0xB905 Lurag "LURAG" rre(r1, r2) "LOAD USING REAL ADDRESS (64)";
    0xB90E Eregg "EREGG" rre(r1, r2) "EXTRACT STACKED REGISTERS (64)";
    0xB91E Kmac "KMAC" rre(r1, r2) "COMPUTE MESSAGE AUTHENTICATION CODE";
    0xB925 Sturg "STURG" rre(r1, r2) "STORE USING REAL ADDRESS (64)";
    0xB928 Pckmo "PCKMO" none() "PERFORM CRYPTOGRAPHIC KEY MANAGEMENT OPERATIONS";
    0xB929 Kma "KMA" rrf(r1, r3, r2) "CIPHER MESSAGE WITH AUTHENTICATION";
    0xB92A Kmf "KMF" rre(r1, r2) "CIPHER MESSAGE WITH CIPHER FEEDBACK";
    0xB92B Kmo "KMO" rre(r1, r2) "CIPHER MESSAGE WITH OUTPUT FEEDBACK";
    0xB92C Pcc "PCC" none() "PERFORM CRYPTOGRAPHIC COMPUTATION";
    0xB92D Kmctr "KMCTR" rrf(r1, r3, r2) "CIPHER MESSAGE WITH COUNTER";
    0xB92E Km "KM" rre(r1, r2) "CIPHER MESSAGE";
    0xB92F Kmc "KMC" rre(r1, r2) "CIPHER MESSAGE WITH CHAINING";
    0xB938 Sortl "SORTL" rre(r1, r2) "SORT LISTS";
    0xB939 Dfltcc "DFLTCC" rrf(r1, r2, r3) "DEFLATE CONVERSION CALL";
    0xB93A Kdsa "KDSA" rre(r1, r2) "COMPUTE DIGITAL SIGNATURE AUTHENTICATION";
    0xB93C Prno "PRNO" rre(r1, r2) "PERFORM RANDOM NUMBER OPERATION";
    0xB93E Kimd "KIMD" rre(r1, r2) "COMPUTE INTERMEDIATE MESSAGE DIGEST";
    0xB93F Klmd "KLMD" rre(r1, r2) "COMPUTE LAST MESSAGE DIGEST";
    0xB98A Cspg "CSPG" rre(r1, r2) "COMPARE AND SWAP AND PURGE (64)";
    0xB98B Rdp "RDP" rrf(r1, r3, r2, m4) "RESET DAT PROTECTION";
    0xB98D Epsw "EPSW" rre(r1, r2) "EXTRACT PSW";
    0xB98E Idte "IDTE" rrf(r1, r3, r2, m4) "INVALIDATE DAT TABLE ENTRY";
    0xB98F Crdte "CRDTE" rrf(r1, r3, r2, m4) "COMPARE AND REPLACE DAT TABLE ENTRY";
    0xB99A Epair "EPAIR" rre(r1) "EXTRACT PRIMARY ASN AND INSTANCE";
    0xB99B Esair "ESAIR" rre(r1) "EXTRACT SECONDARY ASN AND INSTANCE";
    0xB99D Esea "ESEA" rre(r1) "EXTRACT AND SET EXTENDED AUTHORITY";
    0xB99E Pti "PTI" rre(r1, r2) "PROGRAM TRANSFER WITH INSTANCE";
    0xB99F Ssair "SSAIR" rre(r1) "SET SECONDARY ASN WITH INSTANCE";
    0xB9A0 Clp "CLP" rrf(r1, r2, m3) "CALL LOGICAL PROCESSOR";
    0xB9A1 Tpei "TPEI" rre(r1, r2) "TEST PENDING EXTERNAL INTERRUPTION";
    0xB9A2 Ptf "PTF" rre(r1) "PERFORM TOPOLOGY FUNCTION";
    0xB9A4 Uvc "UVC" rrf(r1, r2, m3) "ULTRAVISOR CALL";
    0xB9AA Lptea "LPTEA" rrf(r1, r3, r2, m4) "LOAD PAGE TABLE ENTRY ADDRESS";
    0xB9AB Essa "ESSA" rrf(r1, r2, m3) "EXTRACT AND SET STORAGE ATTRIBUTES";
    0xB9AC Irbm "IRBM" rre(r1, r2) "INSERT REFERENCE BITS MULTIPLE";
    0xB9AE Rrbm "RRBM" rre(r1, r2) "RESET REFERENCE BITS MULTIPLE";
    0xB9AF Pfmf "PFMF" rre(r1, r2) "PERFORM FRAME MANAGEMENT FUNCTION";
    0xB9D0 Pcistg "PCISTG" rre(r1, r2) "PCI STORE";
    0xB9D2 Pcilg "PCILG" rre(r1, r2) "PCI LOAD";
    0xB9D3 Rpcit "RPCIT" rre(r1, r2) "REFRESH PCI TRANSLATIONS";
    0xB9D4 Pcistgi "PCISTGI" rre(r1, r2) "PCI STORE BY MAPPED ADDRESS";
    0xB9D5 Pciwb "PCIWB" none() "PCI WRITE BARRIER";
    0xB9D6 Pcilgi "PCILGI" rre(r1, r2) "PCI LOAD BY MAPPED ADDRESS";
    0xE500 Lasp "LASP" sse(first, second) "LOAD ADDRESS SPACE PARAMETERS";
    0xE501 Tprot "TPROT" sse(first, second) "TEST PROTECTION";
    0xE502 Strag "STRAG" sse(first, second) "STORE REAL ADDRESS (64)";
    0xE50E Mvcsk "MVCSK" sse(first, second) "MOVE WITH SOURCE KEY";
    0xE50F Mvcdk "MVCDK" sse(first, second) "MOVE WITH DESTINATION KEY";
    // The first and the last byte.
    0xE303 Lrag "LRAG" rxy(r1, second) "LOAD REAL ADDRESS (64)";
    0xE306 Cvby "CVBY" rxy(r1, second) "CONVERT TO BINARY (32), long displacement";
    0xE30E Cvbg "CVBG" rxy(r1, second) "CONVERT TO BINARY (64)";
    0xE313 Lray "LRAY" rxy(r1, second) "LOAD REAL ADDRESS (32), long displacement";
    0xE32E Cvdg "CVDG" rxy(r1, second) "CONVERT TO DECIMAL (64)";
    0xE348 Llgfsg "LLGFSG" rxy(r1, second) "LOAD LOGICAL AND SHIFT GUARDED";
    0xE349 Stgsc "STGSC" rxy(r1, second) "STORE GUARDED STORAGE CONTROLS";
    0xE34C Lgg "LGG" rxy(r1, second) "LOAD GUARDED";
    0xE34D Lgsc "LGSC" rxy(r1, second) "LOAD GUARDED STORAGE CONTROLS";
    0xE3D0 Mpcifc "MPCIFC" rxy(r1, second) "MODIFY PCI FUNCTION CONTROLS";
    0xE3D4 Stpcifc "STPCIFC" rxy(r1, second) "STORE PCI FUNCTION CONTROLS";
    0xEB0F Tracg "TRACG" rsy(r1, r3, second) "TRACE (64)";
    0xEB17 Stcctm "STCCTM" rsy(r1, m3, second) "STORE CPU COUNTER MULTIPLE";
    0xEB25 Stctg "STCTG" rsy(r1, r3, second) "STORE CONTROL (64)";
    0xEB2F Lctlg "LCTLG" rsy(r1, r3, second) "LOAD CONTROL (64)";
    0xEB71 Lpswey "LPSWEY" siy(first) "LOAD PSW EXTENDED, long displacement";
    0xEBD0 Pcistb "PCISTB" rsy(r1, r3, second) "PCI STORE BLOCK";
    0xEBD1 Sic "SIC" rsy(r1, r3, second) "SET INTERRUPTION CONTROLS";
    0xEBD4 Pcistbi "PCISTBI" rsy(r1, r3, second) "PCI STORE BLOCK BY MAPPED ADDRESS";
}

/// Decodes the instructions that a control program issues all the time; gives `None` for others, which
/// [`decode`] decodes. It is inlined into the `match` on its result, so that the opcode selects the
/// routine without the whole opcode map in between.
#[inline(always)]
#[must_use]
pub fn decode_common(text: &[u8; 6]) -> Option<Instruction> {
    Some(match (text[0], text[1]) {
        (0x80, _) => Instruction::Ssm {
            second: format::s::second(text),
        },
        (0xAC, i2) => Instruction::Stnsm {
            first: format::si::first(text),
            i2,
        },
        (0xAD, i2) => Instruction::Stosm {
            first: format::si::first(text),
            i2,
        },
        (0xAE, _) => Instruction::Sigp {
            r1: text[1] >> 4,
            r3: text[1] & 15,
            second: format::rs::second(text),
        },
        (0xB2, 0x09) => Instruction::Stpt {
            second: format::s::second(text),
        },
        (0xB2, 0x12) => Instruction::Stap {
            second: format::s::second(text),
        },
        (0xB2, 0x80) => Instruction::Lpp {
            second: format::s::second(text),
        },
        (0xB2, 0xB1) => Instruction::Stfl {
            second: format::s::second(text),
        },
        (0xB2, 0xB2) => Instruction::Lpswe {
            second: format::s::second(text),
        },
        (0xB2, 0xE4) => Instruction::Ecctr {
            r1: text[3] >> 4,
            r2: text[3] & 15,
        },
        (0xEB, _) if text[5] == 0x17 => Instruction::Stcctm {
            r1: text[1] >> 4,
            m3: text[1] & 15,
            second: format::rsy::second(text),
        },
        (0xEB, _) if text[5] == 0x2F => Instruction::Lctlg {
            r1: text[1] >> 4,
            r3: text[1] & 15,
            second: format::rsy::second(text),
        },
        _ => return None,
    })
}

/// Decodes MOVE WITH OPTIONAL SPECIFICATIONS, by which a control program reaches the operands of a supervisor call.
#[inline]
#[must_use]
pub const fn decode_move(text: &[u8; 6]) -> Option<Instruction> {
    if text[0] != 0xC8 || text[1] & 15 != 0 {
        return None;
    }
    Some(Instruction::Mvcos {
        first: format::ssf::first(text),
        second: format::ssf::second(text),
        r3: format::ssf::r3(text),
    })
}

/// Decodes the instructions by which a control program changes its own text, and their like. It issues them as often as
/// [`decode_common`]'s, but seldom.
#[inline]
#[must_use]
pub fn decode_real(text: &[u8; 6]) -> Option<Instruction> {
    Some(match (text[0], text[1]) {
        (0xB1, _) => Instruction::Lra {
            r1: text[1] >> 4,
            second: format::rx::second(text),
        },
        (0xB9, 0x25) => Instruction::Sturg {
            r1: text[3] >> 4,
            r2: text[3] & 15,
        },
        (0xE3, _) if text[5] == 0x03 => Instruction::Lrag {
            r1: text[1] >> 4,
            second: format::rxy::second(text),
        },
        _ => return None,
    })
}
