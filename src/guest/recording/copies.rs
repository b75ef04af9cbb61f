//! The guest executes copies of its text, in which the machine replaces instructions at which it is to stop.
//!
//! Where the guest stops, and what is done there, is the business of [`counts`](super::counts) and of the
//! [traces of a window](super::per::window). Any other trap comes as in a run without copies, and is handled as there. The CPU,
//! its account and its shadow are those of that run and nothing here changes them, but for general registers that a branch
//! alters; the caller sets the clock back by what all this takes.
//!
//! The copies and their tables are in [`copied`].

use crate::hardware::Hardware;
use crate::state::account::Mode;
use crate::state::configuration::Configuration;
use crate::state::copies::{CopiedPage, Copies, CopiesArea};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::{copied, has_single_table};
use arch::address::{PAGE, Virtual};
use arch::facility::MISCELLANEOUS_EXTENSIONS_2;
use arch::interruption::Class;
use arch::psw::{ADDRESS_SPACE, ADDRESSING_64, EXTERNAL, IO, Psw, SECONDARY_SPACE};
use arch::table::{TEID_ADDRESS, TEID_SPACE};
use insn::branch::{Site, Target, branch};
use insn::executed::is_execute;
use insn::{length, modified_target, sensitive};
use link::loader::COUNTING_STORAGE;

const _: () = assert!(CopiesArea::LENGTH <= COUNTING_STORAGE);

/// A program interruption.
#[derive(Clone, Copy, Debug)]
pub struct Interrupted {
    /// The old PSW.
    pub old: Psw,
    /// Instruction-length code and code, as the hardware has stored them.
    pub identification: u32,
    /// The translation-exception identification.
    pub translation: u64,
}

impl Interrupted {
    pub(super) const fn code(&self) -> u16 {
        self.identification as u16
    }

    pub(super) const fn length(&self) -> u64 {
        (self.identification >> 16 & 7) as u64
    }
}

/// A page of instructions, and the next one, into which an instruction may extend, if it can be fetched.
#[derive(Clone, Copy, Debug)]
pub(super) struct Text<'p> {
    /// The page.
    pub page: &'p CopiedPage,
    /// The next one.
    pub behind: Option<&'p CopiedPage>,
}

impl Text<'_> {
    /// The instruction at an offset of the page, and zeros for what cannot be fetched.
    pub fn at<H: Hardware>(self, hardware: &H, offset: u64) -> [u8; 6] {
        let source = self.page.source;
        let first = copied::load(hardware, source, offset & !7);
        let second = if offset & !7 == PAGE - 8 {
            self.behind
                .map_or(0, |page| copied::load(hardware, page.source, 0))
        } else if offset & 7 > 2 {
            copied::load(hardware, source, (offset & !7) + 8)
        } else {
            0
        };
        let both = (u128::from(first) << 64 | u128::from(second)) << (8 * (offset & 7));
        let [a, b, c, d, e, f, ..] = both.to_be_bytes();
        let mut text = [a, b, c, d, e, f];
        text[length(a)..].fill(0);
        text
    }
}

/// The hardware is to try to fetch the next instruction, and nothing else is to interrupt meanwhile. Returns the PSW for that.
pub(super) fn look(copies: &mut Copies, old: Psw) -> Psw {
    const TIMERS: u64 = EXTERNAL | IO;
    copies.looks = Some(old.mask & TIMERS);
    Psw {
        mask: old.mask & !TIMERS,
        ..old
    }
}

/// The old PSW of a program interruption: after a look, with what that had closed.
pub fn seen(copies: &mut Copies, old: Psw) -> Psw {
    Psw {
        mask: old.mask | copies.looks.take().unwrap_or(0),
        ..old
    }
}

/// What the hardware stores for a program interruption in a run without copies, in which it has another space for
/// instructions.
#[must_use]
pub fn as_without<H: Hardware>(cpu: &Vcpu, hardware: &H, interrupted: &Interrupted) -> Interrupted {
    let mut without = Interrupted {
        old: as_first_run(cpu, interrupted.old),
        ..*interrupted
    };
    if is_missing(interrupted.code()) && interrupted.translation & TEID_SPACE == 0 {
        let at = Virtual(interrupted.translation & TEID_ADDRESS);
        let code = copied::missing(hardware, spaces(cpu).0, at).code();
        without.identification = interrupted.identification & !0xFFFF | u32::from(code);
    }
    if has_translation(interrupted.code()) && has_single_table(cpu) {
        without.translation |= TEID_SPACE;
    }
    without
}

/// An access exception has shown that a translation is missing. If it is one of a page of instructions that the copies do not have
/// and the run without them has, maps the page, and returns the PSW at which the guest goes on, and the overhead.
pub(super) fn missed<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    copies: &mut Copies,
    interrupted: &Interrupted,
) -> Option<(Psw, u64)> {
    let at = missed_instruction(interrupted)?;
    let (of, _) = spaces(cpu);
    if copied::is_mapped(hardware, copies, of, at) {
        return None;
    }
    copied::page(configuration, hardware, copies, of, at)?;
    let overhead = overhead_of_missed(cpu, configuration, hardware, copies, interrupted, at);
    // To map it may have made room, and the space may be another one.
    let own = copied::space(hardware, copies, of);
    Some((load(cpu, hardware, copies, own, interrupted.old), overhead))
}

/// The page of the instruction, or of the target of an EXECUTE, whose translation is missing by an access exception.
pub(super) fn missed_instruction(interrupted: &Interrupted) -> Option<Virtual> {
    // The instructions are in the primary space.
    let is_instruction = interrupted.translation & TEID_SPACE == 0;
    (is_missing(interrupted.code()) && is_instruction)
        .then_some(Virtual(interrupted.translation & TEID_ADDRESS))
}

/// The overhead of an access exception that has shown that the page of an instruction is missing.
pub(super) fn overhead_of_missed<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    copies: &mut Copies,
    interrupted: &Interrupted,
    at: Virtual,
) -> u64 {
    let mut charged = configuration.charges.of(interrupted.code()) as u64;
    let old = cpu.interrupted_psw(interrupted.old);
    if at != Virtual(old.address).page() {
        let (of, _) = spaces(cpu);
        let mask = old.address_mask();
        let text = fetch(configuration, hardware, copies, of, mask, old.address);
        if text.is_some_and(|text| has_target_in(&text, old.address, mask, at)) {
            charged += u64::from(configuration.charges.target_fetch);
        }
    }
    overhead(configuration, charged)
}

/// Whether an instruction with this text, at an address in another page, has come to this page for the target of an EXECUTE. An EXECUTE
/// may also extend into it.
fn has_target_in(text: &[u8; 6], at: u64, mask: u64, page: Virtual) -> bool {
    let last = Virtual(at.wrapping_add(length(text[0]) as u64 - 1) & mask);
    is_execute(u16::from_be_bytes([text[0], text[1]])) && last.page() != page
}

/// From now on the guest runs as in a run without copies. Returns the PSW that the hardware is to have.
pub(super) fn rest<H: Hardware>(
    cpu: &Vcpu,
    hardware: &mut H,
    copies: &mut Copies,
    real: Psw,
) -> Psw {
    note_loaded(cpu, copies);
    let first_run = [copies.first_run[0], copies.first_run[6]];
    if copies.loaded != first_run {
        copies.loaded = first_run;
        hardware.load_spaces(copies.first_run);
    }
    copies.is_on = false;
    real
}

/// Whether the guest can execute copies.
pub(super) fn is_possible(cpu: &Vcpu) -> bool {
    matches!(cpu.account.mode, Mode::Exact { .. })
        && !cpu.per.is_on()
        && cpu.caches.is_none()
        && !cpu.per.in_slots
}

/// The guest goes on from its copies, for which the hardware would have the PSW `real` otherwise, and stops where `prepare` has
/// replaced something. That may forget what was prepared before to make room, at most once, and then it is asked again. Returns
/// the PSW that the hardware is to have.
pub(super) fn leave<H: Hardware, C: AsMut<Copies>>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    owner: &mut C,
    real: Psw,
    mut prepare: impl FnMut(&mut H, &mut C),
) -> Psw {
    copied::catch_up(cpu, configuration, hardware, owner.as_mut());
    note_loaded(cpu, owner.as_mut());
    for _ in 0..2 {
        prepare(hardware, owner);
        let copies = owner.as_mut();
        if !copies.purges {
            break;
        }
        copied::settle(hardware, copies);
    }
    let copies = owner.as_mut();
    if cpu.shadow.alone.is_some() {
        return rest(cpu, hardware, copies, real);
    }
    let own = copied::space(hardware, copies, spaces(cpu).0);
    load(cpu, hardware, copies, own, real)
}

/// The guest goes on from its own pages, for which the hardware would have the PSW `real` otherwise, and stops when it comes to one that
/// is not [mapped](copied::uncopied_page). Returns the PSW that the hardware is to have.
pub(super) fn leave_uncopied<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    copies: &mut Copies,
    real: Psw,
) -> Psw {
    copied::catch_up(cpu, configuration, hardware, copies);
    note_loaded(cpu, copies);
    if cpu.shadow.alone.is_some() {
        return rest(cpu, hardware, copies, real);
    }
    let own = copied::uncopied_space(hardware, copies, spaces(cpu).0);
    load(cpu, hardware, copies, own, real)
}

/// Loads the space from which the guest fetches its instructions. Returns the PSW that the hardware is to have.
fn load<H: Hardware>(
    cpu: &Vcpu,
    hardware: &mut H,
    copies: &mut Copies,
    own: u64,
    real: Psw,
) -> Psw {
    let (_, operands) = spaces(cpu);
    copied::settle(hardware, copies);
    if copies.loaded != [own, operands] {
        copies.loaded = [own, operands];
        let mut values = copies.first_run;
        (values[0], values[6]) = (own, operands);
        hardware.load_spaces(values);
    }
    copies.is_on = true;
    Psw {
        mask: real.mask & !ADDRESS_SPACE | SECONDARY_SPACE,
        ..real
    }
}

/// What the machine takes for a trap, with what the clock charges the guest for it.
pub(super) fn overhead(configuration: &Configuration, charged: u64) -> u64 {
    configuration.charges.overhead[Class::Program as usize] + charged
}

/// Whether an access exception shows that a translation is missing.
const fn is_missing(code: u16) -> bool {
    matches!(code, 0x10 | 0x11 | 0x38..=0x3B)
}

/// Whether the hardware stores a translation-exception identification with a program interruption: the guest has no others of the
/// kind.
const fn has_translation(code: u16) -> bool {
    is_missing(code) || code == 0x04
}

/// By which address-space-control elements the hardware would fetch instructions, and access operands.
pub(super) const fn spaces(cpu: &Vcpu) -> (u64, u64) {
    if has_single_table(cpu) {
        (cpu.shadow.loaded[2], cpu.shadow.loaded[2])
    } else {
        (cpu.shadow.spaces_loaded[0], cpu.shadow.spaces_loaded[6])
    }
}

/// Notes what the run itself has loaded meanwhile.
fn note_loaded(cpu: &Vcpu, copies: &mut Copies) {
    if copies.first_run != cpu.shadow.spaces_loaded {
        copies.first_run = cpu.shadow.spaces_loaded;
        copies.loaded = [copies.first_run[0], copies.first_run[6]];
    }
}

/// What came of a branch that the machine performs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Performed {
    /// The guest goes on here.
    To(Psw),
    /// The hardware has to execute it: it misses the operand, or goes on after the last address, which it may not wrap around.
    Never,
    /// It is no branch.
    Other,
}

/// Performs the branch with a text at an address, which is the instruction of the PSW `old`, or the target of that if it is an
/// EXECUTE, with so many bytes.
pub(super) fn perform<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    old: Psw,
    length: u64,
    (text, at): (&[u8; 6], u64),
) -> Performed {
    let mask = old.address_mask();
    let site = Site {
        at,
        next: old.address.wrapping_add(length),
        length_code: (length / 2) as u8,
    };
    let Some(branch) = branch(text, &site, &cpu.general, old.mask) else {
        return Performed::Other;
    };
    let address = match branch.target {
        Some(Target::Address(at)) => at,
        Some(Target::Stored(at)) => {
            let (_, operands) = spaces(cpu);
            let Some(stored) = load_operand(configuration, hardware, operands, mask, at) else {
                return Performed::Never;
            };
            stored & mask
        }
        None if site.next & !mask != 0 => return Performed::Never,
        None => site.next,
    };
    if let Some((register, value)) = branch.changed {
        cpu.general[usize::from(register & 15)] = value;
    }
    Performed::To(Psw {
        mask: old.mask & !ADDRESSING_64 | branch.addressing,
        address,
    })
}

/// The PSW of the hardware when the guest goes on at `next`.
pub(super) const fn as_next(real: Psw, next: Psw) -> Psw {
    Psw {
        mask: real.mask & !ADDRESSING_64 | next.mask & ADDRESSING_64,
        address: next.address,
    }
}

/// Whether a text is that of a branch that the machine below has. QEMU has no BRANCH AND SET MODE and no BRANCH AND SAVE AND SET
/// MODE: they are left to it.
pub(super) fn is_branch(configuration: &Configuration, text: &[u8; 6]) -> bool {
    match text {
        [0x0B | 0x0C, ..] => return false,
        // BRANCH INDIRECT ON CONDITION.
        [0xE3, .., 0x47] if !configuration.facilities.has(MISCELLANEOUS_EXTENSIONS_2) => {
            return false;
        }
        [0x05..=0x07 | 0x0D | 0x45..=0x47 | 0x4D, ..]
        | [
            0x84..=0x87 | 0xA7 | 0xB9 | 0xC0 | 0xCC | 0xE3 | 0xEB | 0xEC,
            ..,
        ] => {}
        // No branch begins with it, and most instructions do.
        _ => return false,
    }
    let site = Site {
        at: 0,
        next: 0,
        length_code: 0,
    };
    branch(text, &site, &[0; 16], 0).is_some()
}

/// A doubleword of the guest's storage, if the shadow has its pages.
fn load_operand<H: Hardware>(
    configuration: &Configuration,
    hardware: &H,
    operands: u64,
    mask: u64,
    at: u64,
) -> Option<u64> {
    let mut bytes = [0; 8];
    for (byte, at) in bytes
        .iter_mut()
        .zip((0..8).map(|n| at.wrapping_add(n) & mask))
    {
        let source = copied::operand(configuration, hardware, operands, Virtual(at))?;
        let doubleword = copied::load(hardware, source, Virtual(at).byte_index() & !7);
        *byte = doubleword.to_be_bytes()[(at & 7) as usize];
    }
    Some(u64::from_be_bytes(bytes))
}

/// A PSW for the hardware, if it has the spaces of a run without copies.
pub(super) const fn as_first_run(cpu: &Vcpu, real: Psw) -> Psw {
    Psw {
        mask: real.mask & !ADDRESS_SPACE | cpu.real_space & ADDRESS_SPACE,
        ..real
    }
}

/// The text at an address, if the shadow has its pages.
pub(super) fn fetch<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    copies: &mut Copies,
    of: u64,
    mask: u64,
    at: u64,
) -> Option<[u8; 6]> {
    if at & 1 != 0 {
        return None;
    }
    let page = copied::page(configuration, hardware, copies, of, Virtual(at))?;
    let offset = Virtual(at).byte_index();
    let beyond = Virtual(at.wrapping_add(5) & mask);
    let behind = if beyond.page().0 != page.at {
        copied::page(configuration, hardware, copies, of, beyond)
    } else {
        None
    };
    let text = Text {
        page: &page,
        behind: behind.as_ref(),
    };
    let text = text.at(hardware, offset);
    let is_whole = behind.is_some() || offset + length(text[0]) as u64 <= PAGE;
    is_whole.then_some(text)
}

/// An instruction, or the target of an EXECUTE.
#[derive(Clone, Copy, Debug)]
pub(super) struct Instruction {
    /// The text.
    pub text: [u8; 6],
    /// Where the text is.
    pub from: u64,
    /// Where the instruction is.
    at: u64,
    /// The bytes of the instruction.
    pub length: u64,
}

impl Instruction {
    /// Whether it is the target of an EXECUTE.
    pub const fn is_executed(&self) -> bool {
        self.from != self.at
    }

    /// Whether an address is in the text that an EXECUTE leads to.
    pub fn has_target_at(&self, at: u64) -> bool {
        self.is_executed() && at.wrapping_sub(self.from) < length(self.text[0]) as u64
    }
}

/// What the guest executes with the instruction at an address, with the general registers of the CPU: the copies have its pages.
pub(super) fn executed<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    copies: &mut Copies,
    (of, mask): (u64, u64),
    at: u64,
) -> Option<Instruction> {
    let text = fetch(configuration, hardware, copies, of, mask, at)?;
    let own = Instruction {
        text,
        from: at,
        at,
        length: length(text[0]) as u64,
    };
    if !is_execute(u16::from_be_bytes([text[0], text[1]])) {
        return Some(own);
    }
    let target = insn::target(&insn::decode(&text), at, &cpu.general);
    let found = target.and_then(|(target, r1)| {
        let from = target & mask;
        let text = fetch(configuration, hardware, copies, of, mask, from)?;
        Some(Instruction {
            text: modified_target(text, r1, &cpu.general),
            from,
            ..own
        })
    });
    Some(found.unwrap_or(own))
}

/// The copies become what they were before something was to be put back.
pub(super) fn put_back<H: Hardware>(hardware: &mut H, copies: &mut Copies) {
    while let Some((place, before)) = copies.edits.pop() {
        hardware.hsa_store(place, before);
    }
}

/// Whether the instruction at an address of a page is replaced in the copy.
pub(super) fn is_replaced<H: Hardware>(hardware: &H, page: &CopiedPage, at: u64) -> bool {
    let offset = Virtual(at).byte_index() & !7;
    let original = copied::load(hardware, page.source, offset);
    let copied = hardware.hsa_load(page.copy.offset(offset));
    sensitive::differing(original, copied) >> (at >> 1 & 3) & 1 != 0
}

/// Whether an instruction looks at a clock without a trap: STCK, STCKE, STCKF, PTFF, or EXTRACT CPU TIME.
pub(super) const fn reads_clock(text: &[u8; 6]) -> bool {
    match *text {
        [0xB2, 0x05 | 0x78 | 0x7C, ..] | [0x01, 0x04, ..] => true,
        [0xC8, second, ..] => second & 15 == 1,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_execute_that_extends_into_a_page_has_not_come_to_it_for_its_target() {
        let relative = [0xC6, 0x10, 0, 0, 0, 0x40];
        let has = |text, at| has_target_in(text, at, u64::MAX, Virtual(0x2000));
        let found = [0x1FF8, 0x1FFA, 0x1FFC, 0x1FFE].map(|at| has(&relative, at));
        assert_eq!(found, [true, true, false, false]);
        let [short, other] = [[0x44, 0x10, 0x30, 0, 0, 0], [0x58, 0x10, 0x30, 0, 0, 0]];
        assert_eq!([0x1FFC, 0x1FFE].map(|at| has(&short, at)), [true, false]);
        assert!(!has(&other, 0x1FF8));
        let mask = 0x7FFF_FFFF;
        assert!(!has_target_in(&relative, mask - 3, mask, Virtual(0)));
    }
}
