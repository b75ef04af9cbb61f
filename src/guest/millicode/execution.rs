//! The performance of one instruction: the CPU, its configuration and the machine below.
//!
//! The routines share the few steps that the manual also describes once for all instructions: testing
//! the problem state, forming an operand address, and fetching and storing an operand.

use crate::hardware::Hardware;
use crate::millicode::outcome::{Outcome, Performed};
use crate::millicode::path::{Fast, General, Path};
use crate::state::access::{Access, AccessKey, Space};
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::vcpu::Vcpu;
use crate::storage::{self, Claim, Placed};
use arch::address::{Real, Virtual};
use arch::condition::ConditionCode;
use arch::control::{CR0_EXTRACTION_AUTHORITY, CR0_SECONDARY_SPACE};
use arch::interruption::ProgramInterruption;
use arch::psw::{
    ADDRESS_SPACE, ADDRESSING_64, AddressSpace, DAT, EXTERNAL, IO, KEY, MACHINE_CHECK, PER, PROBLEM,
};
use core::marker::PhantomData;
use insn::Operand;

/// The PSW masks, and the bits whose change can open an interruption.
const MASKS: u64 = IO | EXTERNAL | MACHINE_CHECK;

/// What a routine works on, and which path it takes.
pub(super) struct Execution<'a, H, P = General> {
    /// The CPU that issued the instruction.
    pub cpu: &'a mut Vcpu,
    /// The configuration that it belongs to.
    pub configuration: &'a Configuration,
    /// The machine below.
    pub hardware: &'a mut H,
    path: PhantomData<P>,
}

/// A program exception that stores no identification.
#[inline(always)]
pub(super) fn fault<T, R: From<ProgramInterruption>>(
    interruption: ProgramInterruption,
) -> Result<T, R> {
    Err(interruption.into())
}

impl<'a, H: Hardware> Execution<'a, H> {
    /// Performs an instruction on the general path.
    #[inline(always)]
    pub fn general(
        cpu: &'a mut Vcpu,
        configuration: &'a Configuration,
        hardware: &'a mut H,
    ) -> Self {
        Self {
            cpu,
            configuration,
            hardware,
            path: PhantomData,
        }
    }
}

impl<'a, H: Hardware> Execution<'a, H, Fast> {
    /// Performs an instruction on the fast path; the CPU is in the 64-bit addressing mode.
    #[inline(always)]
    pub fn fast(cpu: &'a mut Vcpu, configuration: &'a Configuration, hardware: &'a mut H) -> Self {
        Self {
            cpu,
            configuration,
            hardware,
            path: PhantomData,
        }
    }
}

impl<H: Hardware, P: Path> Execution<'_, H, P> {
    /// The test of a privileged instruction. The fast path also leaves a PSW key other than zero to the general path,
    /// which tests the storage keys of operands.
    #[inline(always)]
    pub fn supervisor(&self) -> Result<(), P::Refusal> {
        let refused = if P::FAST { PROBLEM | KEY } else { PROBLEM };
        if self.cpu.psw.mask & refused != 0 {
            return fault(ProgramInterruption::PrivilegedOperation);
        }
        Ok(())
    }

    /// Whether the CPU is in the problem state, for an instruction with an operand in storage that may not be
    /// privileged. The fast path handles it in the supervisor state only, and with PSW key zero.
    #[inline(always)]
    pub fn problem_state(&self) -> Result<bool, P::Refusal> {
        if P::FAST {
            self.supervisor()?;
        }
        Ok(self.cpu.psw.problem_state())
    }

    /// The access key of operands, if the instruction specifies none: the PSW key.
    #[inline(always)]
    pub const fn key(&self) -> AccessKey {
        if P::FAST {
            AccessKey::ZERO
        } else {
            AccessKey::of(&self.cpu.psw)
        }
    }

    /// The test of an instruction that the problem state may issue when the extraction-authority
    /// control (bit 36 of control register 0) is one.
    #[inline]
    pub fn extraction(&self) -> Result<(), P::Refusal> {
        if self.cpu.control[0] & CR0_EXTRACTION_AUTHORITY != 0 {
            return Ok(());
        }
        self.supervisor()
    }

    /// The test that DAT is on.
    #[inline]
    pub fn dat(&self) -> Result<(), P::Refusal> {
        if self.cpu.psw.dat() {
            return Ok(());
        }
        fault(ProgramInterruption::SpecialOperation)
    }

    /// The test that the secondary-space control (bit 37 of control register 0) is one.
    #[inline]
    pub fn secondary_space(&self) -> Result<(), P::Refusal> {
        if self.cpu.control[0] & CR0_SECONDARY_SPACE != 0 {
            return Ok(());
        }
        fault(ProgramInterruption::SpecialOperation)
    }

    /// Whether the current program may use the access key. The supervisor state may use all keys; the
    /// problem state may use those whose bit is one in the PSW-key mask (bits 32-47 of control
    /// register 3).
    #[inline]
    pub fn may_use_key(&self, key: AccessKey) -> bool {
        !self.cpu.psw.problem_state()
            || self.cpu.control[3] << (32 + u32::from(key.number())) >> 63 == 1
    }

    /// The test of a boundary; `unit` is a power of two.
    #[inline(always)]
    pub fn boundary(&self, at: Virtual, unit: u64) -> Result<(), P::Refusal> {
        if at.0 & (unit - 1) == 0 {
            return Ok(());
        }
        fault(ProgramInterruption::Specification)
    }

    /// The contents of general register `n`.
    #[inline]
    pub fn register(&self, n: u8) -> u64 {
        self.cpu.general[usize::from(n & 15)]
    }

    /// Sets all 64 bits of general register `n`.
    #[inline]
    pub fn set_register(&mut self, n: u8, value: u64) {
        self.cpu.general[usize::from(n & 15)] = value;
    }

    /// Sets bits 32-63 of general register `n`; the others stay.
    #[inline]
    pub fn set_word(&mut self, n: u8, value: u32) {
        let register = &mut self.cpu.general[usize::from(n & 15)];
        *register = *register & !0xFFFF_FFFF | u64::from(value);
    }

    /// The effective address of a storage operand, in the current addressing mode.
    #[inline]
    pub fn address(&self, operand: Operand) -> Virtual {
        let mask = if P::FAST {
            u64::MAX
        } else {
            self.cpu.psw.address_mask()
        };
        Virtual(operand.address(&self.cpu.general) & mask)
    }

    /// The contents of a register as an address, in the current addressing mode.
    #[inline]
    pub fn address_in(&self, n: u8) -> u64 {
        self.register(n) & self.cpu.psw.address_mask()
    }

    /// A register as a length: 64 bits in the 64-bit addressing mode, else bits 32-63.
    #[inline]
    pub fn length_in(&self, n: u8) -> u64 {
        let value = self.register(n);
        if self.extended() {
            value
        } else {
            value & 0xFFFF_FFFF
        }
    }

    /// Whether the CPU is in the 64-bit addressing mode.
    #[inline]
    pub fn extended(&self) -> bool {
        self.cpu.psw.mask & ADDRESSING_64 == ADDRESSING_64
    }

    /// The address space that the address-space control of the PSW selects for LOAD REAL ADDRESS,
    /// whether DAT is on or off.
    #[inline]
    pub fn operand_space(&self) -> Space {
        match self.cpu.psw.address_space() {
            AddressSpace::Secondary => Space::Secondary,
            AddressSpace::Home => Space::Home,
            AddressSpace::Primary | AddressSpace::AccessRegister => Space::Primary,
        }
    }

    /// Fetches a byte at a logical address.
    #[inline(always)]
    pub fn fetch_u8(&self, at: Virtual) -> Result<u8, P::Refusal> {
        if let Some(place) = self.kept(at, 1, Access::Fetch) {
            return Ok(self.hardware.load_u8(place));
        }
        P::general_only(|| storage::fetch_u8(self.cpu, self.configuration, self.hardware, at))
    }

    /// Fetches a word at a logical address.
    #[inline(always)]
    pub fn fetch_u32(&self, at: Virtual) -> Result<u32, P::Refusal> {
        P::general_only(|| storage::fetch_u32(self.cpu, self.configuration, self.hardware, at))
    }

    /// Fetches a doubleword at a logical address.
    #[inline(always)]
    pub fn fetch_u64(&self, at: Virtual) -> Result<u64, P::Refusal> {
        if let Some(place) = self.kept(at, 8, Access::Fetch) {
            return Ok(self.hardware.load_u64(place));
        }
        P::general_only(|| storage::fetch_u64(self.cpu, self.configuration, self.hardware, at))
    }

    /// Fetches two doublewords at a logical address, both or neither.
    #[inline(always)]
    pub fn fetch_pair(&self, at: Virtual) -> Result<[u64; 2], P::Refusal> {
        if let Some(place) = self.kept(at, 16, Access::Fetch) {
            return Ok(self.hardware.load_pair(place));
        }
        P::general_only(|| {
            let mut pair = [0; 16];
            storage::fetch(self.cpu, self.configuration, self.hardware, at, &mut pair)?;
            let pair = u128::from_be_bytes(pair);
            Ok([(pair >> 64) as u64, pair as u64])
        })
    }

    /// Fetches bytes at a logical address.
    #[inline(always)]
    pub fn fetch(&self, at: Virtual, into: &mut [u8]) -> Result<(), P::Refusal> {
        P::general_only(|| storage::fetch(self.cpu, self.configuration, self.hardware, at, into))
    }

    /// Stores a byte at a logical address.
    #[inline(always)]
    pub fn put_u8(&mut self, at: Virtual, value: u8) -> Result<(), P::Refusal> {
        if let Some(place) = self.kept(at, 1, Access::Store) {
            self.hardware.store_u8(place, value);
            return Ok(());
        }
        P::general_only(|| storage::put_u8(self.cpu, self.configuration, self.hardware, at, value))
    }

    /// Stores a halfword at a logical address.
    #[inline(always)]
    pub fn put_u16(&mut self, at: Virtual, value: u16) -> Result<(), P::Refusal> {
        if let Some(place) = self.kept(at, 2, Access::Store) {
            self.hardware.store_u16(place, value);
            return Ok(());
        }
        P::general_only(|| storage::put_u16(self.cpu, self.configuration, self.hardware, at, value))
    }

    /// Stores a word at a logical address.
    #[inline(always)]
    pub fn put_u32(&mut self, at: Virtual, value: u32) -> Result<(), P::Refusal> {
        P::general_only(|| storage::put_u32(self.cpu, self.configuration, self.hardware, at, value))
    }

    /// Stores a doubleword at a logical address.
    #[inline(always)]
    pub fn put_u64(&mut self, at: Virtual, value: u64) -> Result<(), P::Refusal> {
        if let Some(place) = self.kept(at, 8, Access::Store) {
            self.hardware.store_u64(place, value);
            return Ok(());
        }
        P::general_only(|| storage::put_u64(self.cpu, self.configuration, self.hardware, at, value))
    }

    /// Stores bytes at a logical address.
    #[inline(always)]
    pub fn put(&mut self, at: Virtual, from: &[u8]) -> Result<(), P::Refusal> {
        P::general_only(|| storage::put(self.cpu, self.configuration, self.hardware, at, from))
    }

    /// The place of an operand in the page last fetched from or stored into. Only the fast
    /// path uses it: the general path looks there itself.
    #[inline(always)]
    pub fn kept(&self, at: Virtual, length: u64, access: Access) -> Option<Placed> {
        if P::FAST {
            let frame = storage::kept_frame(self.cpu, self.configuration, at, length, access)?;
            Some(frame.at(at))
        } else {
            None
        }
    }

    /// Tests an access to an operand without making it.
    #[inline(always)]
    pub fn claim(&self, at: Virtual, length: u64, access: Access) -> Result<Claim, P::Refusal> {
        P::general_only(|| {
            storage::resolve(
                self.cpu,
                self.configuration,
                self.hardware,
                at,
                length,
                access,
            )
        })
    }

    /// Fetches a table entry: a doubleword at a real address on its boundary. No key is tested.
    #[inline]
    pub fn entry(&self, at: Real) -> Result<u64, P::Refusal> {
        let key = AccessKey::ZERO;
        P::general_only(|| storage::real_u64(self.cpu, self.configuration, self.hardware, key, at))
    }

    /// Replaces the left half of the PSW by one that differs in bits 0-7 or in the address-space
    /// control, and leaves the consequences to the way out.
    #[inline]
    pub fn set_mask(&mut self, mask: u64) {
        let changed = self.cpu.psw.mask ^ mask;
        self.cpu.psw.mask = mask;
        if mask & changed & MASKS != 0 {
            self.cpu.pending_work |= PendingWork::OPENED;
        }
        if changed & (PER | DAT | ADDRESS_SPACE) != 0 {
            self.cpu.pending_work |= PendingWork::CONTROLS;
        }
    }

    /// Completion with a condition code.
    #[inline]
    pub fn done(&mut self, code: ConditionCode) -> Performed<P::Refusal> {
        self.cpu.set_cc(code);
        Ok(Outcome::Completed)
    }
}
