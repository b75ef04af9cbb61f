//! STORE CPU COUNTER MULTIPLE (STCCTM, EB..17): the counters of a set into storage.
//!
//! The routine decides what to store; the caller stores it and then calls [`CounterMultiple::complete`].
//! No state changes before the store.

use crate::alert::Alert;
use crate::counters::{Activity, CounterSet};
use crate::counters::{MT_WITH_CLEARING, NOT_A_NUMBER};
use crate::facility::Facility;
use crate::instruction::authority::{Instruction, authorize};
use arch::address::Virtual;
use arch::condition::ConditionCode;
use arch::interruption::ProgramInterruption;

/// What STORE CPU COUNTER MULTIPLE is to store.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterMultiple {
    /// The number of the set's first counter.
    first: u16,
    /// The number of doublewords to store, from the set's first counter on.
    pub count: u16,
    /// The resulting condition code.
    pub condition_code: ConditionCode,
    clears_loss: bool,
}

impl CounterMultiple {
    /// The doublewords of the operand, [`Self::count`] of them.
    #[inline(always)]
    pub fn doublewords<'a>(
        &self,
        facility: &'a Facility,
        activity: &Activity,
    ) -> impl Iterator<Item = u64> + use<'a> {
        facility
            .counters()
            .read_range(self.first, self.count, activity)
    }

    /// Completes the instruction, once its doublewords are stored.
    pub const fn complete(&self, facility: &mut Facility) {
        if self.clears_loss {
            facility.alerts.clear_loss_of_mt_counter_data();
        }
    }
}

/// STORE CPU COUNTER MULTIPLE. `r1` is the whole general register R1, whose bits 48-63 are the most
/// counters to store; `m3` is the four-bit code of the set (0 extended, 1 basic, 2 problem-state,
/// 3 crypto-activity, 5 MT-diagnostic, 9 MT-diagnostic with clearing); `address` is the
/// second-operand address.
///
/// The caller tests store access for [`CounterMultiple::count`] doublewords, stores them, and calls
/// [`CounterMultiple::complete`].
///
/// Condition codes: 0, the count equals the number of counters in the set, and all were stored; 1, the
/// count is smaller, and that many were stored; 2, the count is greater, and all were stored; 3, none was
/// stored: the count is zero, the set is not installed, unauthorized or disabled, or the code is 5 and
/// loss of MT counter data is pending.
///
/// # Errors
/// In priority order: [`ProgramInterruption::Operation`];
/// [`ProgramInterruption::PrivilegedOperation`] in the problem state with bit 15 of control register
/// 0 zero; [`ProgramInterruption::SpecialOperation`] in the problem state with code 9;
/// [`ProgramInterruption::Specification`] when bits 0-47 of R1 are not zeros, the code is reserved
/// (as are 4 and 8, for IBM's use), or the operand is not on a doubleword boundary. Access (store,
/// operand 2: the caller's) follows. A transaction-constraint exception is also the caller's: it
/// depends on the transaction, not on the facility.
///
/// Source: SA23-2260-07, "STORE CPU COUNTER MULTIPLE".
pub fn store_cpu_counter_multiple(
    facility: &Facility,
    problem_state: bool,
    cr0: u64,
    r1: u64,
    m3: u8,
    address: Virtual,
) -> Result<CounterMultiple, ProgramInterruption> {
    let instruction = Instruction::StoreCpuCounterMultiple;
    authorize(facility, instruction, problem_state, cr0)?;
    if problem_state && m3 == MT_WITH_CLEARING {
        return Err(ProgramInterruption::SpecialOperation);
    }
    let set = match CounterSet::designated(m3) {
        Some(set) if r1 & NOT_A_NUMBER == 0 && address.0 & 7 == 0 => set,
        _ => return Err(ProgramInterruption::Specification),
    };

    let counters = facility.counters();
    let asked = r1 as u16;
    let range = counters.model().range(set);
    let loss = facility.alerts().has(Alert::LossOfMtCounterData);
    let hidden = loss && set == CounterSet::MtDiagnostic && m3 != MT_WITH_CLEARING;
    let (count, condition_code) = if asked == 0 || hidden || !counters.state(set).enabled() {
        (0, ConditionCode::Three)
    } else {
        match asked.cmp(&range.count) {
            core::cmp::Ordering::Equal => (asked, ConditionCode::Zero),
            core::cmp::Ordering::Less => (asked, ConditionCode::One),
            core::cmp::Ordering::Greater => (range.count, ConditionCode::Two),
        }
    };
    Ok(CounterMultiple {
        first: range.first,
        count,
        condition_code,
        clears_loss: m3 == MT_WITH_CLEARING,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::counters::CounterSets;
    use crate::fixtures::{counting, partition};

    const NOW: Activity = Activity {
        cycles: 70,
        instructions: 60,
        problem_cycles: 50,
        problem_instructions: 40,
    };
    const OPEN: u64 = arch::control::CR0_COUNTER_EXTRACTION;

    fn stcctm(
        facility: &Facility,
        count: u64,
        code: u8,
    ) -> Result<CounterMultiple, ProgramInterruption> {
        store_cpu_counter_multiple(facility, false, 0, count, code, Virtual(0x1000))
    }

    /// A facility whose MT-diagnostic set is active.
    fn threaded() -> Facility {
        let mut facility = partition();
        facility.authorize_counters(CounterSets::MT_DIAGNOSTIC, &NOW);
        facility.multithreading(true, &NOW);
        facility
    }

    #[test]
    fn stcctm_indicates_by_condition_code_whether_it_stored_the_whole_set() {
        let table = [
            (6, 6, ConditionCode::Zero),
            (5, 5, ConditionCode::One),
            (1, 1, ConditionCode::One),
            (7, 6, ConditionCode::Two),
            (0xFFFF, 6, ConditionCode::Two),
            (0, 0, ConditionCode::Three),
        ];
        for (asked, stored, condition_code) in table {
            let found = stcctm(&counting(), asked, 1).unwrap();
            assert_eq!(
                (found.count, found.condition_code),
                (stored, condition_code)
            );
        }
    }

    #[test]
    fn stcctm_stores_the_counters_in_the_order_of_their_numbers() {
        let facility = counting();
        let basic = stcctm(&facility, 6, 1).unwrap();
        let found: Vec<u64> = basic.doublewords(&facility, &NOW).collect();
        assert_eq!(found, [70, 60, 0, 0, 0, 0]);
        let problem = stcctm(&facility, 2, 2).unwrap();
        let found: Vec<u64> = problem.doublewords(&facility, &NOW).collect();
        assert_eq!(found, [50, 40]);
    }

    #[test]
    fn stcctm_sets_condition_code_3_for_a_set_that_is_not_enabled() {
        for code in [0, 3, 5, 9] {
            let found = stcctm(&counting(), 4, code).unwrap();
            assert_eq!(
                (found.count, found.condition_code),
                (0, ConditionCode::Three)
            );
        }
        let found = stcctm(&partition(), 4, 1).unwrap();
        assert_eq!(found.condition_code, ConditionCode::Three);
    }

    #[test]
    fn stcctm_with_a_reserved_code_is_a_specification_exception() {
        for code in [4, 6, 7, 8, 10, 11, 12, 13, 14, 15] {
            let found = stcctm(&counting(), 4, code);
            assert_eq!(
                found,
                Err(ProgramInterruption::Specification),
                "code {code}"
            );
        }
    }

    #[test]
    fn stcctm_requires_a_doubleword_boundary_and_a_count_of_16_bits() {
        let misaligned = store_cpu_counter_multiple(&counting(), false, 0, 1, 1, Virtual(0x1004));
        assert_eq!(misaligned, Err(ProgramInterruption::Specification));
        let wide = stcctm(&counting(), 0x1_0000, 1);
        assert_eq!(wide, Err(ProgramInterruption::Specification));
    }

    #[test]
    fn stcctm_in_the_problem_state_tests_privilege_then_special_operation_then_specification() {
        let at = Virtual(1);
        let closed = store_cpu_counter_multiple(&counting(), true, 0, 1, 9, at);
        assert_eq!(closed, Err(ProgramInterruption::PrivilegedOperation));
        let special = store_cpu_counter_multiple(&counting(), true, OPEN, 1, 9, at);
        assert_eq!(special, Err(ProgramInterruption::SpecialOperation));
        let specification = store_cpu_counter_multiple(&counting(), true, OPEN, 1, 1, at);
        assert_eq!(specification, Err(ProgramInterruption::Specification));
        let found = store_cpu_counter_multiple(&counting(), true, OPEN, 6, 1, Virtual(8));
        assert_eq!(found.unwrap().condition_code, ConditionCode::Zero);
    }

    #[test]
    fn code_5_stores_nothing_while_loss_of_mt_counter_data_is_pending() {
        let mut facility = threaded();
        assert_eq!(stcctm(&facility, 48, 5).unwrap().count, 48);
        facility.lose_counter_data(CounterSet::MtDiagnostic, &NOW);
        let found = stcctm(&facility, 48, 5).unwrap();
        assert_eq!(found.condition_code, ConditionCode::Three);
    }

    #[test]
    fn code_9_clears_loss_of_mt_counter_data_but_only_once_the_store_is_complete() {
        let mut facility = threaded();
        facility.lose_counter_data(CounterSet::MtDiagnostic, &NOW);
        let found = stcctm(&facility, 48, 9).unwrap();
        assert_eq!(
            (found.count, found.condition_code),
            (48, ConditionCode::Zero)
        );
        assert!(facility.alerts().has(Alert::LossOfMtCounterData));
        found.complete(&mut facility);
        assert!(!facility.alerts().has(Alert::LossOfMtCounterData));
    }
}
