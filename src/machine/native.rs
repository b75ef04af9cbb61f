//! The machine below, as a virtual CPU reaches it: [`Hardware`] over real instructions.
//!
//! DAT is off here, so a real address is a pointer. Guest addresses have been checked, as their type says; absolute
//! 0-1FFF is behind this CPU's prefix.

use crate::arch::address::{Absolute, PAGE, PREFIX_AREA, Real, Virtual};
use crate::arch::condition::ConditionCode;
use crate::guest::hardware::ChannelBlock;
use crate::guest::hardware::ChannelInstruction;
use crate::guest::hardware::Hardware;
use crate::guest::hardware::Saved;
use crate::guest::storage::checked::{Checked, Frame, Place, PlacedFrame};
use crate::insn;
use crate::link::frame::Channel;
use crate::link::state::Loaded;
use crate::link::trace::Event;
use crate::machine::hardware::hsa::Prefix;
use crate::machine::hardware::shared_storage::{self, Operand};
use crate::machine::hardware::{counting, instruction, registers, sclp, wait};
use crate::machine::io::{channel, console};
use crate::machine::shared::Shared;
use core::ptr;
use core::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// One real CPU.
pub struct Native {
    /// This CPU's prefix.
    prefix: Prefix,
    /// The TOD clock at which the guest's CPU timer reaches, or reached, zero. QEMU's own timer shows a positive value
    /// when it should be negative, so the value is kept here. The real timer is set for its interruption, and for
    /// EXTRACT CPU TIME.
    timer_zero: u64,
    /// The clock comparator as the way out to the guest set it last.
    comparator: u64,
    /// This CPU's number. CPU 0 takes the host's input.
    number: u16,
    /// What it shares with the other CPUs; nothing at IPL.
    shared: Option<&'static Shared>,
    /// The clock of a guest whose clock stands still.
    pub still: Still,
    /// Log lines about instructions that are not performed: their number is limited, because a guest may try for ever.
    pub refusals: u32,
}

/// A guest's clock that stands still while the machine works.
#[derive(Clone, Copy, Debug, Default)]
pub struct Still {
    /// What it shows, or zero if it does not stand still.
    pub clock: u64,
    /// What it shows when the instruction that trapped has completed.
    pub completed: u64,
    /// By how much the guest has set it forward since then. The way out does that.
    pub forward: u64,
    /// The real clock when the CPU last rested in this trap.
    pub own: u64,
    /// The guest's cycles when the machine last left to it, unless the CPU has rested since then.
    pub total: Option<u64>,
}

/// A span of the clock in whole steps of 125 nanoseconds, if it is one but for rounding. A guest that sets its clock by
/// whole steps, as a machine does, keeps the phase of the clock.
const fn whole_steps(span: u64) -> u64 {
    const STEP: u64 = 512;
    const ROUNDED_OFF: u64 = 2;
    let nearest = span.wrapping_add(STEP / 2) & !(STEP - 1);
    if nearest.wrapping_sub(span).wrapping_add(ROUNDED_OFF) <= 2 * ROUNDED_OFF {
        nearest
    } else {
        span
    }
}

/// The most lines about instructions that are not performed; further ones are only counted.
const MOST_REFUSALS: u32 = 64;

impl Native {
    /// The hardware as seen by the CPU with this prefix.
    #[must_use]
    pub const fn new(prefix: Prefix, number: u16, shared: Option<&'static Shared>) -> Self {
        Self {
            prefix,
            timer_zero: 0,
            comparator: u64::MAX,
            number,
            shared,
            still: Still {
                clock: 0,
                completed: 0,
                forward: 0,
                own: 0,
                total: None,
            },
            refusals: 0,
        }
    }

    /// Stores a page into the HSA, from which no instruction is ever executed.
    pub fn hsa_store_page(&mut self, at: Real, page: &[u8; PAGE as usize]) {
        let place = ptr::with_exposed_provenance_mut::<[u8; PAGE as usize]>(at.0 as usize);
        // SAFETY: a part of the HSA for what is kept, which nothing refers to.
        unsafe { place.write_unaligned(*page) };
    }

    /// Makes the CPU timer stand still for `passed` clock units in which the CPU had no turn.
    pub fn extend_cpu_timer(&mut self, passed: u64) {
        let rest = self.cpu_timer();
        self.set_cpu_timer(rest.wrapping_add(passed));
    }

    /// The way out to the guest sets the clock comparator to this.
    pub const fn note_comparator(&mut self, value: u64) {
        self.comparator = value;
    }

    /// Sets the clock as the guest has set it, if the CPU rests before the way out does it.
    pub fn settle_clock(&mut self) {
        if self.still.forward != 0 {
            let now = instruction::stckf().wrapping_add(self.still.forward);
            let _ = instruction::sck(now);
            self.still.forward = 0;
        }
    }

    /// The CPU has rested until the guest's clock, which stands still now, showed `clock`, and the real one `real`.
    pub const fn rested(&mut self, clock: u64, real: u64) {
        self.still = Still {
            clock,
            completed: clock,
            forward: 0,
            own: real,
            total: None,
        };
    }

    /// The clock comparator as the way out to the guest set it last.
    #[must_use]
    pub const fn comparator(&self) -> u64 {
        self.comparator
    }

    /// The TOD clock at which the guest's CPU timer reaches, or reached, zero.
    #[must_use]
    pub const fn timer_zero(&self) -> u64 {
        self.timer_zero
    }

    /// The pointer to guest storage at `at`.
    #[inline(always)]
    fn place<T>(&self, at: Checked) -> *mut T {
        ptr::with_exposed_provenance_mut(self.real_of(at.absolute()).0 as usize)
    }

    /// The operand there.
    #[inline(always)]
    fn operand(&self, at: impl Place) -> Operand {
        match at.place() {
            Ok(at) => Operand::At(at.0),
            Err(at) => {
                let at = at.absolute().0;
                let prefix = if at < PREFIX_AREA {
                    self.prefix.address()
                } else {
                    0
                };
                Operand::Sum(at, prefix)
            }
        }
    }

    /// The pointer to the guest storage behind absolute 0-1FFF.
    #[inline(always)]
    fn behind_prefix_area<T>() -> *mut T {
        ptr::with_exposed_provenance_mut(PREFIX_AREA as usize)
    }

    /// Divides a range of guest storage into two parts that are contiguous for the firmware: absolute 0-1FFF, which is
    /// at this CPU's prefix, and the rest.
    #[inline(always)]
    fn runs(at: Checked, length: usize) -> (usize, usize) {
        let at = at.absolute();
        if at.0 < PREFIX_AREA {
            let first = (PREFIX_AREA - at.0).min(length as u64) as usize;
            (first, length - first)
        } else {
            (length, 0)
        }
    }
}

impl Hardware for Native {
    #[inline(always)]
    fn load(&self, at: Checked, into: &mut [u8]) {
        let (first, second) = Self::runs(at, into.len());
        // SAFETY: guest storage, checked; the firmware has no reference to it.
        unsafe {
            shared_storage::fetch(self.place(at), into.as_mut_ptr(), first);
            if second != 0 {
                let from = Self::behind_prefix_area();
                shared_storage::fetch(from, into.as_mut_ptr().add(first), second);
            }
        }
    }

    #[inline(always)]
    fn store(&mut self, at: Checked, from: &[u8]) {
        let (first, second) = Self::runs(at, from.len());
        // SAFETY: as above. Others may fetch it meanwhile, in any order as from a MOVE.
        unsafe {
            ptr::copy_nonoverlapping(from.as_ptr(), self.place::<u8>(at), first);
            if second != 0 {
                let to = Self::behind_prefix_area();
                ptr::copy_nonoverlapping(from.as_ptr().add(first), to, second);
            }
        }
    }

    #[inline(always)]
    fn copy(&mut self, from: Checked, to: Checked, length: u64) {
        // SAFETY: guest storage, checked, within a page each and apart; the firmware has no reference to it.
        unsafe { shared_storage::copy(self.place(from), self.place(to), length as usize) };
    }

    #[inline(always)]
    fn load_u8(&self, at: impl Place) -> u8 {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::load_u8(self.operand(at)) }
    }

    #[inline(always)]
    fn store_u8(&mut self, at: impl Place, value: u8) {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::store_u8(self.operand(at), value) };
    }

    #[inline(always)]
    fn load_u16(&self, at: Checked) -> u16 {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::load_u16(self.operand(at)) }
    }

    #[inline(always)]
    fn store_u16(&mut self, at: impl Place, value: u16) {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::store_u16(self.operand(at), value) };
    }

    #[inline(always)]
    fn load_u64(&self, at: impl Place) -> u64 {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::load_u64(self.operand(at)) }
    }

    #[inline(always)]
    fn load_two(&self, frame: PlacedFrame, at: [u64; 2]) -> [u64; 2] {
        let frame = frame.real().0;
        // SAFETY: guest storage, a checked frame; an offset in it, on a doubleword boundary.
        at.map(|at| unsafe { shared_storage::load_u64(Operand::Sum(frame, at & (PAGE - 8))) })
    }

    #[inline(always)]
    fn store_u64(&mut self, at: impl Place, value: u64) {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::store_u64(self.operand(at), value) };
    }

    #[inline(always)]
    fn load_pair(&self, at: impl Place) -> [u64; 2] {
        let left = self.operand(at);
        // SAFETY: guest storage, checked, on one side of the prefix area's end.
        [left, left.behind(8)].map(|at| unsafe { shared_storage::load_u64(at) })
    }

    #[inline(always)]
    fn store_pair(&mut self, at: impl Place, [left, right]: [u64; 2]) {
        let at = self.operand(at);
        // SAFETY: guest storage, checked, on one side of the prefix area's end.
        unsafe {
            shared_storage::store_u64(at, left);
            shared_storage::store_u64(at.behind(8), right);
        }
    }

    #[inline(always)]
    fn store_doublewords(&mut self, at: impl Place, values: impl Iterator<Item = u64>) {
        let real = at.place().unwrap_or_else(|at| self.real_of(at.absolute()));
        let mut place = ptr::with_exposed_provenance_mut::<u64>(real.0 as usize);
        for value in values {
            // SAFETY: guest storage, checked. One store for each: see `program::load`.
            unsafe {
                ptr::write_volatile(place, value);
                place = place.add(1);
            }
        }
    }

    #[inline(always)]
    fn load_u32(&self, at: impl Place) -> u32 {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::load_u32(self.operand(at)) }
    }

    #[inline(always)]
    fn store_u32(&mut self, at: impl Place, value: u32) {
        // SAFETY: guest storage, checked.
        unsafe { shared_storage::store_u32(self.operand(at), value) };
    }

    fn compare_and_swap_u32(&mut self, at: Checked, expected: u32, new: u32) -> Result<(), u32> {
        // SAFETY: guest storage on a word boundary, checked.
        let place = unsafe { AtomicU32::from_ptr(self.place(at)) };
        place
            .compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)
            .map(|_| ())
    }

    fn compare_and_swap_u64(&mut self, at: Checked, expected: u64, new: u64) -> Result<(), u64> {
        // SAFETY: guest storage on a doubleword boundary, checked.
        let place = unsafe { AtomicU64::from_ptr(self.place(at)) };
        place
            .compare_exchange(expected, new, Ordering::SeqCst, Ordering::SeqCst)
            .map(|_| ())
    }

    fn compare_and_swap_u128(
        &mut self,
        at: Checked,
        expected: u128,
        new: u128,
    ) -> Result<(), u128> {
        // SAFETY: guest storage on a quadword boundary, checked.
        unsafe { instruction::cdsg(self.place(at), expected, new) }
    }

    fn move_page(&mut self, from: Frame, to: Frame) {
        let [from, to] = [from, to].map(|frame| self.real_of(frame.origin().absolute()));
        // SAFETY: pages of guest storage, checked; the firmware has no reference to them.
        unsafe { instruction::mvpg(from.0, to.0) };
    }

    fn storage_key(&self, at: Checked) -> u8 {
        instruction::iske(self.real_of(at.absolute()).0)
    }

    fn set_storage_key(&mut self, at: Checked, key: u8) {
        instruction::sske(self.real_of(at.absolute()).0, key);
    }

    fn reset_reference(&mut self, at: Checked) -> ConditionCode {
        instruction::rrbe(self.real_of(at.absolute()).0)
    }

    #[inline(always)]
    fn clock(&self) -> u64 {
        instruction::stckf()
    }

    #[inline(always)]
    fn guest_clock(&self) -> u64 {
        match self.still.clock {
            0 => instruction::stckf(),
            clock => clock,
        }
    }

    fn clock_extended(&self) -> [u8; 16] {
        let mut clock = instruction::stcke();
        if self.still.clock != 0
            && let Some(field) = clock.get_mut(1..9)
        {
            // The guest's next STORE CLOCK may not be earlier.
            field.copy_from_slice(&self.still.clock.to_be_bytes());
        }
        clock
    }

    fn set_clock(&mut self, value: u64) -> Result<u64, ConditionCode> {
        if self.still.clock != 0 {
            let forward = whole_steps(value.wrapping_sub(self.still.completed));
            self.still.forward = self.still.forward.wrapping_add(forward);
            return Ok(forward);
        }
        let (code, before, after) = instruction::sck(value);
        // It is read as long before it is set as after it.
        let passed = after.wrapping_sub(value).wrapping_mul(2);
        match code {
            ConditionCode::Zero => Ok(after.wrapping_sub(before).wrapping_sub(passed)),
            code => Err(code),
        }
    }

    fn clock_was_set(&mut self, forward: u64) {
        self.timer_zero = self.timer_zero.wrapping_add(forward);
        if self.still.clock != 0 {
            self.still.clock = self.still.clock.wrapping_add(forward);
            self.still.completed = self.still.completed.wrapping_add(forward);
            self.still.own = self.still.own.wrapping_add(forward);
        }
    }

    fn set_clock_programmable_field(&mut self, value: u32) {
        instruction::sckpf(value);
    }

    #[inline(always)]
    fn cpu_timer(&self) -> u64 {
        self.timer_zero.wrapping_sub(self.guest_clock())
    }

    fn set_cpu_timer(&mut self, value: u64) {
        self.timer_zero = self.guest_clock().wrapping_add(value);
        // The way out gives back what the guest does not see.
        let hidden = match self.still.clock {
            0 => 0,
            clock => instruction::stckf().saturating_sub(clock),
        };
        instruction::spt(if value >> 63 == 0 {
            value.saturating_sub(hidden)
        } else {
            i64::MAX as u64
        });
    }

    #[inline(always)]
    fn set_clock_comparator(&mut self, value: u64) {
        self.comparator = value;
        instruction::sckc_from(&self.comparator);
    }

    #[inline(always)]
    fn hsa_load(&self, at: Real) -> u64 {
        // SAFETY: a doubleword of the shadow tables or code copies, which nothing refers to.
        unsafe { ptr::read_volatile(ptr::with_exposed_provenance(at.0 as usize)) }
    }

    #[inline(always)]
    fn hsa_store(&mut self, at: Real, value: u64) {
        // SAFETY: as above.
        unsafe { ptr::write_volatile(ptr::with_exposed_provenance_mut(at.0 as usize), value) };
    }

    fn hsa_fill(&mut self, at: Real, length: u64, value: u64) {
        const PIECE: usize = 256 / 8;
        let first = ptr::with_exposed_provenance_mut::<u64>(at.0 as usize);
        // SAFETY: shadow tables, which nothing refers to. The first piece, then one MVC for each other.
        unsafe {
            for n in 0..PIECE {
                ptr::write_volatile(first.add(n), value);
            }
            let mut next = first.add(PIECE);
            for _ in 1..length / 256 {
                ptr::copy_nonoverlapping(first, next, PIECE);
                next = next.add(PIECE);
            }
        }
    }

    fn hsa_fetch(&self, at: Real, into: &mut [u8]) {
        let from = ptr::with_exposed_provenance::<[u8; PAGE as usize]>(at.0 as usize);
        // SAFETY: what is kept in the HSA, which nothing refers to. With a known length the copy needs no EXECUTE of a
        // MOVE, which is slow on QEMU.
        unsafe {
            match <&mut [u8; PAGE as usize]>::try_from(&mut *into) {
                Ok(page) => *page = from.read_unaligned(),
                Err(_) => from.cast::<u8>().copy_to(into.as_mut_ptr(), into.len()),
            }
        }
    }

    fn hsa_move_out(&mut self, from: Real, kept: u64, to: Checked, length: u64) {
        // SAFETY: what is kept in the HSA, and guest storage, checked and within a page; nothing refers to them.
        unsafe {
            shared_storage::move_long((from.0, kept), (self.place::<u8>(to).addr() as u64, length))
        };
    }

    fn copy_page(&mut self, from: Frame, to: Real) {
        let from = self.place::<u64>(from.origin());
        let to = ptr::with_exposed_provenance_mut::<u64>(to.0 as usize);
        // One store for each doubleword: after an MVC, QEMU 7.2 continues to execute the old text except for the
        // instructions at its first byte, and a copy may have been that of another page.
        for n in 0..PAGE as usize / 8 {
            // SAFETY: a page of guest storage and a page of the pool of code copies.
            unsafe { ptr::write_volatile(to.add(n), from.add(n).read_volatile()) };
        }
    }

    #[inline(always)]
    fn absolute_of(&self, at: Real) -> Absolute {
        let offset = at.0.wrapping_sub(self.prefix.address());
        Absolute(if offset < PREFIX_AREA { offset } else { at.0 })
    }

    #[inline(always)]
    fn real_of(&self, at: Absolute) -> Real {
        if at.0 < PREFIX_AREA {
            Real(at.0 + self.prefix.address())
        } else {
            Real(at.0)
        }
    }

    /// QEMU keeps its translation of a page until the page's bytes are stored into, and every store into the page is
    /// slow as long as some of it is kept. When a long MOVE stores, QEMU 7.2 notices only the first byte, for example
    /// when a control program clears the page for another use. So each doubleword is stored once, unchanged.
    fn end_of_text(&mut self, frame: Frame) {
        for at in frame.doublewords() {
            let value = self.load_u64(at);
            // If a device stores something else at this moment, its store remains.
            let _ = self.compare_and_swap_u64(at, value, value);
        }
    }

    fn invalidate_page(&mut self, table: Real, page: Virtual) {
        // SAFETY: the shadow gives only origins of its own page tables.
        unsafe { instruction::ipte(table.0, page.0) };
    }

    fn purge_tlb(&mut self) {
        instruction::ptlb();
    }

    fn load_control(&mut self, number: u8, value: u64) {
        if number == 0 {
            // One CPU listens for input; a service signal goes to any CPU that is enabled for it.
            let shared = self.shared.filter(|_| self.number == 0);
            let listening = shared.map_or(0, |shared| shared.input.listening());
            wait::load_cr0(value | listening);
        } else {
            // SAFETY: the shadow gives only its own tables; DAT is off until the guest runs.
            unsafe { instruction::lctlg(number, value) };
        }
    }

    fn load_spaces(&mut self, values: [u64; 7]) {
        // SAFETY: the shadow gives only its own tables; DAT is off until the guest runs.
        unsafe { instruction::lctlg_1_to_7(&values) };
    }

    fn set_floating_point_control(&mut self, value: u32) {
        registers::set_floating_point_control(value);
    }

    fn load_floating_point(&mut self, number: u8, value: u64) {
        registers::load_floating_point(number, value);
    }

    fn clear_program_registers(&mut self) {
        registers::clear();
    }

    fn number(&self) -> u16 {
        self.number
    }

    fn pause(&mut self) {
        core::hint::spin_loop();
    }

    fn wake(&mut self, cpu: u16) {
        if let Some(shared) = self.shared {
            shared.wake(cpu);
        }
    }

    fn system_information(
        &mut self,
        function: u8,
        selector1: u16,
        selector2: u16,
        into: &mut [u8; 4096],
    ) -> Option<()> {
        let mut block = sclp::SCCB.lock();
        block.0.fill(0);
        let (code, _) = instruction::stsi(function, selector1, selector2, block.0.as_mut_ptr());
        into.copy_from_slice(&block.0);
        (code == ConditionCode::Zero).then_some(())
    }

    fn cpu_id(&self) -> u64 {
        instruction::stidp()
    }

    fn problem_state_counters(&self) -> [u64; 2] {
        counting::read()
    }

    fn true_random(&mut self, into: &mut [u8]) {
        if let Some(shared) = self.shared {
            shared.noise.lock().fill(into);
        }
    }

    fn service_call(&mut self, command: u32, sccb: &mut [u8; 4096]) -> ConditionCode {
        let mut block = sclp::SCCB.lock();
        block.0.copy_from_slice(sccb);
        match block.call(command, true) {
            Ok(_) => {
                sccb.copy_from_slice(&block.0);
                ConditionCode::Zero
            }
            Err(code) => code,
        }
    }

    fn channel_subsystem_call(&mut self, request: &mut [u8; 4096]) -> ConditionCode {
        let mut block = sclp::SCCB.lock();
        block.0.copy_from_slice(request);
        let code = instruction::chsc(&mut block.0);
        request.copy_from_slice(&block.0);
        code
    }

    fn channel(
        &mut self,
        instruction: ChannelInstruction,
        register: u32,
        block: &mut ChannelBlock,
    ) -> Result<ConditionCode, u16> {
        channel::perform(instruction, register, block)
    }

    fn notify(&mut self, subsystem: u32, queue: u16, cookie: u64) -> u64 {
        channel::notify(subsystem.into(), queue.into(), cookie)
    }

    fn saved_registers(&mut self) -> Saved {
        registers::save()
    }

    fn vector_registers(&mut self) -> [u128; 32] {
        registers::save_vectors()
    }

    fn console_write(&mut self, bytes: &[u8]) {
        console::send(Channel::Console, &[bytes]);
        // What the guest has said reaches the host, whatever happens next.
        console::flush();
    }

    fn console_read(&mut self, into: &mut [u8]) -> usize {
        self.shared.map_or(0, |shared| shared.input.take(into))
    }

    fn console_waits(&self) -> bool {
        self.shared.is_some_and(|shared| shared.input.waiting())
    }

    fn still_works(&mut self) {
        let now = instruction::stckf();
        if let Some(shared) = self.shared
            && shared.turns.is_progress_due(now)
        {
            let instructions = shared.turns.last_instructions.load(Ordering::Relaxed);
            console::progress(instructions, now);
        }
    }

    fn loaded(&mut self, times: u32) {
        console::state(&Loaded {
            times: times.into(),
            reserved: 0.into(),
            tod: instruction::stckf().into(),
        });
        console::flush();
    }

    fn expired(&mut self) {
        defmt::warn!("the guest's watchdog has expired: the guest is loaded again");
    }

    fn traced(&mut self, cpu: u16, event: &Event<'_>, stops: bool) {
        if let Some(shared) = self.shared {
            shared.events.add(cpu, event, stops);
        }
    }

    fn not_recorded(&mut self) {
        defmt::error!(
            "the guest requests PER events but gets none, because the machine below cannot forbid the execution of a page: \
             take QEMU"
        );
        console::flush();
    }

    fn not_performed(&mut self, at: Virtual, text: [u8; 6]) {
        self.refusals += 1;
        if self.refusals > MOST_REFUSALS {
            return;
        }
        let mut line = heapless::String::<64>::new();
        let _ = core::fmt::write(&mut line, format_args!("{}", insn::decode(&text)));
        let length = insn::length(text[0]);
        defmt::warn!(
            "operation exception at {=u64:016x}: {=[u8]:02x} ({=str}) is not performed",
            at.0,
            text[..length],
            line.as_str()
        );
    }
}
