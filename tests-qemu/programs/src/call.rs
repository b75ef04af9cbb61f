//! System calls: the number in general register 1, parameters from register 2 on, the answer in register 2.

use core::arch::asm;

const EXIT: u64 = 1;
const READ: u64 = 3;
const WRITE: u64 = 4;
const OPEN: u64 = 5;
const CREAT: u64 = 8;
const EXECVE: u64 = 11;
const LSEEK: u64 = 19;
const IOCTL: u64 = 54;
const MMAP: u64 = 90;
const PERSONALITY: u64 = 136;
const RT_SIGPROCMASK: u64 = 175;
const RT_SIGTIMEDWAIT: u64 = 177;
const PERF_EVENT_OPEN: u64 = 331;

/// The personality of a process whose addresses are not chosen by chance.
const ADDR_NO_RANDOMIZE: u64 = 0x0004_0000;

/// Open for reading and writing.
const O_RDWR: u64 = 2;

/// The kernel's error number for a refused call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused(pub u64);

/// One system call.
///
/// # Safety
///
/// The parameters designate storage that this call may use.
pub(crate) unsafe fn call<const N: usize>(
    number: u64,
    parameters: [u64; N],
) -> Result<u64, Refused> {
    let parameter = |n: usize| parameters.get(n).copied().unwrap_or_default();
    let mut answer = parameter(0);
    // SAFETY: the kernel changes general register 2 and what the caller vouches for.
    unsafe {
        asm!(
            "svc 0",
            in("r1") number,
            inout("r2") answer,
            in("r3") parameter(1),
            in("r4") parameter(2),
            in("r5") parameter(3),
            in("r6") parameter(4),
            options(nostack),
        );
    }
    match answer as i64 {
        -4095..=-1 => Err(Refused(answer.wrapping_neg())),
        _ => Ok(answer),
    }
}

/// Ends the program.
pub fn exit(code: u8) -> ! {
    // SAFETY: designates no storage, and does not return.
    let _ = unsafe { call(EXIT, [code.into(), 0, 0]) };
    loop {
        core::hint::spin_loop();
    }
}

/// Writes bytes into a file.
pub fn write(file: u64, bytes: &[u8]) -> Result<u64, Refused> {
    // SAFETY: the bytes are there and are only read.
    unsafe { call(WRITE, [file, bytes.as_ptr() as u64, bytes.len() as u64]) }
}

/// Creates a file, or empties it, and opens it for writing.
pub fn create(name: &core::ffi::CStr) -> Result<u64, Refused> {
    // SAFETY: the name ends with a zero and is only read.
    unsafe { call(CREAT, [name.as_ptr() as u64, 0o600]) }
}

/// From now on the programs of this process have the same addresses each time.
pub fn fix_addresses() -> Result<(), Refused> {
    // SAFETY: designates no storage.
    unsafe { call(PERSONALITY, [ADDR_NO_RANDOMIZE]) }.map(drop)
}

/// The signal that asks a program to end, in a set of signals.
const SIGTERM: u64 = 1 << (15 - 1);

/// Bytes of a set of signals.
const SIGNALS: u64 = 8;

/// From now on SIGTERM waits for [`wait_for_the_end`].
pub fn hold_back_the_end() -> Result<(), Refused> {
    const SIG_BLOCK: u64 = 0;
    // SAFETY: the set is there and is only read.
    unsafe {
        call(
            RT_SIGPROCMASK,
            [SIG_BLOCK, &raw const SIGTERM_SET as u64, 0, SIGNALS],
        )
    }
    .map(drop)
}

static SIGTERM_SET: u64 = SIGTERM;

/// Sleeps until somebody sends SIGTERM.
pub fn wait_for_the_end() -> Result<(), Refused> {
    // SAFETY: the set is there and is only read.
    unsafe {
        call(
            RT_SIGTIMEDWAIT,
            [&raw const SIGTERM_SET as u64, 0, 0, SIGNALS],
        )
    }
    .map(drop)
}

/// Maps the first bytes of a file for reading and writing, shared with the kernel.
pub fn map(file: u64, length: u64) -> Result<u64, Refused> {
    const READ_AND_WRITE: u64 = 3;
    const SHARED: u64 = 1;
    let parameters = [0, length, READ_AND_WRITE, SHARED, file, 0];
    // SAFETY: the kernel reads the six parameters, and chooses an address that nobody has.
    unsafe { call(MMAP, [&raw const parameters as u64]) }
}

/// Opens the records of an event on one CPU, for all processes.
pub fn record(attributes: &crate::event::Attributes, cpu: u64) -> Result<u64, Refused> {
    const ALL: u64 = u64::MAX;
    const NO_GROUP: u64 = u64::MAX;
    // SAFETY: the structure of this call, which is only read.
    unsafe {
        call(
            PERF_EVENT_OPEN,
            [&raw const *attributes as u64, ALL, cpu, NO_GROUP, 0],
        )
    }
}

/// Performs another program in this process.
///
/// # Safety
///
/// The addresses are those of lists of strings that end with a zero.
pub unsafe fn execute(
    name: &core::ffi::CStr,
    arguments: *const u64,
    environment: *const u64,
) -> Refused {
    let parameters = [name.as_ptr() as u64, arguments as u64, environment as u64];
    // SAFETY: the name ends with a zero; the rest is the caller's promise. It returns only if it is refused.
    match unsafe { call(EXECVE, parameters) } {
        Err(refused) => refused,
        Ok(_) => Refused(0),
    }
}

/// Counts an event for this process and those that it starts. The file gives the count as eight bytes.
pub fn count(attributes: &crate::event::Attributes) -> Result<u64, Refused> {
    const ANY_CPU: u64 = u64::MAX;
    const NO_GROUP: u64 = u64::MAX;
    // SAFETY: the structure of this call, which is only read.
    unsafe {
        call(
            PERF_EVENT_OPEN,
            [&raw const *attributes as u64, 0, ANY_CPU, NO_GROUP, 0],
        )
    }
}

/// Reads bytes from a file.
pub fn read(file: u64, bytes: &mut [u8]) -> Result<u64, Refused> {
    // SAFETY: the bytes are there and are this caller's alone.
    unsafe { call(READ, [file, bytes.as_mut_ptr() as u64, bytes.len() as u64]) }
}

/// Goes back to the beginning of a file.
pub fn rewind(file: u64) -> Result<u64, Refused> {
    // SAFETY: designates no storage.
    unsafe { call(LSEEK, [file, 0, 0]) }
}

/// Opens a file for reading and writing.
pub fn open(name: &core::ffi::CStr) -> Result<u64, Refused> {
    // SAFETY: the name ends with a zero and is only read.
    unsafe { call(OPEN, [name.as_ptr() as u64, O_RDWR, 0]) }
}

/// Sends a device a request.
///
/// # Safety
///
/// The argument is what the device expects with this request.
pub unsafe fn ioctl(file: u64, request: u32, argument: u64) -> Result<u64, Refused> {
    // SAFETY: the caller's promise.
    unsafe { call(IOCTL, [file, request.into(), argument]) }
}
