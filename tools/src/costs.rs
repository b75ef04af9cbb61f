//! What traps cost: the names of their causes, and the budgets of the machine's paths.

pub mod paths;

use link::tally::Cause;

/// Entry, stamps, pending test and exit, which the guest cannot see separately.
pub const TRAP: (&str, u64) = ("trap", 72);

/// Path budgets in instructions, DAT on and warm.
pub const BUDGETS: [(&str, u64); 24] = [
    ("trap-decode", 145),
    ("ssm", 150),
    ("stnsm", 150),
    ("stosm", 160),
    ("stpt", 160),
    ("lpp", 150),
    ("ecctr", 160),
    ("lpswe", 175),
    ("lctlg-1", 150),
    ("svc", 135),
    ("sigp-sense", 140),
    ("stfl", 150),
    ("mvpg", 540),
    ("stsi-1.1.1", 930),
    ("diagnose-44", 920),
    // Program interruptions of the guest: an operation that is not assigned, an operand that the machine refuses, and what
    // the hardware refuses.
    ("illegal", 581),
    ("specification", 435),
    ("reflected", 285),
    ("monitor-call", 190),
    ("sample", 250),
    ("sample-1m", 250),
    ("sample-combined", 450),
    ("sample-combined-1m", 450),
    // Six counters: 300, and 12 for each.
    ("stcctm-6", 372),
];

/// The paths of a fault: of a page without neighbours, and the mean of pages side by side. They stand apart because the others
/// are those of instructions.
pub const SHADOW_FILLS: [(&str, u64); 2] = [("shadow-fill", 700), ("shadow-fill-near", 140)];

/// The external interruption by which a machine samples.
const CLOCK_COMPARATOR: u16 = 0x1004;

/// Which of the paths of a cause its budget is for: the shortest, which is the usual one with everything at hand. By the
/// clock comparator a machine also ends a turn, in a shorter path than that of a sample. There it is the mean.
pub fn to_compare(cause: Option<Cause>, shortest: u64, mean: u64) -> u64 {
    match cause {
        Some(Cause::External) => mean,
        _ => shortest,
    }
}

/// The path that a machine takes for an interruption of this cause, and its budget. An instruction has several paths; the
/// budget is that of its usual one.
pub fn budget(cause: Option<Cause>, number: u16) -> Option<(&'static str, u64)> {
    let name = match (cause?, number) {
        (Cause::Instruction, 0xB212) => "trap-decode",
        (Cause::Instruction, 0x8000) => "ssm",
        (Cause::Instruction, 0xAC00) => "stnsm",
        (Cause::Instruction, 0xAD00) => "stosm",
        (Cause::Instruction, 0xB209) => "stpt",
        (Cause::Instruction, 0xB280) => "lpp",
        (Cause::Instruction, 0xB2E4) => "ecctr",
        (Cause::Instruction, 0xB2B2) => "lpswe",
        (Cause::Instruction, 0xEB2F) => "lctlg-1",
        (Cause::Instruction, 0xAE00) => "sigp-sense",
        (Cause::Instruction, 0xB2B1) => "stfl",
        (Cause::Instruction, 0xB254) => "mvpg",
        (Cause::Instruction, 0xB27D) => "stsi-1.1.1",
        (Cause::Instruction, 0x8300) => "diagnose-44",
        (Cause::Instruction, 0xEB17) => "stcctm-6",
        (Cause::SupervisorCall, _) => "svc",
        // A page translation. A segment translation takes longer, because a page table is to be made.
        (Cause::Program, 0x11) => SHADOW_FILLS[0].0,
        (Cause::Program, 0x40) => "monitor-call",
        // The machine takes nothing else from the hardware but to reflect it.
        (Cause::Program, 0x06) => "reflected",
        (Cause::External, CLOCK_COMPARATOR) => "sample",
        _ => return None,
    };
    let known = BUDGETS.iter().chain([&TRAP]).chain(&SHADOW_FILLS);
    known.copied().find(|(known, _)| *known == name)
}

/// A cause in words: for an instruction its name if the machine knows it, else its operation code.
pub fn cause(cause: Option<Cause>, number: u16) -> String {
    match cause {
        Some(Cause::Instruction) => mnemonic(number),
        Some(Cause::Program) => format!("(program interruption {number:04X})"),
        Some(Cause::SupervisorCall) => "SVC".to_owned(),
        Some(Cause::External) => format!("(external interruption {number:04X})"),
        Some(Cause::InputOutput) => "(I/O interruption)".to_owned(),
        Some(Cause::Other) | None => "(other)".to_owned(),
    }
}

/// The name of the instruction with this operation code.
fn mnemonic(opcode: u16) -> String {
    let [first, rest] = opcode.to_be_bytes();
    // The second part of an operation code is in one of these two bytes; the other belongs to an operand.
    for text in [[first, rest, 0, 0, 0, 0], [first, 0, 0, 0, 0, rest]] {
        let name = insn::decode(&text).mnemonic();
        if insn::opcode(&text) == opcode && !name.is_empty() {
            return name.to_owned();
        }
    }
    format!("{opcode:04X}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn causes_have_the_names_of_the_manual() {
        let instruction = |number| cause(Some(Cause::Instruction), number);
        assert_eq!(instruction(0xB2B2), "LPSWE");
        assert_eq!(instruction(0xEB2F), "LCTLG");
        assert_eq!(instruction(0xAC00), "STNSM");
        assert_eq!(instruction(0xFF00), "FF00");
        assert_eq!(
            cause(Some(Cause::Program), 0x10),
            "(program interruption 0010)"
        );
        assert_eq!(cause(None, 0), "(other)");
    }

    #[test]
    fn every_cause_with_a_path_has_the_budget_of_that_path() {
        let mut with_budget = 0;
        for cause in [1, 2, 3, 4].map(Cause::from_number) {
            for number in 0..=u16::MAX {
                if cause == Some(Cause::SupervisorCall) && number != 0 {
                    continue;
                }
                with_budget += u32::from(budget(cause, number).is_some());
            }
        }
        assert_eq!(with_budget, 15 + 1 + 3 + 1);
        let lpswe = budget(Some(Cause::Instruction), 0xB2B2);
        assert_eq!(lpswe.map(|(name, _)| name), Some("lpswe"));
        assert_eq!(budget(None, 0xB2B2), None);
    }
}
