//! A named wrapper for each instruction that Rust cannot express.
//!
//! LLVM's assembler does not know every privileged mnemonic; those are written with `.insn`. The
//! wrappers are safe where the instruction cannot harm Rust's idea of storage, and unsafe where it
//! can.

use crate::arch::channel::{PMCW_DEVICE_VALID, SUBCHANNELS};
use crate::arch::condition::ConditionCode;
use crate::arch::psw::Psw;
use crate::guest::hardware::ChannelBlock;
use crate::msa;
use core::arch::asm;
use core::mem::MaybeUninit;

/// The condition code, from the result of INSERT PROGRAM MASK.
const fn condition(ipm: u64) -> ConditionCode {
    ConditionCode::from_bits((ipm >> 28) as u8)
}

/// STORE CLOCK FAST.
#[inline(always)]
pub fn stckf() -> u64 {
    let mut clock = MaybeUninit::<u64>::uninit();
    // SAFETY: stores eight bytes into a local variable.
    unsafe {
        asm!(".insn s,0xb27c0000,0({})", in(reg_addr) clock.as_mut_ptr(), options(nostack));
        clock.assume_init()
    }
}

/// STORE CLOCK EXTENDED.
#[inline]
pub fn stcke() -> [u8; 16] {
    let mut clock = [0u8; 16];
    // SAFETY: stores sixteen bytes into a local variable.
    unsafe { asm!(".insn s,0xb2780000,0({})", in(reg_addr) &raw mut clock, options(nostack)) };
    clock
}

/// SET CLOCK, and the clock two instructions before and after it.
pub fn sck(value: u64) -> (ConditionCode, u64, u64) {
    let ipm: u64;
    let (mut before, mut after) = (0u64, 0u64);
    // SAFETY: fetches eight bytes of a local variable, and stores into two; only the clock changes.
    unsafe {
        asm!(".insn s,0xb27c0000,0({before})", "nopr", ".insn s,0xb2040000,0({at})", "ipm {cc}",
            ".insn s,0xb27c0000,0({after})", at = in(reg_addr) &raw const value,
            before = in(reg_addr) &raw mut before, after = in(reg_addr) &raw mut after,
            cc = out(reg) ipm, options(nostack));
    }
    (condition(ipm), before, after)
}

/// SET CLOCK PROGRAMMABLE FIELD.
pub fn sckpf(value: u32) {
    // SAFETY: changes the TOD programmable register only.
    unsafe { asm!(".insn e,0x0107", in("r0") u64::from(value), options(nostack, nomem)) };
}

/// No instruction. It tells the compiler that another CPU may have read or changed what `place` refers to, so
/// that nothing of it stays in registers.
#[inline]
pub fn share<T>(place: &mut T) {
    // SAFETY: executes nothing.
    unsafe { asm!("/* {} */", in(reg) place, options(nostack, preserves_flags)) };
}

/// SET CLOCK COMPARATOR.
#[inline]
pub fn sckc(value: u64) {
    // SAFETY: fetches eight bytes of a local variable.
    unsafe { asm!(".insn s,0xb2060000,0({})", in(reg_addr) &raw const value, options(nostack)) };
}

/// SET CLOCK COMPARATOR, from the place that keeps its value.
#[inline(always)]
pub fn sckc_from(value: &u64) {
    // SAFETY: fetches eight bytes that are borrowed.
    unsafe { asm!(".insn s,0xb2060000,0({})", in(reg_addr) value, options(nostack, readonly)) };
}

/// STORE CLOCK COMPARATOR.
pub fn stckc() -> u64 {
    let mut value = 0u64;
    // SAFETY: stores eight bytes into a local variable.
    unsafe { asm!(".insn s,0xb2070000,0({})", in(reg_addr) &raw mut value, options(nostack)) };
    value
}

/// SET CPU TIMER.
pub fn spt(value: u64) {
    // SAFETY: fetches eight bytes of a local variable.
    unsafe { asm!(".insn s,0xb2080000,0({})", in(reg_addr) &raw const value, options(nostack)) };
}

/// STORE CPU TIMER.
pub fn stpt() -> u64 {
    let mut value = 0u64;
    // SAFETY: stores eight bytes into a local variable.
    unsafe { asm!(".insn s,0xb2090000,0({})", in(reg_addr) &raw mut value, options(nostack)) };
    value
}

/// LOAD PROGRAM PARAMETER.
pub fn lpp(value: u64) {
    // SAFETY: fetches eight bytes of a local variable; only samples by the level below show them.
    unsafe { asm!(".insn s,0xb2800000,0({})", in(reg_addr) &raw const value, options(nostack)) };
}

/// QUERY COUNTER INFORMATION.
pub fn qctri() -> [u8; 64] {
    let mut block = [0u8; 64];
    // SAFETY: stores 64 bytes into a local variable.
    unsafe { asm!(".insn s,0xb28e0000,0({})", in(reg_addr) &raw mut block, options(nostack)) };
    block
}

/// LOAD CPU-COUNTER-SET CONTROLS.
pub fn lcctl(controls: u64) -> ConditionCode {
    let ipm: u64;
    // SAFETY: fetches eight bytes of a local variable; only counters of the level below depend on it.
    unsafe {
        asm!(".insn s,0xb2840000,0({})", "ipm {cc}", in(reg_addr) &raw const controls,
            cc = out(reg) ipm, options(nostack));
    }
    condition(ipm)
}

/// EXTRACT CPU COUNTER; zero if the counter's set is not enabled.
#[inline]
pub fn ecctr(number: u64) -> u64 {
    let counter: u64;
    // SAFETY: changes a register and the condition code.
    unsafe {
        asm!(".insn rre,0xb2e40000,{counter},{number}", number = in(reg) number,
            counter = inout(reg) 0u64 => counter, options(nostack, nomem));
    }
    counter
}

/// STORE CPU ADDRESS.
pub fn stap() -> u16 {
    let mut value = 0u16;
    // SAFETY: stores two bytes into a local variable.
    unsafe { asm!(".insn s,0xb2120000,0({})", in(reg_addr) &raw mut value, options(nostack)) };
    value
}

/// STORE CPU ID.
pub fn stidp() -> u64 {
    let mut value = 0u64;
    // SAFETY: stores eight bytes into a local variable.
    unsafe { asm!(".insn s,0xb2020000,0({})", in(reg_addr) &raw mut value, options(nostack)) };
    value
}

/// STORE FACILITY LIST EXTENDED.
pub fn stfle<const N: usize>() -> [u64; N] {
    let mut list = [0u64; N];
    // SAFETY: stores at most N doublewords, as register 0 says.
    unsafe {
        asm!(".insn s,0xb2b00000,0({})", in(reg_addr) &raw mut list, inout("r0") N as u64 - 1 => _,
            options(nostack));
    }
    list
}

/// STORE SYSTEM INFORMATION into a 4 KiB block on its boundary.
pub fn stsi(function: u8, selector1: u16, selector2: u16, block: *mut u8) -> (ConditionCode, u64) {
    let ipm: u64;
    let mut zero = (u64::from(function) << 28) | u64::from(selector1 & 0xFF);
    // SAFETY: the caller owns the 4 KiB at `block`.
    unsafe {
        asm!(".insn s,0xb27d0000,0({at})", "ipm {cc}", at = in(reg_addr) block,
            cc = lateout(reg) ipm, inout("r0") zero, in("r1") u64::from(selector2), options(nostack));
    }
    zero >>= 28;
    (condition(ipm), zero)
}

/// What the query function of an installed instruction of the message-security assist stores.
pub fn assist_query(instruction: msa::Instruction) -> u128 {
    let mut status = [0u8; 16];
    // Operands that the query function ignores: R1 = 2, R2 = 4, R3 = 6.
    macro_rules! query {
        ($text:literal) => {
            // SAFETY: function code 0 stores sixteen bytes into a local variable.
            unsafe {
                asm!($text, in("r0") 0_u64, in("r1") &raw mut status, out("r2") _, out("r3") _,
                    out("r4") _, out("r5") _, options(nostack));
            }
        };
    }
    match instruction {
        msa::Instruction::Km => query!(".long 0xb92e0024"),
        msa::Instruction::Kmc => query!(".long 0xb92f0024"),
        msa::Instruction::Kmf => query!(".long 0xb92a0024"),
        msa::Instruction::Kmo => query!(".long 0xb92b0024"),
        msa::Instruction::Kmctr => query!(".long 0xb92d6024"),
        msa::Instruction::Kma => query!(".long 0xb9296024"),
        msa::Instruction::Kmac => query!(".long 0xb91e0024"),
        msa::Instruction::Kimd => query!(".long 0xb93e0024"),
        msa::Instruction::Klmd => query!(".long 0xb93f0024"),
        msa::Instruction::Prno => query!(".long 0xb93c0024"),
        msa::Instruction::Pcc => query!(".long 0xb92c0000"),
        msa::Instruction::Kdsa => query!(".long 0xb93a0024"),
        msa::Instruction::Pckmo => query!(".long 0xb9280000"),
    }
    u128::from_be_bytes(status)
}

/// PERFORM RANDOM NUMBER OPERATION, function TRNG, which is installed: raw random bytes.
pub fn prno_trng(into: &mut [u8]) {
    const TRNG: u64 = 114;
    // SAFETY: stores as many bytes as the slice has, until the condition code is no longer 3.
    unsafe {
        asm!("0: .long 0xb93c0024", "brc 1, 0b", in("r0") TRNG, in("r1") 0_u64,
            inout("r2") into.as_mut_ptr() => _, inout("r3") into.len() => _,
            inout("r4") 0_u64 => _, inout("r5") 0_u64 => _, options(nostack));
    }
}

/// SERVICE CALL; the SCCB is at a real address below 2 GiB.
///
/// # Safety
/// The 4 KiB at `sccb` are the caller's until the machine has answered.
pub unsafe fn servc(command: u32, sccb: *mut u8) -> ConditionCode {
    let ipm: u64;
    // SAFETY: by contract.
    unsafe {
        asm!(".insn rre,0xb2200000,{command},{at}", "ipm {cc}", command = in(reg) u64::from(command),
            at = in(reg) sccb, cc = lateout(reg) ipm, options(nostack));
    }
    condition(ipm)
}

/// CHANNEL SUBSYSTEM CALL with a block on its boundary: a request whose length is from 16 to 4080, followed by
/// room for the response.
pub fn chsc(block: &mut [u8; 4096]) -> ConditionCode {
    let ipm: u64;
    // SAFETY: the block is the caller's, and request and response stay within it.
    unsafe {
        asm!(".insn rre,0xb25f0000,{at},%r0", "ipm {cc}", at = in(reg_addr) block.as_mut_ptr(),
            cc = lateout(reg) ipm, options(nostack));
    }
    condition(ipm)
}

/// SIGNAL PROCESSOR; returns the condition code and, with code 1, the status.
///
/// # Safety
/// Orders such as restart make another CPU run code; what it will run must be ready.
pub unsafe fn sigp(cpu: u16, order: u8, parameter: u64) -> (ConditionCode, u64) {
    let ipm: u64;
    let mut status = 0u64;
    // SAFETY: by contract. The parameter is in the odd register of the pair.
    unsafe {
        asm!("sigp %r2,{cpu},0({order})", "ipm {cc}", cpu = in(reg) u64::from(cpu),
            order = in(reg_addr) u64::from(order), inout("r2") status, in("r3") parameter,
            cc = lateout(reg) ipm, options(nostack));
    }
    status &= 0xFFFF_FFFF;
    (condition(ipm), status)
}

/// SIGNAL PROCESSOR, tried again as long as the CPU is busy.
///
/// # Safety
/// As for [`sigp`].
pub unsafe fn sigp_until_taken(cpu: u16, order: u8, parameter: u64) -> (ConditionCode, u64) {
    loop {
        // SAFETY: by contract.
        let answer = unsafe { sigp(cpu, order, parameter) };
        if answer.0 != ConditionCode::Two {
            break answer;
        }
    }
}

/// The order of SIGNAL PROCESSOR that interrupts a CPU.
pub const EMERGENCY_SIGNAL: u8 = 0x03;

/// SIGNAL PROCESSOR of an emergency signal, which only interrupts.
pub fn signal_emergency(cpu: u16) {
    // SAFETY: every CPU either runs the guest or has its new PSWs ready for the interruption.
    unsafe { sigp(cpu, EMERGENCY_SIGNAL, 0) };
}

/// SIGNAL PROCESSOR of sense running status: whether a CPU executes instructions, as one that waits does not.
pub fn is_running(cpu: u16) -> bool {
    const SENSE_RUNNING_STATUS: u8 = 0x15;
    // SAFETY: tells a status only.
    let (answer, _) = unsafe { sigp(cpu, SENSE_RUNNING_STATUS, 0) };
    answer == ConditionCode::Zero
}

/// MOVE PAGE, by the PSW key and without the condition-code option. With DAT off it always moves.
///
/// # Safety
/// The page at the real address `to` may be stored into, and nothing refers to it.
pub unsafe fn mvpg(from: u64, to: u64) {
    // SAFETY: by contract.
    unsafe {
        asm!("lghi %r0,0", "mvpg {to},{from}", to = in(reg_addr) to, from = in(reg_addr) from,
            out("r0") _, options(nostack));
    }
}

/// SET PREFIX.
///
/// # Safety
/// The 8 KiB at `prefix` become this CPU's low storage; they must hold its new PSWs.
pub unsafe fn spx(prefix: u32) {
    // SAFETY: by contract.
    unsafe { asm!(".insn s,0xb2100000,0({})", in(reg_addr) &raw const prefix, options(nostack)) };
}

/// LOAD CONTROL of registers 1 to 7.
///
/// # Safety
/// Control registers decide what storage an address means once DAT is on.
pub unsafe fn lctlg_1_to_7(values: &[u64; 7]) {
    // SAFETY: by contract.
    unsafe {
        asm!("lctlg %c1,%c7,0({})", in(reg_addr) values.as_ptr(), options(nostack, readonly));
    }
}

/// LOAD CONTROL of one register.
///
/// # Safety
/// Control registers decide what storage an address means once DAT is on.
pub unsafe fn lctlg(number: u8, value: u64) {
    let at = &raw const value;
    macro_rules! load {
        ($($n:literal),*) => {
            match number {
                // SAFETY: by contract.
                $($n => unsafe {
                    asm!(concat!("lctlg %c", $n, ",%c", $n, ",0({})"), in(reg_addr) at, options(nostack))
                },)*
                _ => {}
            }
        };
    }
    load!(0, 1, 6, 7, 8, 9, 10, 11, 13, 14);
}

/// STORE CONTROL of control register 6 or 14, whose masks the firmware changes while it waits.
pub fn stctg(number: u8) -> u64 {
    let mut value = 0u64;
    // SAFETY: stores eight bytes into a local variable.
    unsafe {
        if number == 6 {
            asm!("stctg %c6,%c6,0({})", in(reg_addr) &raw mut value, options(nostack));
        } else {
            asm!("stctg %c14,%c14,0({})", in(reg_addr) &raw mut value, options(nostack));
        }
    }
    value
}

/// PURGE TLB.
pub fn ptlb() {
    // SAFETY: translations are only cached.
    unsafe { asm!(".insn s,0xb20d0000,0", options(nostack)) };
}

/// INVALIDATE PAGE TABLE ENTRY.
///
/// # Safety
/// `table` is the origin of a page table of this machine's.
pub unsafe fn ipte(table: u64, page: u64) {
    // SAFETY: by contract.
    unsafe {
        asm!(".insn rrf,0xb2210000,{table},{page},0,0", table = in(reg) table, page = in(reg) page,
            options(nostack));
    }
}

/// INSERT STORAGE KEY EXTENDED.
pub fn iske(at: u64) -> u8 {
    let key: u64;
    // SAFETY: storage keys are not used by this machine itself.
    unsafe {
        asm!(".insn rre,0xb2290000,{key},{at}", key = inout(reg) 0u64 => key, at = in(reg) at,
            options(nostack));
    }
    key as u8
}

/// SET STORAGE KEY EXTENDED.
pub fn sske(at: u64, key: u8) {
    // SAFETY: storage keys are not used by this machine itself.
    unsafe {
        asm!(".insn rrf,0xb22b0000,{key},{at},0,0", key = in(reg) u64::from(key), at = in(reg) at,
            options(nostack));
    }
}

/// RESET REFERENCE BIT EXTENDED.
pub fn rrbe(at: u64) -> ConditionCode {
    let ipm: u64;
    // SAFETY: storage keys are not used by this machine itself.
    unsafe {
        asm!(".insn rre,0xb22a0000,%r0,{at}", "ipm {cc}", at = in(reg) at, cc = lateout(reg) ipm,
            options(nostack));
    }
    condition(ipm)
}

/// COMPARE DOUBLE AND SWAP of 16 bytes on a quadword boundary.
///
/// # Safety
/// The 16 bytes at `at` may be written.
pub unsafe fn cdsg(at: *mut u128, expected: u128, new: u128) -> Result<(), u128> {
    let (mut high, mut low) = ((expected >> 64) as u64, expected as u64);
    let ipm: u64;
    // SAFETY: by contract.
    unsafe {
        asm!("cdsg %r2,%r4,0({at})", "ipm {cc}", at = in(reg_addr) at, inout("r2") high,
            inout("r3") low, in("r4") (new >> 64) as u64, in("r5") new as u64,
            cc = lateout(reg) ipm, options(nostack));
    }
    if condition(ipm) as u8 == 0 {
        Ok(())
    } else {
        Err((u128::from(high) << 64) | u128::from(low))
    }
}

/// How many of the subchannels that a guest may see there are up to the last one with a device (STORE SUBCHANNEL).
pub fn devices() -> u64 {
    let mut count = 0;
    for number in 0..SUBCHANNELS as u64 {
        let mut block = ChannelBlock::ZEROS;
        let ipm: u64;
        // SAFETY: the form of the word and the boundary are right, so there is no program interruption.
        unsafe {
            asm!(".insn s,0xb2340000,0({at})", "ipm {ipm}", at = in(reg_addr) block.0.as_mut_ptr(),
                in("r1") 0x1_0000 | number, ipm = lateout(reg) ipm, options(nostack));
        }
        if condition(ipm) != ConditionCode::Zero {
            break;
        }
        if block.0[1] & PMCW_DEVICE_VALID != 0 {
            count = number + 1;
        }
    }
    count
}

/// LOAD PSW EXTENDED; does not return.
///
/// # Safety
/// The caller answers for where the PSW leads.
pub unsafe fn lpswe(psw: &Psw) -> ! {
    // SAFETY: by contract.
    unsafe { asm!("lpswe 0({})", in(reg_addr) psw, options(noreturn)) }
}
