//! Monitor calls: their effect on the program, and the enhanced-monitor facility.
//!
//! MONITOR CALL has a class, 0 to 15, and its operand address is a monitor code. Control register 8 has two masks for
//! each class. If the monitor mask is zero the instruction has no effect. If it is one and the enhanced-monitor mask is
//! zero there is a monitor event, a program interruption. If both are one there is no interruption: the monitor code
//! is the number of a counter, which counts one.
//!
//! The counters of a CPU are in an array of the program, in the home address space. Real storage locations 100-10F
//! designate it: as many halfwords as there are counters, followed by as many words, into which the halfwords carry. If
//! there is no such counter, or it cannot be accessed, the exception count in real storage is increased instead; no
//! access exception is ever presented. On a model without the facility the enhanced-monitor masks have no effect.
//!
//! The hardware below uses only the monitor masks. So every monitor call of an enabled class comes here as a monitor
//! event, completed, and every other monitor call takes no longer than without the machine.
//!
//! # What the sources leave open
//!
//! * With DAT off real addresses designate the array, otherwise virtual addresses of the home space, whatever the mode
//!   of the program. They are 64-bit addresses in every addressing mode, and they wrap from the highest one to zero.
//! * Stores into the array are subject to low-address and DAT protection, like those of the program's own operands. A
//!   protected array cannot be accessed. Low-address protection does not apply to the exception count, as it does not
//!   apply to what an interruption stores. There are no keys to test.
//! * If a table of the home space cannot be used, the array cannot be accessed, whatever the exception.
//! * No access is interlocked, because an array belongs to one CPU. The word is stored before the halfword that carries
//!   into it.
//! * The word of a counter and the exception count wrap from their highest value to zero.
//! * No PER event is recognized for these stores.

use crate::hardware::Hardware;
use crate::state::access::{Access, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::kept::KeptPage;
use crate::state::vcpu::Vcpu;
use crate::storage::{self, Checked, Claim, Piece, PrefixArea, scanner, shadow};
use arch::address::{Absolute, PAGE, Virtual};
use arch::bits::bit16;
use arch::facility::ENHANCED_MONITOR;
use arch::interruption::ProgramInterruption as Exception;
use arch::lowcore::{COUNTER_ARRAY_ORIGIN, COUNTER_ARRAY_SIZE, MONITOR_EXCEPTION_COUNT};
use arch::psw::{DAT, HOME_SPACE};

/// A monitor call, which the hardware has completed and presented: counts it where it is to be counted. Returns false
/// if it is a monitor event of the program, which is still to be presented; otherwise the instruction is accounted for.
///
/// In the interruption, `parameter` holds the class and `identification` the code.
#[inline]
pub fn call<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> bool {
    let class = bit16(cpu.interruption.parameter & 15);
    let code = cpu.interruption.identification;
    if cpu.software.classes & class != 0 {
        cpu.software.count(code);
    }
    let masks = cpu.control[8];
    if masks as u16 & class != 0 {
        if (masks >> 32) as u16 & class == 0 || !configuration.facilities.has(ENHANCED_MONITOR) {
            return false;
        }
        count(cpu, configuration, hardware, code);
    }
    // The clock charges an EXECUTE of it as usual, because it completed.
    let charged = configuration.charges.of(Exception::MonitorEvent.code());
    let problem = cpu.psw.problem_state();
    cpu.account.correct(1, charged, problem);
    true
}

/// Adds one to a counter of the program.
#[inline]
fn count<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    number: u64,
) {
    // SET PREFIX accepts no prefix for which this fails.
    let Some(area) = storage::prefix_area(cpu, configuration, hardware) else {
        return;
    };
    let array = Array {
        origin: hardware.load_u64(area.at(COUNTER_ARRAY_ORIGIN)) & !7,
        size: hardware.load_u32(area.at(COUNTER_ARRAY_SIZE)).into(),
    };
    if number >= array.size || array.count(cpu, configuration, hardware, number).is_none() {
        count_exception(cpu, configuration, hardware, area);
    }
}

/// Adds one to the exception count.
#[cold]
fn count_exception<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    area: PrefixArea,
) {
    let at = area.at(MONITOR_EXCEPTION_COUNT);
    scanner::store_into(configuration, hardware, Absolute(cpu.prefix));
    let count = hardware.load_u32(at).wrapping_add(1);
    hardware.store_u32(at, count);
}

/// The counters of a CPU.
struct Array {
    origin: u64,
    size: u64,
}

impl Array {
    /// Adds one to an existing counter. `None` if it cannot be accessed; nothing is stored then.
    #[inline]
    fn count<H: Hardware>(
        &self,
        cpu: &Vcpu,
        configuration: &Configuration,
        hardware: &mut H,
        number: u64,
    ) -> Option<()> {
        let at = Virtual(self.origin.wrapping_add(2 * number));
        let halfword = match kept(cpu, configuration, at) {
            Some(place) => place,
            None => halfword(cpu, configuration, hardware, at)?,
        };
        let value = hardware.load_u16(halfword).wrapping_add(1);
        if value == 0 {
            self.carry(cpu, configuration, hardware, number)?;
        }
        hardware.store_u16(halfword, value);
        Some(())
    }

    /// Adds one to the word of a counter.
    #[cold]
    fn carry<H: Hardware>(
        &self,
        cpu: &Vcpu,
        configuration: &Configuration,
        hardware: &mut H,
        number: u64,
    ) -> Option<()> {
        let at = self.origin.wrapping_add(2 * self.size + 4 * number);
        let word = word(cpu, configuration, hardware, Virtual(at))?;
        let mut bytes = [0; 4];
        word.load(hardware, &mut bytes);
        let value = u32::from_be_bytes(bytes).wrapping_add(1);
        word.store(configuration, hardware, &value.to_be_bytes());
        Some(())
    }
}

/// Bits of a PSW under which the page of a counter is kept: the address space is always the home space.
#[inline(always)]
const fn under(cpu: &Vcpu) -> u64 {
    cpu.psw.mask & DAT | HOME_SPACE
}

/// Where a counter is, if its page is kept. The scanner has been told of stores into that page.
#[inline(always)]
fn kept(cpu: &Vcpu, configuration: &Configuration, at: Virtual) -> Option<Checked> {
    let place = cpu.kept.counter(at).get().find(under(cpu), at)?;
    (!shadow::stale(cpu, configuration)).then_some(place)
}

/// Where a halfword of the array is; it is on its boundary. Keeps its page.
#[cold]
#[inline(never)]
fn halfword<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
) -> Option<Checked> {
    let place = piece(cpu, configuration, hardware, at, 2)?.start();
    scanner::store_into(configuration, hardware, place.absolute());
    // Parts of the first two pages may be protected.
    if at.page().0 > PAGE {
        let page = KeptPage::new(under(cpu), at, place);
        cpu.kept.counter(at).set(page);
    }
    Some(place)
}

/// Where a word of the array is. After an odd number of halfwords it is on no boundary, and may cross a page boundary.
fn word<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Option<Claim> {
    let room = (PAGE - at.byte_index()).min(4);
    Some(Claim {
        first: piece(cpu, configuration, hardware, at, room)?,
        second: piece(cpu, configuration, hardware, at.offset(room), 4 - room)?,
    })
}

/// Where bytes of the array within a page are, if they can be stored into.
fn piece<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
    length: u64,
) -> Option<Piece> {
    let space = cpu.psw.dat().then_some(Space::Home);
    let manner = Manner::without_key(space, Access::Store);
    storage::piece(cpu, configuration, hardware, manner, at, length).ok()
}

#[cfg(test)]
mod model;
#[cfg(test)]
mod tests;
