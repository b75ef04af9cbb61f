//! Records external interruptions in the order in which they occur.
//!
//! The handler of [`record`] keeps code, parameter and CPU address, ends a wait, and removes the cause of a timer's
//! interruption: it sets the clock comparator or the CPU timer to its greatest value.

use core::sync::atomic::{AtomicU32, AtomicU64, AtomicUsize, Ordering};

use crate::insn::clock::{sckc, spt};
use crate::insn::control::{lctlg_0, stctg_0, stnsm, stosm, wait};
use crate::interruption::{self, Class, Registers, old_psw, set_old_psw};
use crate::lowcore;
use crate::psw::{self, Psw};

/// Subclass mask of the emergency signal, control register 0.
pub const EMERGENCY_SIGNAL: u64 = psw::bit(49);
/// Subclass mask of the external call.
pub const EXTERNAL_CALL: u64 = psw::bit(50);
/// Subclass mask of the clock comparator.
pub const CLOCK_COMPARATOR: u64 = psw::bit(52);
/// Subclass mask of the CPU timer.
pub const CPU_TIMER: u64 = psw::bit(53);
/// Subclass mask of the service signal.
pub const SERVICE_SIGNAL: u64 = psw::bit(54);
/// Subclass mask of the interrupt key.
pub const INTERRUPT_KEY: u64 = psw::bit(57);
/// Subclass mask of the measurement alert.
pub const MEASUREMENT_ALERT: u64 = psw::bit(58);

const MOST: usize = 64;

/// One external interruption.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct External {
    /// External-interruption code.
    pub code: u16,
    /// External-interruption parameter, as it stands in storage.
    pub parameter: u32,
    /// CPU address, as it stands in storage.
    pub cpu: u16,
    /// Old PSW address.
    pub address: u64,
}

static COUNT: AtomicUsize = AtomicUsize::new(0);
static CODES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static ADDRESSES: [AtomicU64; MOST] = [const { AtomicU64::new(0) }; MOST];
static ALL: AtomicU32 = AtomicU32::new(0);

/// Records external interruptions on this CPU from now on.
pub fn record() {
    interruption::replace(Class::External, handler);
}

extern "C" fn handler(_: &mut Registers) {
    let code: u16 = lowcore::read(lowcore::EXTERNAL_CODE);
    match code {
        0x1004 => sckc(u64::MAX),
        0x1005 => spt(i64::MAX),
        _ => (),
    }
    let old = old_psw(Class::External);
    if old.mask & psw::WAIT != 0 {
        // The handler changes the old PSW, which lies where low-address protection forbids stores.
        let cr0 = stctg_0();
        lctlg_0(cr0 & !psw::bit(35));
        set_old_psw(
            Class::External,
            Psw::new(old.mask & !psw::WAIT, old.address),
        );
        lctlg_0(cr0);
    }
    let n = COUNT.load(Ordering::Relaxed);
    if n < MOST {
        let cpu: u16 = lowcore::read(lowcore::EXTERNAL_CPU_ADDRESS);
        let parameter: u32 = lowcore::read(lowcore::EXTERNAL_PARAMETER);
        CODES[n].store(
            u64::from(code) << 48 | u64::from(cpu) << 32 | u64::from(parameter),
            Ordering::Relaxed,
        );
        ADDRESSES[n].store(old.address, Ordering::Relaxed);
        COUNT.store(n + 1, Ordering::Release);
    }
    ALL.fetch_add(1, Ordering::Relaxed);
}

/// Forgets the recorded interruptions, and waits until the operator presses the interrupt key. Nothing else ends the
/// wait.
pub fn wait_for_the_operator() {
    record();
    let cr0 = stctg_0();
    lctlg_0(INTERRUPT_KEY);
    wait(psw::EXTERNAL);
    // Other conditions stay pending.
    stnsm::<0xFE>();
    lctlg_0(cr0);
    take_codes();
}

/// Opens the mask of external interruptions for a moment. Returns the number of measurement alerts and the parameter
/// of the first.
pub fn alerts() -> (usize, u32) {
    record();
    take_codes();
    stosm::<0x01>();
    crate::sampling::busy(1000);
    stnsm::<0xFE>();
    take_recorded()
}

/// The number of recorded measurement alerts and the parameter of the first. Empties the record.
fn take_recorded() -> (usize, u32) {
    let mut alerts = (0..recorded())
        .map(get)
        .filter(|external| external.code == 0x1407);
    let first = alerts.next().map_or(0, |external| external.parameter);
    let count = usize::from(first != 0) + alerts.count();
    take_codes();
    (count, first)
}

/// The number of recorded interruptions not yet taken.
#[must_use]
pub fn recorded() -> usize {
    COUNT.load(Ordering::Acquire)
}

/// The recorded interruption `n`.
#[must_use]
pub fn get(n: usize) -> External {
    let all = CODES[n].load(Ordering::Relaxed);
    External {
        code: (all >> 48) as u16,
        cpu: (all >> 32) as u16,
        parameter: all as u32,
        address: ADDRESSES[n].load(Ordering::Relaxed),
    }
}

/// The recorded codes as one number of four digits each, oldest first. Empties the record.
pub fn take_codes() -> u64 {
    let n = recorded();
    let codes = (0..n).fold(0, |all, n| all << 16 | u64::from(get(n).code));
    COUNT.store(0, Ordering::Relaxed);
    codes
}
