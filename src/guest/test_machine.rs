//! A test machine made of arrays, so that a whole virtual CPU runs in a host test.
//!
//! [`TestMachine`] is the hardware: storage, the HSA behind it, a clock that stands until a test
//! sets it, and a record of the requests to it. An access outside guest storage or the HSA ends the
//! test, because on real hardware it would succeed. [`Bench`] is such a machine with one CPU and a
//! configuration.

use crate::hardware::{ChannelBlock, ChannelInstruction, Hardware, Saved};
use crate::state::channels::{COPY_LENGTH, Channels};
use crate::state::configuration::Configuration;
use crate::state::device::{Device, ROOM_LENGTH};
use crate::state::page_frames::PageFrames;
use crate::state::shadow::{PRIVATE_LENGTH, SharedShadow};
use crate::state::vcpu::{CpuState, Vcpu};
use crate::storage::checked::{Checked, Frame, Place, PlacedFrame};
use arch::address::{Absolute, PAGE, PREFIX_AREA, Real, Virtual};
use arch::channel::{CHAIN_COMMAND, Ccw, PMCW_ENABLED, SCSW_PENDING, SUBCHANNELS};
use arch::condition::ConditionCode;
use arch::cpu::MAXIMUM_CPUS;
use arch::extent::Extent;
use arch::psw::{ADDRESSING_64, Psw};
use arch::table::PTE_INVALID;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32};
use cpumf::ConfigurationLevel;
use cpumf::counters::{Activity, CounterSets};
use cpumf::model;
use cpumf::sampling::SamplingLimits;
use cpumf::{Facility, Installation};
use link::trace::{Event, EventHead};
use std::collections::BTreeMap;

/// The machine's own prefix on CPU 0: at the beginning of the HSA. That of each further CPU is 8 KiB higher.
const MACHINE_PREFIX_OFFSET: u64 = 0;
/// Bytes of the pool of DAT-on shadow tables, for each CPU.
const POOL_LENGTH: u64 = 512 << 10;
/// Pages of code copies.
const COPIES: u64 = 16;
/// The command that asks a device what it is.
const SENSE_IDENTIFICATION: u8 = 0xE4;
/// Subchannels whose devices have room.
const DEVICES: u64 = 1;

/// A subchannel of the machine below, which records what it is told.
#[derive(Clone, Copy, Default)]
pub struct Subchannel {
    /// The subchannel-information block.
    pub schib: [u32; 16],
    /// The operation-request block with which it was last started.
    pub orb: [u32; 3],
    /// The type of virtio device behind it. It answers when it is asked what it is.
    pub model: u8,
    /// Whether the device offers to be one of version 1, when it is asked after revision 1 was chosen.
    pub offers_version_1: bool,
    /// Whether it must be enabled to be started.
    pub is_strict: bool,
    /// How often MODIFY SUBCHANNEL finds a status pending.
    pub pending: u32,
}

/// What looks at the machine after each store into the HSA.
pub type Watcher = Box<dyn Fn(&TestMachine, Real) + Send + Sync>;

/// What looks at each store of bytes into guest storage.
pub type StoreWatcher = Box<dyn Fn() + Send + Sync>;

/// The channel subsystem of the machine below, if a test has channel programs executed by it.
pub trait Below {
    /// Executes an instruction of the channel subsystem.
    fn channel(
        &mut self,
        machine: &mut TestMachine,
        instruction: ChannelInstruction,
        subsystem: u32,
        block: &mut ChannelBlock,
    ) -> ConditionCode;
    /// Notifies a device of a queue; returns its answer.
    fn notify(&mut self, machine: &mut TestMachine, subsystem: u32, queue: u16) -> u64;
}

/// Something that another CPU does.
pub type Meanwhile = Box<dyn FnOnce(&mut TestMachine)>;

/// So many zeros, of which hardly any are looked at. An allocator has a block of this size from the system, which gives a page
/// when it is touched; of a smaller one it would set every byte. That is quicker only where most pages are touched.
fn untouched(length: usize) -> Vec<u8> {
    const FROM_THE_SYSTEM: usize = 33 << 20;
    const LEAST: usize = 1 << 20;
    if length <= LEAST {
        return vec![0; length];
    }
    let mut zeros = vec![0; length.max(FROM_THE_SYSTEM)];
    zeros.truncate(length);
    zeros
}

/// The bytes of a value. In a test program that is hardly optimised this takes a tenth of what a copy of a slice does, and the
/// tests do it billions of times.
fn piece<const N: usize>(bytes: &[u8], at: usize) -> &[u8; N] {
    bytes[at..].first_chunk().expect("the value is in storage")
}

/// Like [`piece`], to change it.
fn piece_mut<const N: usize>(bytes: &mut [u8], at: usize) -> &mut [u8; N] {
    bytes[at..]
        .first_chunk_mut()
        .expect("the value is in storage")
}

/// The machine below.
pub struct TestMachine {
    /// Guest storage, from absolute 0 to the base of the HSA.
    pub storage: Vec<u8>,
    /// The HSA. It begins where guest storage ends.
    pub hsa: Vec<u8>,
    /// Storage keys, one per page frame of guest storage.
    pub keys: Vec<u8>,
    /// The TOD clock.
    pub tod: u64,
    /// Problem-state CPU cycles and instructions.
    pub counters: [u64; 2],
    /// The CPU timer.
    pub timer: u64,
    /// The real clock comparator.
    pub comparator: u64,
    /// The TOD programmable field.
    pub programmable_field: u32,
    /// The real control registers as last loaded.
    pub controls: [u64; 16],
    /// The floating-point-control register.
    pub floating_point_control: u32,
    /// The vector registers; bits 0-63 of the first 16 are the floating-point registers.
    pub vectors: [u128; 32],
    /// The access registers.
    pub access: [u32; 16],
    /// The number of the CPU.
    pub number: u16,
    /// CPUs that were woken, in order.
    pub woken: Vec<u16>,
    /// What the other CPUs do while this one waits for them.
    pub meanwhile: Vec<Meanwhile>,
    /// What the guest wrote to its console.
    pub console: Vec<u8>,
    /// What was typed for the guest.
    pub typed: Vec<u8>,
    /// How often the guest's program has been loaded.
    pub loads: u32,
    /// How often it could have been heard of while it worked on one instruction.
    pub signs_of_life: u32,
    /// Service-call control blocks that answer a command; any other command has response 01F0.
    pub services: BTreeMap<u32, Vec<u8>>,
    /// Blocks that answer STORE SYSTEM INFORMATION for a function and its selectors.
    pub systems: BTreeMap<(u8, u16, u16), Vec<u8>>,
    /// Responses to requests of the channel subsystem, by command; any other response is 0004.
    pub requests: BTreeMap<u16, Vec<u8>>,
    /// The subchannels, from number 0 on.
    pub subchannels: Vec<Subchannel>,
    /// The instructions issued to the subchannels, in order.
    pub channel_orders: Vec<ChannelInstruction>,
    /// The I/O interruption that TEST PENDING INTERRUPTION takes.
    pub io: Option<[u32; 3]>,
    /// The channel report that is stored next.
    pub report: Option<u32>,
    /// Notifications of devices.
    pub notified: Vec<[u64; 3]>,
    /// Executes what is for the channel subsystem; otherwise it is recorded.
    pub below: Option<Box<dyn Below>>,
    /// Page-table entries that were invalidated, by table and page.
    pub invalidated: Vec<(Real, Virtual)>,
    /// How often bytes of the HSA were moved into guest storage in one move.
    pub moves_out: usize,
    /// How often the TLB was purged.
    pub purges: usize,
    /// How often a page that was executed itself ceased to be text.
    pub ended_texts: usize,
    /// The last random byte; each is one more than the one before.
    pub random: u8,
    /// Instructions that nobody performed.
    pub unperformed: Vec<(Virtual, [u8; 6])>,
    /// How often PER events were requested but not recorded.
    pub unrecorded: u32,
    /// How often the watchdog has expired.
    pub expirations: u32,
    /// The events that the operator has traced, with the registers altered and whether the guest stops.
    pub traced: Vec<(EventHead, Vec<u64>, bool)>,
    /// What looks at the machine after each store into the HSA.
    pub watcher: Option<Watcher>,
    /// What looks at each store of bytes into guest storage.
    pub store_watcher: Option<StoreWatcher>,
    /// The doublewords of the HSA that have been stored into as they were, by their places, if somebody wants to know.
    pub before: Option<BTreeMap<usize, [u8; 8]>>,
}

impl TestMachine {
    /// A machine with so much guest storage and HSA, all zeros.
    #[must_use]
    pub fn new(storage: u64, hsa: u64) -> Self {
        Self {
            storage: untouched(storage as usize),
            hsa: untouched(hsa as usize),
            keys: vec![0; (storage / PAGE) as usize],
            counters: [0; 2],
            tod: 0,
            timer: i64::MAX as u64,
            comparator: u64::MAX,
            programmable_field: 0,
            controls: [0; 16],
            floating_point_control: 0,
            vectors: [0; 32],
            access: [0; 16],
            number: 0,
            woken: Vec::new(),
            meanwhile: Vec::new(),
            console: Vec::new(),
            loads: 0,
            signs_of_life: 0,
            typed: Vec::new(),
            services: BTreeMap::new(),
            systems: BTreeMap::new(),
            requests: BTreeMap::new(),
            subchannels: Vec::new(),
            channel_orders: Vec::new(),
            io: None,
            report: None,
            notified: Vec::new(),
            below: None,
            invalidated: Vec::new(),
            purges: 0,
            moves_out: 0,
            ended_texts: 0,
            random: 0,
            unperformed: Vec::new(),
            unrecorded: 0,
            expirations: 0,
            traced: Vec::new(),
            watcher: None,
            store_watcher: None,
            before: None,
        }
    }

    /// Whether the HSA is as it was when [`Self::before`] began. To compare all of it would take a hundred times as long as
    /// most routines.
    #[must_use]
    pub fn hsa_is_as_before(&self) -> bool {
        let before = self.before.as_ref().expect("somebody wants to know");
        let mut stored = before.iter();
        stored.all(|(&at, bytes)| self.hsa[at..][..8] == *bytes)
    }

    /// Notes what is in the HSA before something is stored there.
    fn note(&mut self, at: usize, length: usize) {
        let Some(before) = &mut self.before else {
            return;
        };
        for at in (at / 8 * 8..at + length).step_by(8) {
            before.entry(at).or_insert(*piece(&self.hsa, at));
        }
    }

    fn read<const N: usize>(&self, at: Absolute) -> [u8; N] {
        *piece(&self.storage, at.0 as usize)
    }

    fn write<const N: usize>(&mut self, at: Absolute, bytes: [u8; N]) {
        *piece_mut(&mut self.storage, at.0 as usize) = bytes;
    }

    /// The index in the HSA of a real address of it.
    fn in_hsa(&self, at: Real) -> usize {
        at.0.checked_sub(self.storage.len() as u64)
            .expect("a real address below the HSA") as usize
    }

    fn page_of(at: Absolute) -> usize {
        (at.0 / PAGE) as usize
    }
}

/// Guest storage by any address: a test knows what it does.
#[allow(missing_docs)]
impl TestMachine {
    pub fn load(&self, at: Absolute, into: &mut [u8]) {
        into.copy_from_slice(&self.storage[at.0 as usize..][..into.len()]);
    }

    pub fn store(&mut self, at: Absolute, from: &[u8]) {
        self.storage[at.0 as usize..][..from.len()].copy_from_slice(from);
    }

    pub fn load_u8(&self, at: Absolute) -> u8 {
        let mut byte = [0];
        self.load(at, &mut byte);
        byte[0]
    }

    pub fn store_u8(&mut self, at: Absolute, value: u8) {
        self.store(at, &[value]);
    }

    pub fn load_u16(&self, at: Absolute) -> u16 {
        u16::from_be_bytes(self.read(at))
    }

    pub fn store_u16(&mut self, at: Absolute, value: u16) {
        self.write(at, value.to_be_bytes());
    }

    pub fn load_u64(&self, at: Absolute) -> u64 {
        u64::from_be_bytes(self.read(at))
    }

    pub fn store_u64(&mut self, at: Absolute, value: u64) {
        self.write(at, value.to_be_bytes());
    }

    pub fn load_u32(&self, at: Absolute) -> u32 {
        u32::from_be_bytes(self.read(at))
    }

    pub fn store_u32(&mut self, at: Absolute, value: u32) {
        self.write(at, value.to_be_bytes());
    }

    pub fn compare_and_swap_u32(
        &mut self,
        at: Absolute,
        expected: u32,
        new: u32,
    ) -> Result<(), u32> {
        assert_eq!(at.0 % 4, 0, "COMPARE AND SWAP off its boundary");
        let found = self.load_u32(at);
        if found != expected {
            return Err(found);
        }
        self.store_u32(at, new);
        Ok(())
    }

    pub fn compare_and_swap_u64(
        &mut self,
        at: Absolute,
        expected: u64,
        new: u64,
    ) -> Result<(), u64> {
        assert_eq!(at.0 % 8, 0, "COMPARE AND SWAP off its boundary");
        let found = self.load_u64(at);
        if found != expected {
            return Err(found);
        }
        self.store_u64(at, new);
        Ok(())
    }

    pub fn compare_and_swap_u128(
        &mut self,
        at: Absolute,
        expected: u128,
        new: u128,
    ) -> Result<(), u128> {
        assert_eq!(at.0 % 16, 0, "COMPARE DOUBLE AND SWAP off its boundary");
        let found = u128::from_be_bytes(self.read(at));
        if found != expected {
            return Err(found);
        }
        self.store(at, &new.to_be_bytes());
        Ok(())
    }
}

impl TestMachine {
    /// The guest's address of a place.
    fn absolute(&self, at: impl Place) -> Absolute {
        at.place()
            .map_or_else(|at| at.absolute(), |real| self.absolute_of(real))
    }
}

impl Hardware for TestMachine {
    fn load(&self, at: Checked, into: &mut [u8]) {
        Self::load(self, at.absolute(), into)
    }

    fn store(&mut self, at: Checked, from: &[u8]) {
        if let Some(watcher) = &self.store_watcher {
            watcher();
        }
        Self::store(self, at.absolute(), from)
    }

    fn copy(&mut self, from: Checked, to: Checked, length: u64) {
        let (from, to) = (from.absolute(), to.absolute());
        assert!(from.byte_index() + length <= PAGE && to.byte_index() + length <= PAGE);
        assert!(from.0.abs_diff(to.0) >= length);
        if let Some(watcher) = &self.store_watcher {
            watcher();
        }
        let (from, length) = (from.0 as usize, length as usize);
        self.storage.copy_within(from..from + length, to.0 as usize);
    }

    fn load_u8(&self, at: impl Place) -> u8 {
        Self::load_u8(self, self.absolute(at))
    }

    fn store_u8(&mut self, at: impl Place, value: u8) {
        Self::store_u8(self, self.absolute(at), value)
    }

    fn load_u16(&self, at: Checked) -> u16 {
        Self::load_u16(self, at.absolute())
    }

    fn store_u16(&mut self, at: impl Place, value: u16) {
        Self::store_u16(self, self.absolute(at), value)
    }

    fn load_u64(&self, at: impl Place) -> u64 {
        Self::load_u64(self, self.absolute(at))
    }

    fn load_two(&self, frame: PlacedFrame, at: [u64; 2]) -> [u64; 2] {
        at.map(|at| {
            assert!(at < PAGE && at.is_multiple_of(8), "an offset in the frame");
            Self::load_u64(self, self.absolute(frame.at(Virtual(at))))
        })
    }

    fn store_u64(&mut self, at: impl Place, value: u64) {
        Self::store_u64(self, self.absolute(at), value)
    }

    fn load_pair(&self, at: impl Place) -> [u64; 2] {
        let at = self.absolute(at);
        [Self::load_u64(self, at), Self::load_u64(self, at.offset(8))]
    }

    fn store_pair(&mut self, at: impl Place, [left, right]: [u64; 2]) {
        let at = self.absolute(at);
        Self::store_u64(self, at, left);
        Self::store_u64(self, at.offset(8), right);
    }

    fn store_doublewords(&mut self, at: impl Place, values: impl Iterator<Item = u64>) {
        for (at, value) in (self.absolute(at).0..).step_by(8).zip(values) {
            Self::store_u64(self, Absolute(at), value);
        }
    }

    fn load_u32(&self, at: impl Place) -> u32 {
        Self::load_u32(self, self.absolute(at))
    }

    fn store_u32(&mut self, at: impl Place, value: u32) {
        Self::store_u32(self, self.absolute(at), value)
    }

    fn compare_and_swap_u32(&mut self, at: Checked, expected: u32, new: u32) -> Result<(), u32> {
        Self::compare_and_swap_u32(self, at.absolute(), expected, new)
    }

    fn compare_and_swap_u64(&mut self, at: Checked, expected: u64, new: u64) -> Result<(), u64> {
        Self::compare_and_swap_u64(self, at.absolute(), expected, new)
    }

    fn compare_and_swap_u128(
        &mut self,
        at: Checked,
        expected: u128,
        new: u128,
    ) -> Result<(), u128> {
        Self::compare_and_swap_u128(self, at.absolute(), expected, new)
    }

    fn move_page(&mut self, from: Frame, to: Frame) {
        let [from, to] = [from, to].map(|frame| frame.origin().absolute().0 as usize);
        self.storage.copy_within(from..from + PAGE as usize, to);
    }

    fn storage_key(&self, at: Checked) -> u8 {
        self.keys[Self::page_of(at.absolute())]
    }

    fn set_storage_key(&mut self, at: Checked, key: u8) {
        self.keys[Self::page_of(at.absolute())] = key & 0xFE;
    }

    fn reset_reference(&mut self, at: Checked) -> ConditionCode {
        let key = &mut self.keys[Self::page_of(at.absolute())];
        let code = ConditionCode::from_bits(*key >> 1 & 3);
        *key &= !4;
        code
    }

    fn clock(&self) -> u64 {
        self.tod
    }

    fn clock_extended(&self) -> [u8; 16] {
        let mut clock = [0; 16];
        clock[1..9].copy_from_slice(&self.tod.to_be_bytes());
        clock[14..].copy_from_slice(&(self.programmable_field as u16).to_be_bytes());
        clock
    }

    fn set_clock(&mut self, value: u64) -> Result<u64, ConditionCode> {
        Ok(value.wrapping_sub(core::mem::replace(&mut self.tod, value)))
    }

    fn clock_was_set(&mut self, _forward: u64) {
        // Nothing here is kept by the clock.
    }

    fn set_clock_programmable_field(&mut self, value: u32) {
        self.programmable_field = value;
    }

    fn cpu_timer(&self) -> u64 {
        self.timer
    }

    fn set_cpu_timer(&mut self, value: u64) {
        self.timer = value;
    }

    fn set_clock_comparator(&mut self, value: u64) {
        self.comparator = value;
    }

    fn hsa_load(&self, at: Real) -> u64 {
        u64::from_be_bytes(*piece(&self.hsa, self.in_hsa(at)))
    }

    fn hsa_store(&mut self, at: Real, value: u64) {
        let index = self.in_hsa(at);
        self.note(index, 8);
        *piece_mut(&mut self.hsa, index) = value.to_be_bytes();
        if let Some(watcher) = &self.watcher {
            watcher(self, at);
        }
    }

    fn hsa_fill(&mut self, at: Real, length: u64, value: u64) {
        assert_eq!(length % 256, 0, "a piece of 256 bytes is not whole");
        if self.watcher.is_some() {
            for offset in (0..length).step_by(8) {
                self.hsa_store(at.offset(offset), value);
            }
            return;
        }
        let (index, length) = (self.in_hsa(at), length as usize);
        self.note(index, length);
        let (doublewords, _) = self.hsa[index..][..length].as_chunks_mut();
        doublewords.fill(value.to_be_bytes());
    }

    fn hsa_fetch(&self, at: Real, into: &mut [u8]) {
        let index = self.in_hsa(at);
        into.copy_from_slice(&self.hsa[index..][..into.len()]);
    }

    fn hsa_move_out(&mut self, from: Real, kept: u64, to: Checked, length: u64) {
        let index = self.in_hsa(from);
        let to = &mut self.storage[to.absolute().0 as usize..][..length as usize];
        let (first, rest) = to.split_at_mut(kept as usize);
        first.copy_from_slice(&self.hsa[index..][..kept as usize]);
        rest.fill(0);
        self.moves_out += 1;
    }

    fn copy_page(&mut self, from: Frame, to: Real) {
        let from = from.origin().absolute();
        let index = self.in_hsa(to);
        self.note(index, PAGE as usize);
        let page = &self.storage[from.0 as usize..][..PAGE as usize];
        self.hsa[index..][..PAGE as usize].copy_from_slice(page);
    }

    fn absolute_of(&self, at: Real) -> Absolute {
        let prefix = self.storage.len() as u64 + MACHINE_PREFIX_OFFSET;
        Absolute(at.0.checked_sub(prefix).unwrap_or(at.0))
    }

    fn real_of(&self, at: Absolute) -> Real {
        if at.0 < PREFIX_AREA {
            Real(self.storage.len() as u64 + MACHINE_PREFIX_OFFSET + at.0)
        } else {
            Real(at.0)
        }
    }

    fn end_of_text(&mut self, _page: Frame) {
        self.ended_texts += 1;
    }

    fn invalidate_page(&mut self, table: Real, page: Virtual) {
        let entry = table.offset((page.0 >> 12 & 0xFF) * 8);
        self.hsa_store(entry, self.hsa_load(entry) | PTE_INVALID);
        self.invalidated.push((table, page));
    }

    fn purge_tlb(&mut self) {
        self.purges += 1;
    }

    fn load_control(&mut self, number: u8, value: u64) {
        self.controls[usize::from(number)] = value;
    }

    fn load_spaces(&mut self, values: [u64; 7]) {
        self.controls[1..8].copy_from_slice(&values);
    }

    fn set_floating_point_control(&mut self, value: u32) {
        self.floating_point_control = value;
    }

    fn load_floating_point(&mut self, number: u8, value: u64) {
        let register = &mut self.vectors[usize::from(number)];
        *register = u128::from(value) << 64 | *register & u128::from(u64::MAX);
    }

    fn clear_program_registers(&mut self) {
        self.vectors = [0; 32];
        self.access = [0; 16];
    }

    fn number(&self) -> u16 {
        self.number
    }

    fn pause(&mut self) {
        assert!(!self.meanwhile.is_empty(), "the CPU waits for ever");
        let next = self.meanwhile.remove(0);
        next(self);
    }

    fn wake(&mut self, cpu: u16) {
        self.woken.push(cpu);
    }

    fn system_information(
        &mut self,
        function: u8,
        selector1: u16,
        selector2: u16,
        into: &mut [u8; 4096],
    ) -> Option<()> {
        let block = self.systems.get(&(function, selector1, selector2))?;
        into[..block.len()].copy_from_slice(block);
        Some(())
    }

    fn cpu_id(&self) -> u64 {
        0x0000_0000_8561_8000
    }

    fn problem_state_counters(&self) -> [u64; 2] {
        self.counters
    }

    fn true_random(&mut self, into: &mut [u8]) {
        for byte in into {
            self.random = self.random.wrapping_add(1);
            *byte = self.random;
        }
    }

    fn service_call(&mut self, command: u32, sccb: &mut [u8; 4096]) -> ConditionCode {
        match self.services.get(&command) {
            Some(answer) => sccb[..answer.len()].copy_from_slice(answer),
            None => sccb[6..8].copy_from_slice(&0x01F0_u16.to_be_bytes()),
        }
        ConditionCode::Zero
    }

    fn channel_subsystem_call(&mut self, block: &mut [u8; 4096]) -> ConditionCode {
        let length = usize::from(u16::from_be_bytes([block[0], block[1]]));
        let command = u16::from_be_bytes([block[2], block[3]]);
        let none = vec![0, 8, 0, 4, 0, 0, 0, 0];
        let response = self.requests.get(&command).unwrap_or(&none);
        block[length..][..response.len()].copy_from_slice(response);
        ConditionCode::Zero
    }

    fn channel(
        &mut self,
        instruction: ChannelInstruction,
        register: u32,
        block: &mut ChannelBlock,
    ) -> Result<ConditionCode, u16> {
        use ChannelInstruction as I;
        if let Some(mut below) = self.below.take() {
            let code = below.channel(self, instruction, register, block);
            self.below = Some(below);
            return Ok(code);
        }
        match instruction {
            I::Tpi => {
                return Ok(match self.io.take() {
                    Some(words) => {
                        block.0[..3].copy_from_slice(&words);
                        ConditionCode::One
                    }
                    None => ConditionCode::Zero,
                });
            }
            I::Stcrw => {
                let report = self.report.take();
                block.0[0] = report.unwrap_or(0);
                return Ok(ConditionCode::from_bits(u8::from(report.is_none())));
            }
            I::Rchp => return Ok(ConditionCode::Three),
            _ if register & 0x1_0000 == 0 => return Err(0x15),
            _ => {}
        }
        let Some(subchannel) = self.subchannels.get_mut(usize::from(register as u16)) else {
            return Ok(ConditionCode::Three);
        };
        self.channel_orders.push(instruction);
        match instruction {
            I::Stsch => block.0 = subchannel.schib,
            I::Msch if subchannel.pending != 0 => {
                subchannel.pending -= 1;
                return Ok(ConditionCode::One);
            }
            I::Msch => {
                subchannel.schib[..7].copy_from_slice(&block.0[..7]);
                subchannel.schib[10..12].copy_from_slice(&block.0[10..12]);
            }
            I::Ssch if subchannel.schib[1] & PMCW_ENABLED == 0 && subchannel.is_strict => {
                return Ok(ConditionCode::Three);
            }
            I::Ssch => {
                subchannel.orb = [block.0[0], block.0[1], block.0[2]];
                let ccw = Ccw::from_format_1(self.hsa_load(Real(block.0[2].into())));
                let model = self.subchannels[usize::from(register as u16)].model;
                if ccw.command == SENSE_IDENTIFICATION && model != 0 {
                    let identification = 0xFF38_3200_0000_0000 | u64::from(model) << 32;
                    self.hsa_store(Real(ccw.address.into()), identification);
                }
                self.read_features(ccw, block.0[2], usize::from(register as u16));
            }
            I::Rsch if subchannel.schib[7] & SCSW_PENDING != 0 => return Ok(ConditionCode::One),
            // The resume function is pending.
            I::Rsch => subchannel.schib[7] |= 0x800,
            I::Tsch => block.0[..3].copy_from_slice(&subchannel.schib[7..10]),
            _ => {}
        }
        Ok(ConditionCode::Zero)
    }

    fn notify(&mut self, subsystem: u32, queue: u16, cookie: u64) -> u64 {
        self.notified.push([subsystem.into(), queue.into(), cookie]);
        let Some(mut below) = self.below.take() else {
            return cookie + 1;
        };
        let answer = below.notify(self, subsystem, queue);
        self.below = Some(below);
        answer
    }

    fn saved_registers(&mut self) -> Saved {
        Saved {
            floating_point: core::array::from_fn(|n| (self.vectors[n] >> 64) as u64),
            floating_point_control: self.floating_point_control,
            access: self.access,
        }
    }

    fn vector_registers(&mut self) -> [u128; 32] {
        self.vectors
    }

    fn console_write(&mut self, bytes: &[u8]) {
        self.console.extend_from_slice(bytes);
    }

    fn console_read(&mut self, into: &mut [u8]) -> usize {
        let count = into.len().min(self.typed.len());
        for (to, from) in into.iter_mut().zip(self.typed.drain(..count)) {
            *to = from;
        }
        count
    }

    fn console_waits(&self) -> bool {
        !self.typed.is_empty()
    }

    fn still_works(&mut self) {
        self.signs_of_life += 1;
    }

    fn loaded(&mut self, times: u32) {
        self.loads = times;
    }

    fn expired(&mut self) {
        self.expirations += 1;
    }

    fn traced(&mut self, _cpu: u16, event: &Event<'_>, stops: bool) {
        let registers = event.registers.iter().map(|value| value.get()).collect();
        self.traced.push((event.head, registers, stops));
    }

    fn not_recorded(&mut self) {
        self.unrecorded += 1;
    }

    fn not_performed(&mut self, at: Virtual, text: [u8; 6]) {
        self.unperformed.push((at, text));
    }
}

/// A test machine with one CPU and its configuration.
pub struct Bench {
    /// CPU 0: operating, in the supervisor state and the 64-bit addressing mode, DAT off.
    pub cpu: Vcpu,
    /// The configuration.
    pub configuration: Configuration,
    /// The machine below.
    pub hardware: TestMachine,
}

impl Bench {
    /// A bench with 4 MiB of guest storage.
    #[must_use]
    pub fn new() -> Self {
        Self::with_storage(4 << 20)
    }

    /// A bench with so much guest storage, a multiple of 1 MiB.
    #[must_use]
    pub fn with_storage(storage: u64) -> Self {
        Self::with_extent(Extent::up_to(storage))
    }

    /// A bench with this guest storage, whose boundaries are multiples of 1 MiB.
    #[must_use]
    pub fn with_extent(extent: Extent) -> Self {
        Self::with(extent, DEVICES)
    }

    /// A bench with 4 MiB of guest storage and room for so many devices.
    #[must_use]
    pub fn with_devices(devices: u64) -> Self {
        Self::with(Extent::up_to(4 << 20), devices)
    }

    fn with(extent: Extent, devices: u64) -> Self {
        let storage = extent.end();
        let cpus = MAXIMUM_CPUS as u64;
        let prefixes = storage + MACHINE_PREFIX_OFFSET;
        let identity = prefixes + cpus * PREFIX_AREA;
        let private =
            (identity + SharedShadow::identity_length(storage, cpus)).next_multiple_of(PAGE);
        let pools = (private + cpus * PRIVATE_LENGTH).next_multiple_of(PAGE);
        let copies = pools + cpus * POOL_LENGTH;
        let programs = copies + COPIES * PAGE;
        let rooms = programs + SUBCHANNELS as u64 * COPY_LENGTH;
        let end = rooms + devices * ROOM_LENGTH;
        let devices = (0..devices).map(|number| Real(rooms + number * ROOM_LENGTH));
        let devices = devices.map(|room| &mut *Box::leak(Box::new(Device::new(room))));
        let channels = Channels::new(Real(programs), devices);
        let pages = PageFrames::new(
            (0..storage / PAGE)
                .map(|_| AtomicU16::new(0))
                .collect::<Vec<_>>()
                .leak(),
            (0..COPIES)
                .map(|_| AtomicU32::new(0))
                .collect::<Vec<_>>()
                .leak(),
            Real(copies),
        )
        .with_devices(
            (0..storage / PAGE)
                .map(|_| AtomicU8::new(0))
                .collect::<Vec<_>>()
                .leak(),
        );
        let shadow = SharedShadow::new(
            storage,
            Real(identity),
            Real(private),
            Real(pools),
            POOL_LENGTH,
            core::array::from_fn(|cpu| prefixes + cpu as u64 * PREFIX_AREA),
        );
        let mut cpu = Vcpu::new(0, Self::facility(), Self::facility());
        cpu.state = CpuState::Operating;
        cpu.psw = Psw {
            mask: ADDRESSING_64,
            address: 0,
        };
        let mut configuration = Configuration::new(extent, 1 << 20, 1, pages, shadow, channels);
        configuration.machine_end = end;
        Self {
            cpu,
            configuration,
            hardware: TestMachine::new(storage, end - storage),
        }
    }

    /// A facility with everything installed, and authorized as far as it has an honest source.
    #[must_use]
    pub fn facility() -> Facility {
        let level = ConfigurationLevel::LogicalPartition;
        let limits = SamplingLimits {
            minimum: 1000,
            maximum: 1 << 32,
            cpu_speed: 1000,
        };
        let mut facility = Facility::new(level, &model::DEFAULT, Installation::ALL, limits);
        facility.authorize_counters(CounterSets::HONEST, &Activity::NONE);
        facility.authorize_basic_sampling(true);
        facility
    }

    /// Puts bytes into absolute storage, past every test.
    pub fn set(&mut self, at: u64, bytes: &[u8]) {
        self.hardware.store(Absolute(at), bytes);
    }

    /// Puts doublewords into absolute storage, past every test.
    pub fn set_doublewords(&mut self, at: u64, values: &[u64]) {
        for (at, &value) in (at..).step_by(8).zip(values) {
            self.hardware.store_u64(Absolute(at), value);
        }
    }

    /// A doubleword of absolute storage.
    #[must_use]
    pub fn doubleword(&self, at: u64) -> u64 {
        self.hardware.load_u64(Absolute(at))
    }

    /// A word of absolute storage.
    #[must_use]
    pub fn word(&self, at: u64) -> u32 {
        self.hardware.load_u32(Absolute(at))
    }
}

impl TestMachine {
    /// A program that chooses revision 1 and asks for features 32-63 is answered.
    fn read_features(&mut self, first: Ccw, program: u32, subchannel: usize) {
        let second = Ccw::from_format_1(self.hsa_load(Real(u64::from(program) + 8)));
        let at = Real(second.address.into());
        let is_asked = (first.command, second.command) == (0x83, 0x12)
            && first.flags & CHAIN_COMMAND != 0
            && self.hsa_load(Real(first.address.into())) >> 48 == 1
            && self.hsa_load(at) == 1 << 24;
        if is_asked && self.subchannels[subchannel].offers_version_1 {
            self.hsa_store(at, 1 << 56 | 1 << 24);
        }
    }
}
