//! Unwinds the stack of a program by its rules in `.eh_frame`, from its registers and a copy of its stack.
//!
//! The rules say, for each instruction, where a routine's frame is and where it has the registers of its caller. Nothing
//! is trusted: the rules are those of a file, and the stack is the guest's. Each frame lies above the one before, so there
//! is an end.

use std::collections::BTreeMap;

use gimli::{
    BaseAddresses, BigEndian, CfaRule, CieOrFde, EhFrame, EhFrameOffset, EndianSlice, Register,
    RegisterRule, UnwindContext, UnwindSection,
};
use link::{
    copies::StackCopy,
    stack::{End, MOST_FRAMES},
};

use crate::symbols::{
    mapped::{Content, Programs},
    names::Frame,
};

/// The general register of the stack.
const STACK: usize = 15;

/// The canonical frame address is so far above the stack pointer of the caller.
const BIAS: u64 = 160;

/// The rules of one file: where the entry of each routine is, by the routine's addresses.
#[derive(Debug, Default)]
struct Index {
    entries: Vec<(u64, u64, usize)>,
}

type Slice<'b> = EndianSlice<'b, BigEndian>;

/// The section with the rules, and where it lies.
fn section(content: &Content) -> Option<(EhFrame<Slice<'_>>, BaseAddresses)> {
    let (address, bytes) = content.section(".eh_frame")?;
    let text = content.section(".text").map_or(0, |(text, _)| text);
    let bases = BaseAddresses::default()
        .set_eh_frame(address)
        .set_text(text);
    let mut rules = EhFrame::new(bytes, BigEndian);
    rules.set_address_size(8);
    Some((rules, bases))
}

impl Index {
    fn of(content: &Content) -> Self {
        let mut index = Self::default();
        let Some((rules, bases)) = section(content) else {
            return index;
        };
        let mut entries = rules.entries(&bases);
        // Nothing is known about what follows a damaged entry.
        while let Ok(Some(entry)) = entries.next() {
            let CieOrFde::Fde(partial) = entry else {
                continue;
            };
            if let Ok(entry) = partial.parse(EhFrame::cie_from_offset) {
                let start = entry.initial_address();
                let end = start.saturating_add(entry.len());
                index.entries.push((start, end, entry.offset()));
            }
        }
        index.entries.sort_unstable();
        index
    }

    fn find(&self, address: u64) -> Option<usize> {
        let behind = self
            .entries
            .partition_point(|(start, ..)| *start <= address);
        let (_, end, offset) = self.entries.get(behind.checked_sub(1)?)?;
        (address < *end).then_some(*offset)
    }
}

/// Unwinds the programs of one run.
#[derive(Default)]
pub struct Unwinder {
    indexes: BTreeMap<usize, Index>,
    context: UnwindContext<usize>,
}

/// The registers of a frame, as far as they are known.
type Registers = [Option<u64>; 16];

/// A frame's caller.
struct Caller {
    registers: Registers,
    /// Where the caller goes on; nothing if there is no caller.
    address: Option<u64>,
    /// Whether the caller was interrupted by a signal.
    is_signal: bool,
}

impl Unwinder {
    /// The routines that had called the one in which this process was, the innermost first, and why there are no more.
    pub fn unwind(
        &mut self,
        programs: &Programs,
        process: u32,
        copy: &StackCopy<'_>,
    ) -> (Vec<Frame>, End) {
        let mut frames = Vec::new();
        let mut registers: Registers = copy.head.general.map(|value| Some(value.get()));
        let mut at = Frame {
            address: copy.head.address.get(),
            is_return: false,
            is_program: true,
        };
        loop {
            let caller = match self.caller(programs, process, copy, &at, &registers) {
                Ok(caller) => caller,
                Err(end) => return (frames, end),
            };
            let Some(address) = caller.address.filter(|address| *address != 0) else {
                return (frames, End::Complete);
            };
            let stacks = (registers[STACK], caller.registers[STACK]);
            let (Some(before), Some(stack)) = stacks else {
                return (frames, End::Value);
            };
            // A routine without a frame has its caller's stack pointer, and only the first one can be without.
            let is_above = stack > before || stack == before && frames.is_empty();
            if !is_above || !stack.is_multiple_of(8) {
                return (frames, End::Value);
            }
            if frames.len() == MOST_FRAMES {
                return (frames, End::Depth);
            }
            at = Frame {
                address,
                is_return: !caller.is_signal,
                is_program: true,
            };
            frames.push(at);
            registers = caller.registers;
        }
    }

    fn caller(
        &mut self,
        programs: &Programs,
        process: u32,
        copy: &StackCopy<'_>,
        at: &Frame,
        registers: &Registers,
    ) -> Result<Caller, End> {
        let place = programs.find(process, at.call()).ok_or(End::Rules)?;
        let content = place.file.content();
        let index = self
            .indexes
            .entry(place.number)
            .or_insert_with(|| Index::of(content));
        let offset = index.find(place.address).ok_or(End::Rules)?;
        let (rules, bases) = section(content).ok_or(End::Rules)?;
        let entry = rules
            .fde_from_offset(&bases, EhFrameOffset(offset), EhFrame::cie_from_offset)
            .map_err(|_| End::Rules)?;
        let row = entry
            .unwind_info_for_address(&rules, &bases, &mut self.context, place.address)
            .map_err(|_| End::Rules)?;
        let known = |register: Register| registers.get(usize::from(register.0)).copied().flatten();
        let frame = match row.cfa() {
            CfaRule::RegisterAndOffset { register, offset } => known(*register)
                .map(|value| value.wrapping_add_signed(*offset))
                .ok_or(End::Value)?,
            CfaRule::Expression(_) => return Err(End::Rules),
        };
        let mut callers = *registers;
        callers[STACK] = Some(frame.wrapping_sub(BIAS));
        let link = entry.cie().return_address_register();
        let mut is_outermost = false;
        for number in 0..16_u16 {
            let register = Register(number);
            let value = match row.register(register) {
                None | Some(RegisterRule::SameValue) => continue,
                Some(RegisterRule::Undefined) => {
                    is_outermost |= register == link;
                    None
                }
                Some(RegisterRule::Offset(offset)) => {
                    Some(load(copy, frame.wrapping_add_signed(offset))?)
                }
                Some(RegisterRule::ValOffset(offset)) => Some(frame.wrapping_add_signed(offset)),
                Some(RegisterRule::Register(other)) => known(other),
                // An expression.
                Some(_) => return Err(End::Rules),
            };
            callers[usize::from(number)] = value;
        }
        let address = callers.get(usize::from(link.0)).copied().flatten();
        if address.is_none() && !is_outermost {
            return Err(End::Value);
        }
        Ok(Caller {
            registers: callers,
            address: address.filter(|_| !is_outermost),
            is_signal: entry.cie().is_signal_trampoline(),
        })
    }
}

/// A doubleword of the program's stack.
fn load(copy: &StackCopy<'_>, at: u64) -> Result<u64, End> {
    let offset = at
        .checked_sub(copy.head.general[STACK].get())
        .ok_or(End::Value)?;
    let offset = usize::try_from(offset).map_err(|_| End::Copy)?;
    let bytes = copy.bytes.get(offset..).ok_or(End::Copy)?;
    let value = bytes.first_chunk().ok_or(End::Copy)?;
    Ok(u64::from_be_bytes(*value))
}
