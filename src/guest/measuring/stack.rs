//! The call stack of a sample, from below: the guest's back chain, followed through its own tables.
//!
//! In the s390x ELF ABI general register 15 designates the stack frame of a routine. The frame has the address of the
//! caller's frame, the back chain, if the program was built so; it is zero in the first frame. A routine saves general
//! register 14, its return address, in the frame of its caller. A frame of the packed layout has both at its end,
//! where other frames have them at their beginning.
//!
//! A Linux kernel keeps the registers of what it interrupted behind the last frame of a stack (`pt_regs`). The walk goes
//! on from there: in the kernel, at the routine that an interruption came to, or in the program that called the kernel,
//! with frames of the standard layout in the program's own address space.
//!
//! Everything that is read here is the guest's, so everything is a claim: a frame may be anywhere, and a chain may lead
//! back into itself. The stack then ends, for a reason that the host shows. The walk changes nothing that a program can
//! see, and it is short: a page is translated once for all frames in it, and the chain may only ascend. A kernel of
//! the packed layout has several stacks, and its interruptions lead from one to another, so there the chain may go down
//! as often as there are stacks.

use crate::hardware::Hardware;
use crate::state::access::{Access, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage::{
    self,
    checked::{Frame, PlacedFrame},
    moved,
};
use arch::address::{PAGE, Virtual};
use arch::psw::{ADDRESSING_64, PROBLEM};
use link::stack::End;
use zerocopy::byteorder::big_endian::U64;

/// Where a frame has its back chain, and where a routine that was called with it saves its return address.
struct Layout {
    chain: u64,
    link: u64,
    /// How often the chain may lead to a lower frame.
    descents: u32,
}

const STANDARD: Layout = Layout {
    chain: 0,
    link: 112,
    descents: 0,
};

const PACKED: Layout = Layout {
    chain: 152,
    link: 136,
    descents: 3,
};

/// A stack that was followed to its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Followed {
    /// The number of return addresses that were found.
    pub count: u16,
    /// Why the stack ended.
    pub end: End,
    /// The frame at which it ended.
    pub frame: u64,
    /// What the frame at general register 15 has in the place of the return address of a routine that was called with
    /// it.
    pub saved_link: u64,
    /// The number of return addresses before those of the interrupted program, plus one; zero if the stack does not lead
    /// to one.
    pub program: u16,
    /// Where the kernel has the general registers of that program.
    pub registers: u64,
}

/// The registers that a Linux kernel keeps of what it interrupted, behind the frame at which a stack ends.
mod interrupted {
    /// The PSW.
    pub const MASK: u64 = 168;
    pub const ADDRESS: u64 = 176;
    /// The general registers: 0, 14 and 15.
    pub const GENERAL: u64 = 184;
    pub const LINK: u64 = GENERAL + 14 * 8;
    pub const STACK: u64 = GENERAL + 15 * 8;
}

/// The doublewords that an interrupted program has before its return addresses.
const PROGRAM: usize = 3;

/// Follows the stack of the CPU, and puts the return addresses into `returns`, the innermost first. `is_packed` says
/// that frames of the supervisor state have the packed layout.
#[inline(always)]
pub fn follow<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    is_packed: bool,
    returns: &mut [U64],
) -> Followed {
    if cpu.psw.mask & ADDRESSING_64 != ADDRESSING_64 {
        return Followed {
            count: 0,
            end: End::AddressingMode,
            frame: cpu.general[15],
            saved_link: 0,
            program: 0,
            registers: 0,
        };
    }
    if is_packed && !cpu.psw.problem_state() {
        follow_packed(cpu, configuration, hardware, returns)
    } else {
        follow_in(cpu, configuration, hardware, &STANDARD, returns)
    }
}

/// The stack of a kernel. Out of line, so that other stacks are followed without what only this needs.
#[inline(never)]
fn follow_packed<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    returns: &mut [U64],
) -> Followed {
    follow_in(cpu, configuration, hardware, &PACKED, returns)
}

#[inline(always)]
fn follow_in<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    layout: &Layout,
    returns: &mut [U64],
) -> Followed {
    let unstored = unstored(cpu, configuration, hardware, layout);
    let mut stack = Stack {
        cpu,
        configuration,
        hardware,
        space: Space::current(cpu, Access::Fetch),
        goes_home: layout.descents != 0,
        page: NO_PAGE,
        origin: storage::placed(hardware, Frame::FIRST),
    };
    stack.follow(layout, unstored, returns)
}

/// The back chain of a routine that has its frame and is about to store the chain: the register from which the next
/// instruction, a STORE of 64 bits, would store it. The frame still has what another routine left there.
#[inline(always)]
fn unstored<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
    layout: &Layout,
) -> Option<u64> {
    // STG R1,chain(,15): E3, R1, no index, base 15, displacement, 24.
    const OTHERS: u64 = 0xFF0F_FFFF_FFFF_0000;
    let text = match storage::kept_doubleword(cpu, hardware, Virtual(cpu.psw.address)) {
        Some(text) => text,
        None => text(cpu, configuration, hardware)?,
    };
    let store = 0xE300_F000_0024_0000 | layout.chain << 32;
    (text & OTHERS == store).then(|| cpu.general[(text >> 52 & 15) as usize])
}

/// The doubleword at the PSW's address, where the page is not the one that is kept, or ends too soon.
#[inline(never)]
fn text<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &H) -> Option<u64> {
    let at = Virtual(cpu.psw.address);
    if storage::keep_text(cpu, configuration, hardware, at) {
        return storage::kept_doubleword(cpu, hardware, at);
    }
    let manner = Manner::without_key(Space::current(cpu, Access::Execute), Access::Fetch);
    let claim = storage::locate(cpu, configuration, hardware, manner, at, 8).ok()?;
    let mut text = [0; 8];
    claim.load(hardware, &mut text);
    Some(u64::from_be_bytes(text))
}

/// Bytes of the smallest frame.
const SMALLEST: u64 = 160;

/// No page begins there.
const NO_PAGE: u64 = 1;

/// The guest's stack, with the page of it that was translated last.
struct Stack<'a, H> {
    cpu: &'a Vcpu,
    configuration: &'a Configuration,
    hardware: &'a H,
    /// The address space of the frames; none if their addresses are real.
    space: Option<Space>,
    /// Whether a kernel may run with DAT off: a frame without a real address is then in its home space.
    goes_home: bool,
    page: u64,
    origin: PlacedFrame,
}

/// The back chain of a frame, and the return address of the routine that was called with it.
type Fields = [u64; 2];

/// The fields of the stack frame at this offset in a page.
#[inline(always)]
fn fields<H: Hardware>(hardware: &H, page: PlacedFrame, offset: u64, layout: &Layout) -> Fields {
    hardware.load_two(page, [offset + layout.chain, offset + layout.link])
}

impl<H: Hardware> Stack<'_, H> {
    #[inline(always)]
    fn follow(&mut self, layout: &Layout, unstored: Option<u64>, returns: &mut [U64]) -> Followed {
        let frame = self.cpu.general[15];
        let mut walk = Walk {
            frame,
            count: 0,
            descents: layout.descents,
        };
        let mut followed = Followed {
            count: 0,
            end: End::Complete,
            frame,
            saved_link: 0,
            program: 0,
            registers: 0,
        };
        followed.end = match self.first_frame(frame, layout) {
            Ok([chain, link]) => {
                followed.saved_link = link;
                let chain = unstored.unwrap_or(chain);
                self.ascend(&mut walk, chain, layout, returns)
            }
            Err(end) => end,
        };
        if layout.descents != 0 && followed.end == End::Complete {
            self.go_on(&mut walk, &mut followed, returns);
        }
        // There are no more places than a heading can count.
        (followed.frame, followed.count) = (walk.frame, walk.count as u16);
        followed
    }

    /// Follows the chain of a frame to its end.
    #[inline(always)]
    fn ascend(
        &mut self,
        walk: &mut Walk,
        mut chain: u64,
        layout: &Layout,
        returns: &mut [U64],
    ) -> End {
        let Walk {
            mut frame,
            mut count,
            mut descents,
        } = *walk;
        // In registers, as long as frames are in the same page.
        let (mut page, mut origin) = (self.page, self.origin);
        let end = 'end: {
            loop {
                if chain <= frame {
                    if chain == 0 {
                        break 'end End::Complete;
                    }
                    if descents == 0 || chain == frame {
                        break 'end End::Order;
                    }
                    descents -= 1;
                }
                frame = chain;
                let Some(place) = returns.get_mut(count) else {
                    break 'end End::Depth;
                };
                let offset = frame.wrapping_sub(page);
                let link;
                [chain, link] = if offset > PAGE - SMALLEST || !offset.is_multiple_of(8) {
                    let found = match self.first_frame(frame, layout) {
                        Ok(found) => found,
                        Err(end) => break 'end end,
                    };
                    (page, origin) = (self.page, self.origin);
                    found
                } else {
                    fields(self.hardware, origin, offset, layout)
                };
                *place = link.into();
                count += 1;
            }
        };
        *walk = Walk {
            frame,
            count,
            descents,
        };
        end
    }

    /// Goes on from the end of a kernel's stack: at what an interruption came to, as long as that is the kernel, and
    /// then in the program.
    #[inline(never)]
    fn go_on(&mut self, walk: &mut Walk, followed: &mut Followed, returns: &mut [U64]) {
        // Each time takes a place for a return address, so there is an end.
        while followed.end == End::Complete {
            let kept = [
                interrupted::MASK,
                interrupted::ADDRESS,
                interrupted::LINK,
                interrupted::STACK,
            ];
            let frame = walk.frame;
            let [mask, address, link, stack] =
                match kept.map(|field| self.doubleword(frame.wrapping_add(field))) {
                    [Some(mask), Some(address), Some(link), Some(stack)] => {
                        [mask, address, link, stack]
                    }
                    // A thread of the kernel may have nothing there.
                    _ => return,
                };
            if mask & PROBLEM != 0 {
                followed.registers = frame.wrapping_add(interrupted::GENERAL);
                followed.end = self.program(walk, followed, [mask, address, link, stack], returns);
                return;
            }
            // A thread that the kernel has begun was not interrupted, and its stack ends here.
            if mask & ADDRESSING_64 != ADDRESSING_64 || address == 0 || stack == 0 {
                return;
            }
            let Some(place) = returns.get_mut(walk.count) else {
                followed.end = End::Depth;
                return;
            };
            // No return address: the instruction itself would be executed next.
            *place = (address | 1).into();
            walk.count += 1;
            if stack <= walk.frame {
                if walk.descents == 0 {
                    followed.end = End::Order;
                    return;
                }
                walk.descents -= 1;
            }
            walk.frame = stack;
            followed.end = match self.first_frame(stack, &PACKED) {
                Ok([chain, _]) => self.ascend(walk, chain, &PACKED, returns),
                Err(end) => end,
            };
        }
    }

    /// Follows the stack of the program that called the kernel, or that an interruption came to.
    #[inline(never)]
    fn program(
        &mut self,
        walk: &mut Walk,
        followed: &mut Followed,
        [mask, address, link, stack]: [u64; 4],
        returns: &mut [U64],
    ) -> End {
        if mask & ADDRESSING_64 != ADDRESSING_64 {
            return End::AddressingMode;
        }
        let before = walk.count;
        let Some(places) = returns.get_mut(before..before + PROGRAM) else {
            return End::Depth;
        };
        places.copy_from_slice(&[address.into(), link.into(), U64::ZERO]);
        followed.program = before as u16 + 1;
        self.space = Some(Space::of_interrupted(self.cpu));
        self.page = NO_PAGE;
        *walk = Walk {
            frame: stack,
            count: before + PROGRAM,
            descents: 0,
        };
        let [chain, saved_link] = match self.first_frame(stack, &STANDARD) {
            Ok(found) => found,
            Err(end) => return end,
        };
        if let Some(place) = returns.get_mut(before + 2) {
            *place = saved_link.into();
        }
        self.ascend(walk, chain, &STANDARD, returns)
    }

    /// A doubleword, if it has storage.
    #[inline(never)]
    fn doubleword(&self, at: u64) -> Option<u64> {
        let at = Virtual(at);
        let origin = self.translate(at).filter(|_| at.0.is_multiple_of(8))?;
        Some(self.hardware.load_u64(origin.at(at)))
    }

    /// The fields of a frame that need not be in the same page as the one before, if there is one.
    #[inline(always)]
    fn first_frame(&mut self, frame: u64, layout: &Layout) -> Result<Fields, End> {
        if self.go_to(frame) {
            Ok(fields(self.hardware, self.origin, frame % PAGE, layout))
        } else {
            self.frame_in_two_pages(frame, layout)
        }
    }

    /// Translates the page of a frame. Returns false if it has no storage, or if the frame may end in another page.
    #[inline(never)]
    fn go_to(&mut self, frame: u64) -> bool {
        if !frame.is_multiple_of(8) || frame % PAGE > PAGE - SMALLEST {
            return false;
        }
        let Some(origin) = self.translate(Virtual(frame)) else {
            return false;
        };
        (self.page, self.origin) = (frame - frame % PAGE, origin);
        true
    }

    /// The fields of a frame that may begin in one page and end in another.
    #[cold]
    #[inline(never)]
    fn frame_in_two_pages(&mut self, frame: u64, layout: &Layout) -> Result<Fields, End> {
        if !frame.is_multiple_of(8) {
            return Err(End::Boundary);
        }
        let mut field = |field: u64| {
            let at = Virtual(frame.wrapping_add(field));
            let page = at.page().0;
            if page != self.page {
                self.origin = self.translate(at).ok_or(End::Storage)?;
                self.page = page;
            }
            Ok(self.hardware.load_u64(self.origin.at(at)))
        };
        // The lower one first: the page of the higher one is that of the next frame, too.
        if layout.chain < layout.link {
            let chain = field(layout.chain)?;
            Ok([chain, field(layout.link)?])
        } else {
            let link = field(layout.link)?;
            Ok([field(layout.chain)?, link])
        }
    }

    /// The page frame of a logical address.
    #[inline(always)]
    fn translate(&self, at: Virtual) -> Option<PlacedFrame> {
        let (cpu, configuration, hardware) = (self.cpu, self.configuration, self.hardware);
        let piece = match self.space {
            // The next sample will find a frame in the same page.
            Some(space) => moved::frame(cpu, configuration, hardware, space, at),
            None => {
                let manner = Manner::without_key(None, Access::Fetch);
                storage::piece(cpu, configuration, hardware, manner, at, 8)
            }
        };
        match piece {
            Ok(piece) => Some(storage::placed(hardware, piece.start().frame())),
            Err(_) => self.translate_elsewhere(at),
        }
    }

    /// With DAT off a kernel is on a stack for that, and the chain leads from there to one in its own address space.
    #[cold]
    #[inline(never)]
    fn translate_elsewhere(&self, at: Virtual) -> Option<PlacedFrame> {
        if self.space.is_some() || !self.goes_home {
            return None;
        }
        let manner = Manner::without_key(Some(Space::Home), Access::Fetch);
        let piece = storage::piece(self.cpu, self.configuration, self.hardware, manner, at, 8);
        let frame = piece.ok()?.start().frame();
        Some(storage::placed(self.hardware, frame))
    }
}

/// How far a stack was followed.
#[derive(Clone, Copy)]
struct Walk {
    frame: u64,
    count: usize,
    /// How often the chain may still lead to a lower frame.
    descents: u32,
}

#[cfg(test)]
mod tests;
