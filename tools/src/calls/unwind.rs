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

/// The registers of a frame, as far as they are known: the general registers, and behind them the floating-point
/// registers, by the numbers that they have in rules.
type Registers = [Option<u64>; 32];

/// The numbers of floating-point registers 0 to 15 in rules, from 16 on.
const FLOATING_POINT: [u16; 16] = [
    16, 20, 17, 21, 18, 22, 19, 23, 24, 28, 25, 29, 26, 30, 27, 31,
];

/// The registers of a copy.
fn registers_of(copy: &StackCopy<'_>) -> Registers {
    let mut registers = [None; 32];
    let head = copy.head;
    for (register, value) in registers.iter_mut().zip(&head.general) {
        *register = Some(value.get());
    }
    if head.has_floating_point.get() == 1 {
        for (number, value) in FLOATING_POINT.iter().zip(&head.floating_point) {
            registers[usize::from(*number)] = Some(value.get());
        }
    }
    registers
}

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
        let mut registers = registers_of(copy);
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
        // Only those of the first frame are known: a call need not keep them.
        callers[16..].fill(None);
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
                // The caller's stack pointer is known without it.
                Some(RegisterRule::Register(_)) if usize::from(number) == STACK => continue,
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::folder::OBJECTS;
    use link::copies::CopyHead;
    use object::{Architecture, BinaryFormat, Endianness, SectionKind, write::Object};
    use proptest::prelude::*;
    use std::fs;

    /// Where the program is mapped, and where its stack is.
    const BASE: u64 = 0x100_0000;
    const STACK_AT: u64 = 0x3FF_0000_1000;

    /// An entry of the section: its length, and what follows.
    fn entry(of: u32, fields: &[u8]) -> Vec<u8> {
        let mut body = of.to_be_bytes().to_vec();
        body.extend(fields);
        body.resize(body.len().next_multiple_of(8) + 4, 0);
        [&(body.len() as u32).to_be_bytes()[..], &body].concat()
    }

    /// Rules of four routines.
    fn rules() -> Vec<u8> {
        // Version 1, no augmentation, instructions are counted by bytes, offsets by -8, register 14 returns. At first the
        // frame is 160 above register 15.
        let mut rules = entry(0, &[1, 0, 1, 0x78, 14, 0x0C, 15, 0xA0, 0x01]);
        let mut routine = |start: u64, length: u64, instructions: &[u8]| {
            let fields = [
                &start.to_be_bytes()[..],
                &length.to_be_bytes(),
                instructions,
            ];
            let entry = entry(rules.len() as u32 + 4, &fields.concat());
            rules.extend(entry);
        };
        // Six bytes on registers 14 and 15 are in the frame, and four more on register 15 is 160 less.
        let prologue = [0x46, 0x8E, 6, 0x8F, 5, 0x44, 0x0E, 0xC0, 0x02];
        routine(0x100, 0x40, &prologue);
        routine(0x140, 0x40, &prologue);
        // A leaf has register 15 in floating-point register 0, and 14 in 2.
        routine(
            0x180,
            0x20,
            &[0x44, 0x09, 15, 16, 0x09, 14, 17, 0x0E, 0xC0, 0x02],
        );
        // Nobody has called the first routine.
        routine(0x200, 0x20, &[0x07, 14]);
        rules
    }

    struct Bench {
        _directory: tempfile::TempDir,
        programs: Programs,
        head: CopyHead,
        bytes: Vec<u8>,
    }

    fn bench(rules: &[u8], address: u64) -> Bench {
        let directory = tempfile::tempdir().unwrap();
        let elf = (BinaryFormat::Elf, Architecture::S390x, Endianness::Big);
        let mut file = Object::new(elf.0, elf.1, elf.2);
        let section =
            file.add_section(Vec::new(), b".eh_frame".to_vec(), SectionKind::ReadOnlyData);
        file.set_section_data(section, rules.to_vec(), 8);
        fs::create_dir(directory.path().join(OBJECTS)).unwrap();
        fs::write(
            directory.path().join(OBJECTS).join("0"),
            file.write().unwrap(),
        )
        .unwrap();
        let mapped = format!("map 7 {BASE:x} {:x} 0 /p\n", BASE + 0x1000);
        let programs = Programs::new(&mapped, directory.path());
        let mut head = CopyHead {
            address: (BASE + address).into(),
            ..CopyHead::default()
        };
        head.general[15] = STACK_AT.into();
        Bench {
            _directory: directory,
            programs,
            head,
            bytes: vec![0; 0x400],
        }
    }

    impl Bench {
        /// A frame of 160 bytes at this offset, whose routine returns there.
        fn frame(&mut self, offset: usize, returns: u64) {
            let saved = [BASE + returns, STACK_AT + offset as u64 + 160];
            for (at, value) in [112, 120].into_iter().zip(saved) {
                let at = offset + 160 + at;
                self.bytes[at..at + 8].copy_from_slice(&value.to_be_bytes());
            }
        }

        fn unwind(&self) -> (Vec<u64>, End) {
            let copy = StackCopy {
                head: &self.head,
                bytes: &self.bytes,
            };
            let (frames, end) = Unwinder::default().unwind(&self.programs, 7, &copy);
            let addresses = frames.iter().map(|frame| frame.address - BASE);
            (addresses.collect(), end)
        }
    }

    #[test]
    fn the_rules_lead_from_frame_to_frame() {
        let mut bench = bench(&rules(), 0x120);
        bench.frame(0, 0x160);
        bench.frame(160, 0x210);
        assert_eq!(bench.unwind(), (vec![0x160, 0x210], End::Complete));
        // Behind a call that is a routine's last instruction, another routine's rules begin.
        bench.frame(160, 0x220);
        assert_eq!(bench.unwind(), (vec![0x160, 0x220], End::Complete));
    }

    #[test]
    fn a_routine_that_was_interrupted_in_its_first_instructions_has_the_registers() {
        let mut bench = bench(&rules(), 0x100);
        bench.head.general[14] = (BASE + 0x210).into();
        for at in [0x100, 0x104, 0x184] {
            bench.head.address = (BASE + at).into();
            if at == 0x184 {
                bench.head.has_floating_point = 1.into();
                bench.head.floating_point[2] = (BASE + 0x210).into();
                bench.head.general[14] = 0.into();
            }
            assert_eq!(bench.unwind(), (vec![0x210], End::Complete), "{at:X}");
        }
        // These registers are not known if the kernel was interrupted.
        bench.head.has_floating_point = 0.into();
        assert_eq!(bench.unwind(), (vec![], End::Value));
    }

    #[test]
    fn a_copy_that_is_cut_off_ends_the_stack() {
        let mut bench = bench(&rules(), 0x120);
        bench.frame(0, 0x160);
        bench.frame(160, 0x210);
        for length in (0..0x400).step_by(8) {
            bench.bytes.truncate(0x400 - length);
            let (frames, end) = bench.unwind();
            let expected = match bench.bytes.len() {
                448.. => (2, End::Complete),
                288.. => (1, End::Copy),
                _ => (0, End::Copy),
            };
            assert_eq!((frames.len(), end), expected, "{}", bench.bytes.len());
        }
    }

    #[test]
    fn a_stack_that_loops_or_lies_ends() {
        // A stack pointer that is not above the one before, that is off its boundary, or far away.
        for (stack, end) in [
            (STACK_AT, End::Value),
            (STACK_AT - 160, End::Value),
            (STACK_AT + 164, End::Value),
            (u64::MAX - 7, End::Value),
            (STACK_AT + 0x10_0000, End::Copy),
        ] {
            let mut bench = bench(&rules(), 0x120);
            bench.frame(0, 0x160);
            bench.bytes[280..288].copy_from_slice(&stack.to_be_bytes());
            assert_eq!(bench.unwind().1, end, "{stack:X}");
        }
        let mut bench = bench(&rules(), 0x120);
        bench.frame(0, 0x300);
        assert_eq!(bench.unwind(), (vec![0x300], End::Rules));
        bench.head.address = 8.into();
        assert_eq!(bench.unwind(), (vec![], End::Rules));
    }

    proptest! {
        #[test]
        fn spoilt_rules_and_stacks_come_to_an_end(
            changes in prop::collection::vec((0_usize..400, any::<u8>()), 0..12),
            more in prop::collection::vec((0_usize..0x80, any::<u64>()), 0..6),
            at in 0x100_u64..0x220,
        ) {
            let mut spoilt = rules();
            for (place, value) in changes {
                if let Some(byte) = spoilt.get_mut(place) {
                    *byte = value;
                }
            }
            let mut bench = bench(&spoilt, at);
            bench.frame(0, 0x160);
            bench.frame(160, 0x210);
            for (place, value) in more {
                bench.bytes[place * 8..place * 8 + 8].copy_from_slice(&value.to_be_bytes());
            }
            let (frames, _) = bench.unwind();
            prop_assert!(frames.len() <= MOST_FRAMES);
        }
    }
}
