//! The effect of SET CLOCK on all stamps.
//!
//! The TOD clock is the guest's, and the machine keeps time by it. When a guest sets the clock, the stamps of
//! every CPU's account become those of a past epoch, and so does the CPU timer where it is kept as a time of
//! day. The configuration therefore keeps by how much the clock has been set forward in all, and each account
//! keeps how much of that its stamps include. A CPU follows before it uses a stamp again. In exact mode it
//! does so when its idle time ends, because no other CPU runs meanwhile; in real time, where all CPUs run at
//! once, at its next trap.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use arch::condition::ConditionCode;
use arch::interruption::Class;
use core::sync::atomic::Ordering;

/// Sets the TOD clock for all CPUs; returns the condition code of the machine below.
pub fn set_clock<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    value: u64,
) -> ConditionCode {
    let set = || hardware.set_clock(value);
    let forward = match configuration.watchdog.while_clock_is_set(set) {
        Ok(forward) => forward,
        Err(code) => return code,
    };
    configuration.epoch.fetch_add(forward, Ordering::SeqCst);
    follow(cpu, configuration, hardware);
    // The others compute their wake-up times again.
    for other in (0..configuration.cpus).filter(|&other| other != cpu.address) {
        hardware.wake(other);
    }
    ConditionCode::Zero
}

/// Moves the stamps of this CPU to the clock's present epoch; returns by how much.
pub fn follow<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) -> u64 {
    let epoch = configuration.epoch.load(Ordering::SeqCst);
    let forward = epoch.wrapping_sub(cpu.account.epoch);
    if forward != 0 {
        cpu.account.epoch = epoch;
        cpu.account.shift(forward);
        cpu.sampling.shift(forward);
        hardware.clock_was_set(forward);
    }
    forward
}

/// Adds the guest time up to a trap, as [`Account::enter`](crate::state::account::Account::enter),
/// when another CPU may have set the clock meanwhile. The stamp on entry is of the new epoch; the stamp on
/// leaving may be of either. The shorter span is the true one, unless the clock was set forward by less than
/// that.
#[cold]
#[inline(never)]
pub fn enter_in_real_time<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    class: Class,
) {
    let (left, entered) = (cpu.account.left, cpu.account.entered);
    follow(cpu, configuration, hardware);
    let account = &mut cpu.account;
    account.entered = entered;
    if entered.wrapping_sub(left) < entered.wrapping_sub(account.left) {
        account.left = left;
    }
    let problem = cpu.psw.problem_state();
    if account.counted.is_some() {
        account.enter_counted(hardware.problem_state_counters(), problem);
    } else {
        account.enter(&configuration.charges, class, problem);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::state::account::{Account, Charges, Counted, Mode};
    use crate::test_machine::Bench;
    use arch::tod::units;
    use proptest::prelude::*;

    const START: u64 = 0xE000_0000_0000_0000;

    proptest! {
        #[test]
        fn guest_and_firmware_time_are_the_same_wherever_the_clock_is_set(to: u64) {
            let mut bench = Bench::new();
            let mode = Mode::Exact { shift: 0 };
            bench.cpu.account = Account::new(mode, 1000);
            bench.hardware.tod = START;
            bench.cpu.account.start(START);
            bench.cpu.account.left = START + units(100);
            bench.cpu.account.entered = START + units(1100);
            bench.cpu.account.enter(&Charges::default(), Class::Program, false);
            bench.hardware.tod = START + units(1150);
            let code = set_clock(&mut bench.cpu, &bench.configuration, &mut bench.hardware, to);
            prop_assert_eq!(code, ConditionCode::Zero);
            bench.cpu.account.left = to.wrapping_add(units(50));
            bench.cpu.account.entered = to.wrapping_add(units(2050));
            bench.cpu.account.enter(&Charges::default(), Class::Program, false);
            let account = &bench.cpu.account;
            // The account rounds to whole instructions at its beginning and at its end.
            prop_assert_eq!(account.total(), 3000);
            prop_assert!(account.firmware().abs_diff(200) <= 1, "{}", account.firmware());
        }

        #[test]
        fn a_cpu_that_ran_meanwhile_books_its_own_time_only(forward: u64, late: bool) {
            let span = units(5000);
            // If the clock is set by less than the span, the epochs cannot be told apart.
            prop_assume!(forward > span && forward < span.wrapping_neg());
            let mut bench = Bench::new();
            bench.cpu.account.start(START);
            let after = START.wrapping_add(forward);
            // It left just before the clock was set, or just after.
            bench.cpu.account.left = if late { after } else { START };
            bench.cpu.account.entered = after.wrapping_add(span);
            bench.configuration.epoch.store(forward, Ordering::SeqCst);
            enter_in_real_time(
                &mut bench.cpu,
                &bench.configuration,
                &mut bench.hardware,
                Class::Program,
            );
            prop_assert_eq!(bench.cpu.account.total(), 5000);
        }
    }

    #[test]
    fn where_the_machine_below_counts_the_clock_does_not() {
        let mut bench = Bench::new();
        bench.cpu.account.counted = Some(Counted::default());
        bench.cpu.account.left = START;
        bench.cpu.account.entered = START + units(5000);
        bench.hardware.counters = [70, 30];
        for _ in 0..2 {
            enter_in_real_time(
                &mut bench.cpu,
                &bench.configuration,
                &mut bench.hardware,
                Class::External,
            );
            let activity = bench.cpu.account.activity();
            assert_eq!((activity.cycles, activity.instructions), (70, 30));
        }
        assert_eq!(bench.cpu.account.traps, 2);
    }

    #[test]
    fn every_other_cpu_of_the_configuration_is_woken() {
        let mut bench = Bench::new();
        bench.configuration.cpus = 3;
        bench.cpu.address = 1;
        set_clock(
            &mut bench.cpu,
            &bench.configuration,
            &mut bench.hardware,
            77,
        );
        assert_eq!(bench.hardware.woken, [0, 2]);
        assert_eq!(bench.hardware.tod, 77);
    }
}
