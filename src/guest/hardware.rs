//! What a virtual CPU needs of the machine below it: its only connection to hardware.
//!
//! `machine` implements this over the hardware; host tests implement it over arrays, so that
//! a whole virtual CPU runs in `cargo test`.
//!
//! The addresses of guest storage are [`Checked`]: only the storage room makes them, so the implementation trusts them.

use crate::storage::checked::{Checked, Frame, Place, PlacedFrame};
use arch::address::{Absolute, Real, Virtual};
use arch::channel::SCHIB_LENGTH;
use arch::condition::ConditionCode;
use link::trace::Event;

/// An instruction for the channel subsystem of the machine below.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChannelInstruction {
    /// STORE SUBCHANNEL: the subchannel-information block is stored.
    Stsch,
    /// MODIFY SUBCHANNEL: the subchannel-information block is fetched.
    Msch,
    /// START SUBCHANNEL: the operation-request block is fetched.
    Ssch,
    /// TEST SUBCHANNEL: the interruption-response block is stored.
    Tsch,
    /// CLEAR SUBCHANNEL.
    Csch,
    /// HALT SUBCHANNEL.
    Hsch,
    /// RESUME SUBCHANNEL.
    Rsch,
    /// CANCEL SUBCHANNEL.
    Xsch,
    /// RESET CHANNEL PATH.
    Rchp,
    /// TEST PENDING INTERRUPTION: the three words of an I/O interruption are stored.
    Tpi,
    /// STORE CHANNEL REPORT WORD: the word is stored.
    Stcrw,
}

/// The operand of a [`ChannelInstruction`].
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub struct ChannelBlock(pub [u32; 16]);

const _: () = assert!(SCHIB_LENGTH <= size_of::<ChannelBlock>());

impl ChannelBlock {
    /// A block of zeros.
    pub const ZEROS: Self = Self([0; 16]);

    /// A block that begins with these bytes.
    #[must_use]
    pub fn of(bytes: &[u8]) -> Self {
        let mut block = Self::ZEROS;
        for (word, bytes) in block.0.iter_mut().zip(bytes.as_chunks::<4>().0) {
            *word = u32::from_be_bytes(*bytes);
        }
        block
    }

    /// Its bytes.
    #[must_use]
    pub fn bytes(&self) -> [u8; 64] {
        let mut bytes = [0; 64];
        for (bytes, word) in bytes.as_chunks_mut::<4>().0.iter_mut().zip(self.0) {
            *bytes = word.to_be_bytes();
        }
        bytes
    }
}

/// The registers that stay in the hardware and that a machine-check interruption or a status has.
#[derive(Clone, Copy, Debug, Default)]
pub struct Saved {
    /// Floating-point registers.
    pub floating_point: [u64; 16],
    /// Floating-point-control register.
    pub floating_point_control: u32,
    /// Access registers.
    pub access: [u32; 16],
}

/// The machine below, as one virtual CPU sees it.
pub trait Hardware {
    /// Loads bytes of guest storage.
    fn load(&self, at: Checked, into: &mut [u8]);
    /// Stores bytes into guest storage.
    fn store(&mut self, at: Checked, from: &[u8]);
    /// Copies bytes of guest storage that are within a page to others that are, and do not overlap them.
    fn copy(&mut self, from: Checked, to: Checked, length: u64);
    /// Loads a byte of guest storage.
    fn load_u8(&self, at: impl Place) -> u8;
    /// Stores a byte into guest storage.
    fn store_u8(&mut self, at: impl Place, value: u8);
    /// Loads a halfword of guest storage.
    fn load_u16(&self, at: Checked) -> u16;
    /// Stores a halfword into guest storage.
    fn store_u16(&mut self, at: impl Place, value: u16);
    /// Loads a doubleword of guest storage.
    fn load_u64(&self, at: impl Place) -> u64;
    /// Loads two doublewords of a page frame of guest storage, by the offsets of them that are in the frame.
    fn load_two(&self, frame: PlacedFrame, at: [u64; 2]) -> [u64; 2];
    /// Stores a doubleword into guest storage, as one access when `at` is on a doubleword boundary.
    fn store_u64(&mut self, at: impl Place, value: u64);
    /// Loads two doublewords of guest storage, which lie in one page on a doubleword boundary.
    fn load_pair(&self, at: impl Place) -> [u64; 2];
    /// Stores two doublewords into guest storage in the same way.
    fn store_pair(&mut self, at: impl Place, pair: [u64; 2]);
    /// Stores doublewords into guest storage, each with one store, on a doubleword boundary and within a page.
    fn store_doublewords(&mut self, at: impl Place, values: impl Iterator<Item = u64>);
    /// Loads a word of guest storage.
    fn load_u32(&self, at: impl Place) -> u32;
    /// Stores a word into guest storage.
    fn store_u32(&mut self, at: impl Place, value: u32);
    /// Compares and swaps a word, doubleword or quadword on its boundary; on failure returns what was found.
    fn compare_and_swap_u32(&mut self, at: Checked, expected: u32, new: u32) -> Result<(), u32>;
    /// As above, 64 bits.
    fn compare_and_swap_u64(&mut self, at: Checked, expected: u64, new: u64) -> Result<(), u64>;
    /// As above, 128 bits (COMPARE DOUBLE AND SWAP).
    fn compare_and_swap_u128(&mut self, at: Checked, expected: u128, new: u128)
    -> Result<(), u128>;
    /// Moves a page of guest storage to another one.
    fn move_page(&mut self, from: Frame, to: Frame);

    /// INSERT STORAGE KEY EXTENDED of the 4 KiB block.
    fn storage_key(&self, at: Checked) -> u8;
    /// SET STORAGE KEY EXTENDED of the 4 KiB block.
    fn set_storage_key(&mut self, at: Checked, key: u8);
    /// RESET REFERENCE BIT EXTENDED of the 4 KiB block.
    fn reset_reference(&mut self, at: Checked) -> ConditionCode;

    /// STORE CLOCK FAST.
    fn clock(&self) -> u64;
    /// The guest's clock: the same, unless that stands still for the guest while the machine works.
    #[inline(always)]
    fn guest_clock(&self) -> u64 {
        self.clock()
    }
    /// STORE CLOCK EXTENDED.
    fn clock_extended(&self) -> [u8; 16];
    /// SET CLOCK, for the machine and the guest alike: returns by how many units it is set forward (backward, if the
    /// doubleword wraps), or the condition code if it is not set.
    fn set_clock(&mut self, value: u64) -> Result<u64, ConditionCode>;
    /// The clock was set forward by this much: adjusts what this CPU keeps by the clock.
    fn clock_was_set(&mut self, forward: u64);
    /// SET CLOCK PROGRAMMABLE FIELD.
    fn set_clock_programmable_field(&mut self, value: u32);
    /// STORE CPU TIMER; the CPU timer is the guest's.
    fn cpu_timer(&self) -> u64;
    /// SET CPU TIMER.
    fn set_cpu_timer(&mut self, value: u64);

    /// SET CLOCK COMPARATOR: when the machine wants control next.
    fn set_clock_comparator(&mut self, value: u64);

    /// Loads a doubleword of the HSA (shadow tables and code copies).
    fn hsa_load(&self, at: Real) -> u64;
    /// Stores a doubleword into the HSA.
    fn hsa_store(&mut self, at: Real, value: u64);
    /// Fills `length` bytes of the HSA, a multiple of 256, with the same doubleword.
    fn hsa_fill(&mut self, at: Real, length: u64, value: u64);
    /// Fetches bytes of the HSA from any address on.
    fn hsa_fetch(&self, at: Real, into: &mut [u8]);
    /// Moves `kept` bytes of the HSA, and zeros behind them, into `length` bytes within a page of guest storage in one
    /// move. Nothing there was executed.
    fn hsa_move_out(&mut self, from: Real, kept: u64, to: Checked, length: u64);
    /// Copies a page of guest storage into the HSA.
    fn copy_page(&mut self, from: Frame, to: Real);
    /// The real address by which DAT reaches an absolute page. Real 0-1FFF is the machine's own prefix area, so
    /// absolute 0-1FFF is at the machine's prefix.
    fn real_of(&self, at: Absolute) -> Real;
    /// The address of guest storage that the machine has there: the inverse.
    fn absolute_of(&self, at: Real) -> Absolute;
    /// The page, from which instructions were fetched, is about to be stored into.
    fn end_of_text(&mut self, page: Frame);
    /// INVALIDATE PAGE TABLE ENTRY: sets the invalid bit of the entry of `page` in the page table
    /// at `table` and purges the translation on every CPU.
    fn invalidate_page(&mut self, table: Real, page: Virtual);
    /// PURGE TLB of this CPU.
    fn purge_tlb(&mut self);
    /// Loads one real control register.
    fn load_control(&mut self, number: u8, value: u64);
    /// Loads the real control registers 1 to 7.
    fn load_spaces(&mut self, values: [u64; 7]);

    /// Sets the floating-point-control register of this CPU.
    fn set_floating_point_control(&mut self, value: u32);
    /// Loads a floating-point register of this CPU.
    fn load_floating_point(&mut self, number: u8, value: u64);
    /// Sets the floating-point, vector and access registers of this CPU to zeros.
    fn clear_program_registers(&mut self);

    /// The number of this CPU.
    fn number(&self) -> u16;
    /// Makes another real CPU look at its mailbox (SIGNAL PROCESSOR, emergency signal).
    fn wake(&mut self, cpu: u16);
    /// This CPU waits until another one has done something, and tests again and again.
    fn pause(&mut self);
    /// STORE SYSTEM INFORMATION of the machine below into 4 KiB; `None` if not available.
    fn system_information(
        &mut self,
        function: u8,
        selector1: u16,
        selector2: u16,
        into: &mut [u8; 4096],
    ) -> Option<()>;
    /// STORE CPU ID of the machine below.
    fn cpu_id(&self) -> u64;
    /// The problem-state CPU cycles and instructions that the machine below has counted on this CPU, if it does.
    fn problem_state_counters(&self) -> [u64; 2];
    /// Random bytes of the machine, whose seed is from PERFORM RANDOM NUMBER OPERATION of the machine below.
    fn true_random(&mut self, into: &mut [u8]);
    /// SERVICE CALL with a copied SCCB: the machine's own answer to READ SCP INFO and similar commands.
    fn service_call(&mut self, command: u32, sccb: &mut [u8; 4096]) -> ConditionCode;
    /// CHANNEL SUBSYSTEM CALL of the machine below with a copied block: a request, whose length has been tested,
    /// followed by room for the response.
    fn channel_subsystem_call(&mut self, block: &mut [u8; 4096]) -> ConditionCode;
    /// An instruction for the channel subsystem of the machine below, with bits 32-63 of general register
    /// 1. What a block or a register designates has been checked, or is a copy in the HSA.
    ///
    /// # Errors
    /// The program-interruption code if the machine below refuses it.
    fn channel(
        &mut self,
        instruction: ChannelInstruction,
        register: u32,
        block: &mut ChannelBlock,
    ) -> Result<ConditionCode, u16>;
    /// Tells a virtio device of the machine below that there is something in a queue: subsystem identification, queue
    /// and cookie; returns the new cookie, or a negative number.
    fn notify(&mut self, subsystem: u32, queue: u16, cookie: u64) -> u64;
    /// The registers that stay in the hardware, for a machine-check interruption or the status of the CPU.
    fn saved_registers(&mut self) -> Saved;
    /// The vector registers, which contain the floating-point registers. The machine below has the vector facility.
    fn vector_registers(&mut self) -> [u128; 32];
    /// Bytes for the guest's console channel.
    fn console_write(&mut self, bytes: &[u8]);
    /// Bytes that were typed for the guest; returns how many were put into `into`.
    fn console_read(&mut self, into: &mut [u8]) -> usize;
    /// Whether bytes that were typed for the guest wait to be read.
    fn console_waits(&self) -> bool;
    /// The machine still works on one instruction of the guest: the host hears of it now and then.
    fn still_works(&mut self);
    /// The guest's program has been loaded, now `times` times in all.
    fn loaded(&mut self, times: u32);
    /// One line for the machine's log: the guest's watchdog has expired, and its program is loaded again.
    fn expired(&mut self);
    /// An instruction of CPU `cpu` has events that the operator wants to see; if `stops`, the guest stops after it.
    fn traced(&mut self, cpu: u16, event: &Event<'_>, stops: bool);
    /// One line for the machine's log: the guest requests PER events, which the machine below cannot record
    /// ([`crate::state::recording::Support::records`]).
    fn not_recorded(&mut self);
    /// One line for the machine's log: an instruction that is not performed.
    fn not_performed(&mut self, at: Virtual, text: [u8; 6]);
}
