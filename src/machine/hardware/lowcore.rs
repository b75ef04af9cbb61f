//! The prefix area of a CPU: the architecture's assigned storage locations, and this machine's own fields in the part
//! that the architecture leaves to programs.
//!
//! The layout is defined here only. Assembly takes its displacements from it by `offset_of!`; Rust reads and writes
//! only named fields.

use crate::arch::channel::IoInterruption;
use crate::arch::interruption::Class;
use crate::arch::lowcore as assigned;
use crate::arch::psw::{ADDRESSING_64, Psw};
use crate::machine::hardware::hsa::Prefix;
use core::arch::asm;
use core::marker::PhantomData;
use core::mem::offset_of;
use core::ptr;

/// A prefix area.
#[repr(C)]
pub struct Lowcore {
    reserved_0: [u8; 0x80],
    external_parameter: u32,
    reserved_1: u16,
    external_code: u16,
    supervisor_call_identification: u32,
    program_identification: u32,
    data_exception_code: u32,
    monitor_class: u16,
    reserved_2: [u8; 10],
    exception_access: u8,
    reserved_3: [u8; 7],
    translation_exception: u64,
    monitor_code: u64,
    io_interruption: [u32; 3],
    reserved_4: [u8; 0x24],
    machine_check_code: u64,
    reserved_5: [u8; 0x30],
    /// Restart old PSW.
    pub restart_old: Psw,
    /// External old PSW.
    pub external_old: Psw,
    /// Supervisor-call old PSW.
    pub supervisor_call_old: Psw,
    /// Program old PSW.
    pub program_old: Psw,
    /// Machine-check old PSW.
    pub machine_check_old: Psw,
    /// I/O old PSW.
    pub io_old: Psw,
    reserved_6: [u8; 0x20],
    restart_new: Psw,
    /// External new PSW.
    pub external_new: Psw,
    supervisor_call_new: Psw,
    program_new: Psw,
    /// Machine-check new PSW.
    pub machine_check_new: Psw,
    /// I/O new PSW.
    pub io_new: Psw,
    /// The address of the `Cpu` that this real CPU works for.
    pub cpu: u64,
    /// General register 15 as a rare or an own interruption found it.
    pub register_15: u64,
    /// The stack pointer with which an interruption begins.
    pub stack: u64,
    /// Where an expected program interruption continues; zero if none is expected.
    pub continue_at: u64,
    /// The PSW that is loaded by the exit to the guest, by a probe, and after an expected interruption.
    pub exit_psw: Psw,
    /// Where this CPU's copies of the trap entry's first instructions are.
    entries: u64,
    /// The stack pointer of a wait or probe in progress.
    pub caller_stack: u64,
    /// Where STORE THEN AND SYSTEM MASK puts the old mask, which is not used.
    pub system_mask: u64,
    /// Control register 0 as the firmware last loaded it.
    control_0: u64,
    /// The addresses of the external, I/O and machine-check new PSWs during a wait.
    pub kept_new: [u64; 3],
    /// General registers when the firmware failed.
    pub failed_registers: [u64; 16],
    /// The clock when the last wait began.
    pub wait_began: u64,
    /// The clock when the last wait ended.
    pub wait_ended: u64,
    /// The address of a probe's two clock stamps.
    pub probe_stamps: u64,
    /// General registers that a probe begins with.
    pub probe_registers: [u64; 16],
    /// General registers at the end of a probe, which are not used.
    pub probed_registers: [u64; 16],
    /// What the exits of a run with a window need.
    pub window: WindowArea,
    reserved_8: [u8; 0xE00 - size_of::<WindowArea>()],
    saved_floating_point: [u64; 16],
    reserved_9: [u8; 0x9C],
    saved_floating_point_control: u32,
    reserved_10: [u8; 0x20],
    saved_access: [u32; 16],
    reserved_11: [u8; 0xC80],
}

/// What the exits of a run with a window need: how they set the guest's clock back. See [`crate::machine::window`].
#[repr(C)]
#[derive(Clone, Copy)]
pub struct WindowArea {
    /// The clock to which the guest's clock goes back, or from which the way back is counted.
    pub began: u64,
    /// The CPU timer as it was found.
    pub timer: u64,
    /// A CPU timer that does not interrupt meanwhile.
    pub far: u64,
    /// The clock at which the clock is set.
    pub target: u64,
    /// The clock shortly before.
    pub now: u64,
    /// What rounds clock units to instructions.
    pub rounding: u64,
    /// How far right a product is shifted that counts instructions.
    pub shift: u64,
    /// The CPU timer that is set.
    pub new_timer: u64,
    /// The clock that is set.
    pub clock: u64,
    /// The clock comparator that is set.
    pub comparator: u64,
    /// How many instructions fill up the rest.
    pub after: u64,
    /// Whether the interruption was only for the window.
    pub is_ours: u64,
}

/// The layout agrees with the locations that the architecture assigns ([`assigned`]).
macro_rules! agree {
    ($($field:ident = $location:expr),* $(,)?) => {
        $(const _: () = assert!(offset_of!(Lowcore, $field) as u64 == $location);)*
    };
}

agree! {
    external_parameter = assigned::EXTERNAL_PARAMETER,
    external_code = assigned::EXTERNAL_CODE,
    supervisor_call_identification = assigned::SVC_IDENTIFICATION,
    program_identification = assigned::PROGRAM_IDENTIFICATION,
    data_exception_code = assigned::DATA_EXCEPTION_CODE,
    monitor_class = assigned::MONITOR_CLASS,
    exception_access = assigned::EXCEPTION_ACCESS,
    translation_exception = assigned::TRANSLATION_EXCEPTION,
    monitor_code = assigned::MONITOR_CODE,
    io_interruption = assigned::SUBSYSTEM_IDENTIFICATION,
    machine_check_code = assigned::MACHINE_CHECK_CODE,
    restart_old = assigned::old_psw(Class::Restart),
    external_old = assigned::old_psw(Class::External),
    supervisor_call_old = assigned::old_psw(Class::SupervisorCall),
    program_old = assigned::old_psw(Class::Program),
    machine_check_old = assigned::old_psw(Class::MachineCheck),
    io_old = assigned::old_psw(Class::InputOutput),
    restart_new = assigned::new_psw(Class::Restart),
    external_new = assigned::new_psw(Class::External),
    supervisor_call_new = assigned::new_psw(Class::SupervisorCall),
    program_new = assigned::new_psw(Class::Program),
    machine_check_new = assigned::new_psw(Class::MachineCheck),
    io_new = assigned::new_psw(Class::InputOutput),
    saved_floating_point = assigned::SAVED_FLOATING_POINT,
    saved_floating_point_control = assigned::SAVED_FLOATING_POINT_CONTROL,
    saved_access = assigned::SAVED_ACCESS,
}

// Displacements without a base reach the first 4 KiB.
const _: () = assert!(size_of::<Lowcore>() == 0x2000);
const _: () = assert!(offset_of!(Lowcore, reserved_8) < 0x1000);

/// A field that can be read.
#[derive(Clone, Copy, Debug)]
pub struct Field<T> {
    offset: usize,
    value: PhantomData<T>,
}

impl<T: Copy> Field<T> {
    /// The second argument only proves the type.
    const fn new(offset: usize, _: fn(&Lowcore) -> &T) -> Self {
        Self {
            offset,
            value: PhantomData,
        }
    }

    /// Its value in this CPU's own prefix area.
    #[inline(always)]
    pub fn get(self) -> T {
        // SAFETY: a field of this CPU's prefix area, which no reference covers; any bytes are a valid value of the
        // integers and PSWs in the fields.
        unsafe { ptr::read_volatile(ptr::without_provenance(self.offset)) }
    }

    /// Sets it in this CPU's own prefix area.
    #[inline(always)]
    fn set(self, value: T) {
        // SAFETY: as above. The functions of this module decide what may be set.
        unsafe { ptr::write_volatile(ptr::without_provenance_mut(self.offset), value) };
    }
}

macro_rules! fields {
    ($($(#[$text:meta])* $visible:vis $name:ident: $type:ty = $field:ident;)*) => {
        $($(#[$text])*
        $visible const $name: Field<$type> =
            Field::new(offset_of!(Lowcore, $field), |lowcore| &lowcore.$field);)*
    };
}

fields! {
    /// External-interruption parameter.
    pub EXTERNAL_PARAMETER: u32 = external_parameter;
    /// External-interruption code.
    pub EXTERNAL_CODE: u16 = external_code;
    /// Supervisor-call identification: instruction-length code and interruption code.
    pub SUPERVISOR_CALL_IDENTIFICATION: u32 = supervisor_call_identification;
    /// Program-interruption identification: instruction-length code and interruption code.
    pub PROGRAM_IDENTIFICATION: u32 = program_identification;
    /// Data-exception code.
    pub DATA_EXCEPTION_CODE: u32 = data_exception_code;
    /// Monitor class.
    pub MONITOR_CLASS: u16 = monitor_class;
    /// Exception access identification.
    pub EXCEPTION_ACCESS: u8 = exception_access;
    /// Translation-exception identification.
    pub TRANSLATION_EXCEPTION: u64 = translation_exception;
    /// Monitor code.
    pub MONITOR_CODE: u64 = monitor_code;
    /// The three words of an I/O interruption.
    pub IO_INTERRUPTION: [u32; 3] = io_interruption;
    /// External old PSW.
    pub EXTERNAL_OLD: Psw = external_old;
    /// What the exits of a run with a window need.
    pub WINDOW: WindowArea = window;
    /// Machine-check interruption code.
    pub MACHINE_CHECK_CODE: u64 = machine_check_code;
    /// Restart old PSW.
    pub RESTART_OLD: Psw = restart_old;
    /// Program old PSW.
    pub PROGRAM_OLD: Psw = program_old;
    /// Machine-check old PSW.
    pub MACHINE_CHECK_OLD: Psw = machine_check_old;
    /// Machine-check floating-point-register save area.
    pub SAVED_FLOATING_POINT: [u64; 16] = saved_floating_point;
    /// Machine-check floating-point-control-register save area.
    pub SAVED_FLOATING_POINT_CONTROL: u32 = saved_floating_point_control;
    /// Machine-check access-register save area.
    pub SAVED_ACCESS: [u32; 16] = saved_access;
    /// General registers when the firmware failed.
    pub FAILED_REGISTERS: [u64; 16] = failed_registers;
    /// Control register 0 as the firmware last loaded it.
    pub CONTROL_0: u64 = control_0;
    /// The clock when the last wait began.
    pub WAIT_BEGAN: u64 = wait_began;
    /// The clock when the last wait ended.
    pub WAIT_ENDED: u64 = wait_ended;
    /// The PSW that the exit to the guest, or a probe, loads.
    pub EXIT_PSW: Psw = exit_psw;
    PROBE_REGISTERS: [u64; 16] = probe_registers;
}

/// What the last I/O interruption stored.
pub fn io_interruption() -> IoInterruption {
    let [subsystem, parameter, identification] = IO_INTERRUPTION.get();
    IoInterruption {
        subsystem,
        parameter,
        identification,
    }
}

/// Sets the PSW that the exit to the guest, or a probe, loads: by one store, because QEMU looks up the translation of a
/// prefix area anew for each store into it while the guest has low-address protection, which takes as long as a few dozen
/// instructions.
#[inline(always)]
pub fn set_exit_psw(psw: Psw) {
    // SAFETY: the field is in this CPU's prefix area, which no reference covers.
    unsafe {
        asm!(
            "mvc {exit_psw}(16,%r0),0({psw})",
            exit_psw = const offset_of!(Lowcore, exit_psw),
            psw = in(reg_addr) &raw const psw,
            options(nostack, preserves_flags),
        );
    }
}

/// Sets what the exits of a run with a window need, by one store as [`set_exit_psw`].
pub fn set_window(window: WindowArea) {
    // SAFETY: the field is in this CPU's prefix area, which no reference covers.
    unsafe {
        asm!(
            "mvc {window}({length},%r0),0({from})",
            window = const offset_of!(Lowcore, window),
            length = const size_of::<WindowArea>(),
            from = in(reg_addr) &raw const window,
            options(nostack, preserves_flags),
        );
    }
}

/// Sets the instruction-length code and the code of the last program interruption, for a trap entry that looks at them later.
/// Without low-address protection.
pub fn set_program_identification(identification: u32) {
    PROGRAM_IDENTIFICATION.set(identification);
}

/// Sets the translation-exception identification of the last program interruption, in the same way.
pub fn set_translation_exception(identification: u64) {
    TRANSLATION_EXCEPTION.set(identification);
}

/// Notes what control register 0 holds.
pub fn set_control_0(value: u64) {
    CONTROL_0.set(value);
}

/// Prepares a probe: its PSW, its registers, and no program-interruption code.
pub fn prepare_probe(psw: Psw, registers: &[u64; 16]) {
    EXIT_PSW.set(psw);
    PROBE_REGISTERS.set(*registers);
    PROGRAM_IDENTIFICATION.set(0);
}

/// The prefix area of a CPU, while it is set up.
#[derive(Clone, Copy, Debug)]
pub struct Area(u64);

impl Area {
    /// This CPU's own: at real address 0.
    pub const OWN: Self = Self(0);

    /// That of another CPU, or of this one before it has its prefix.
    #[must_use]
    pub const fn at(prefix: Prefix) -> Self {
        Self(prefix.address())
    }

    fn set<T>(self, offset: usize, value: T) {
        // SAFETY: within a prefix area; these hold nothing else, and no reference covers them.
        unsafe {
            let at = ptr::with_exposed_provenance_mut(self.0 as usize + offset);
            ptr::write_volatile(at, value);
        }
    }

    /// Fills it with zeros.
    pub fn clear(self) {
        for word in 0..size_of::<Lowcore>() / 8 {
            self.set(word * 8, 0_u64);
        }
    }

    fn get(self, offset: usize) -> u64 {
        // SAFETY: as above; any bytes are a valid value.
        unsafe {
            let at = ptr::with_exposed_provenance(self.0 as usize + offset);
            ptr::read_volatile(at)
        }
    }

    /// Makes interruptions of a class call a routine of the trap entry.
    pub fn set_new_psw(self, class: Class, routine: unsafe extern "C" fn()) {
        self.set_new_address(class, routine as usize as u64);
    }

    /// Makes interruptions of a class go on at this address.
    pub fn set_new_address(self, class: Class, address: u64) {
        let psw = Psw {
            mask: ADDRESSING_64,
            address,
        };
        self.set(assigned::new_psw(class) as usize, psw);
    }

    /// The address of the `Cpu` that the trap entry stores into.
    #[must_use]
    pub fn cpu(self) -> u64 {
        self.get(offset_of!(Lowcore, cpu))
    }

    /// Where this CPU's copies of the trap entry's first instructions are.
    #[must_use]
    pub fn entries(self) -> u64 {
        self.get(offset_of!(Lowcore, entries))
    }

    /// Sets where these copies are.
    pub fn set_entries(self, entries: u64) {
        self.set(offset_of!(Lowcore, entries), entries);
    }

    /// Sets the CPU timer that stands far away while a run with a window sets the clock back.
    pub fn prepare_window(self) {
        let far = offset_of!(Lowcore, window) + offset_of!(WindowArea, far);
        self.set(far, i64::MAX as u64);
    }

    /// Sets the `Cpu` that the trap entry stores into.
    pub fn set_cpu<T>(self, cpu: *mut T) {
        let at = offset_of!(Lowcore, cpu);
        self.set(at, cpu.expose_provenance() as u64);
    }

    /// Sets the stack pointer with which an interruption begins.
    pub fn set_stack(self, stack: u64) {
        self.set(offset_of!(Lowcore, stack), stack);
    }
}
