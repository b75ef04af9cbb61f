//! Random monitor calls: the machine agrees with the second model.

use super::*;
use crate::recording::monitor::model::Model;
use arch::psw::Psw;
use arch::table::PTE_INVALID;
use proptest::prelude::*;
use std::collections::BTreeMap;

/// The end of the last prefix area: an interruption stores nothing above it.
const INTERRUPTION: usize = 0x8000;

/// The origin of an array: near the pages of the home space, near low storage and at the ends of everything.
fn origin() -> impl Strategy<Value = u64> {
    prop_oneof![
        6 => (0_u64..0x4000).prop_map(|offset| 0x4000 + offset),
        2 => 0_u64..0x2400,
        1 => (0_u64..0x3000).prop_map(|offset| (1 << 20) - offset),
        1 => (0_u64..0x3000).prop_map(|offset| u64::MAX - offset),
        1 => any::<u64>(),
    ]
}

/// Mostly counters that exist.
fn calls() -> impl Strategy<Value = Vec<(u8, u64)>> {
    let code = prop_oneof![
        8 => 0_u64..0x900,
        1 => 0_u64..8,
        1 => any::<u64>(),
    ];
    prop::collection::vec((0_u8..16, code), 1..40)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 1000, ..ProptestConfig::default() })]

    #[test]
    fn monitor_calls_do_what_the_second_model_says(
        control8 in prop_oneof![any::<u64>(), Just(0xFFFF_0000_FFFF), Just(u64::MAX)],
        origin in origin(),
        size in prop_oneof![4 => 1_u32..0x900, 1 => any::<u32>()],
        exceptions in prop_oneof![Just(0), Just(u32::MAX), any::<u32>()],
        dat in any::<bool>(),
        low in prop::option::of(any::<bool>()),
        prefix in prop::sample::select(vec![0, 0x4000, 0x6000]),
        frames in prop::collection::vec((0_u64..16, 0_u8..6), 16),
        full in 0_usize..3,
        calls in calls(),
    ) {
        let mut bench = Bench::with_storage(1 << 20);
        // Halfwords and words about to carry, or in between.
        let fill = [0xFF_u8, 0xFE, 0x00][full];
        bench.set(0, &[fill; 0xC000]);
        let area = prefix + 0x100;
        bench.cpu.prefix = prefix;
        at_home(&mut bench);
        // Pages 0 to 15 lead somewhere among these, or nowhere.
        let mut home = BTreeMap::from_iter((16_u64..256).map(|page| (page, page)));
        for (page, (frame, kind)) in (0..).zip(frames) {
            let bits = [0, 0, 0, 0, PTE_INVALID, PTE_PROTECTION][usize::from(kind)];
            bench.set_doublewords(PAGES + 8 * page, &[frame << 12 | bits]);
            if bits == 0 {
                home.insert(page, frame);
            }
        }
        bench.set_doublewords(area, &[origin, u64::from(size) << 32 | u64::from(exceptions)]);
        bench.set_doublewords(prefix + 0x1D0, &[ADDRESSING_64, 0x7000]);
        if let Some(private) = low {
            bench.cpu.control[0] |= CR0_LOW_ADDRESS_PROTECTION;
            bench.cpu.control[13] |= if private { PRIVATE_SPACE } else { 0 };
        }
        bench.cpu.control[8] = control8;
        bench.configuration.facilities = bench.configuration.facilities.with(ENHANCED_MONITOR);
        let mask = ADDRESSING_64 | if dat { DAT } else { 0 };
        let mut model = Model {
            storage: bench.hardware.storage.clone(),
            prefix,
            control8,
            home: dat.then_some(home),
            low_protected: low.is_some_and(|private| !(private && dat)),
        };
        // The counters do not overlap the tables.
        prop_assume!(!(SEGMENTS - 0x4000..0x1_5000).contains(&origin));
        for (class, code) in calls {
            // Nor the PSW that the interruption loads.
            let new = [0x1D0, 0x1D8].map(|at| bench.doubleword(prefix + at));
            if new != [ADDRESSING_64, 0x7000] {
                prop_assert!(bench.hardware.storage == model.storage);
                prop_assume!(false);
            }
            bench.cpu.psw = Psw { mask, address: 0 };
            let seen = model.monitor_call(class, code);
            if let Seen::Event(..) = seen {
                prop_assert!(bench.hardware.storage[..INTERRUPTION] == model.storage[..INTERRUPTION]);
                // The model does not cover what else an interruption stores.
                prop_assert_eq!(present(&mut bench, class, code), seen);
                model.storage[..INTERRUPTION].copy_from_slice(&bench.hardware.storage[..INTERRUPTION]);
            } else if control8 >> (15 - class) & 1 == 1 {
                prop_assert_eq!(present(&mut bench, class, code), seen);
            }
        }
        prop_assert!(bench.hardware.storage == model.storage);
    }
}
