//! Whatever instruction a guest issues, the firmware continues.

use super::*;
use arch::address::Absolute;
use insn::decode;
use proptest::prelude::*;

/// Addresses mostly in the few pages that matter, and some that do not exist.
fn interesting() -> impl Strategy<Value = u64> {
    prop_oneof![
        4 => 0u64..0x8000,
        2 => SEGMENTS..PAGES + 0x1000,
        2 => (4u64 << 20) - 64..(4 << 20) + 64,
        1 => 0x7FFF_FFF0u64..0x8000_0010,
        2 => any::<u64>(),
        2 => any::<u16>().prop_map(u64::from),
        1 => Just(u64::MAX),
    ]
}

/// The first halfwords of instructions that have a routine, and others.
fn operation() -> impl Strategy<Value = [u8; 2]> {
    prop_oneof![
        6 => any::<u8>().prop_map(|second| [0xB2, second]),
        3 => any::<u8>().prop_map(|second| [0xB9, second]),
        4 => (
            prop::sample::select(vec![
                0x80, 0x82, 0x83, 0xAC, 0xAD, 0xAE, 0xB1, 0xB6, 0xB7, 0xC8, 0xDA, 0xDB, 0xE5, 0xE3,
                0xEB, 0x01,
            ]),
            any::<u8>(),
        )
            .prop_map(|(first, second)| [first, second]),
        1 => any::<[u8; 2]>(),
    ]
}

/// The last byte of six selects the instruction in the long formats.
fn rest() -> impl Strategy<Value = [u8; 4]> {
    let last = prop::sample::select(vec![0x03, 0x13, 0x17, 0x25, 0x2F, 0x71, 0x00]);
    (any::<[u8; 3]>(), prop_oneof![last, any::<u8>()]).prop_map(|([a, b, c], d)| [a, b, c, d])
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 4000, ..ProptestConfig::default() })]

    #[test]
    fn no_instruction_ends_the_firmware_or_stores_outside_the_guests_storage(
        operation in operation(),
        rest in rest(),
        general in prop::array::uniform16(interesting()),
        mode in 0u64..8,
        controls in prop::array::uniform16(any::<u64>()),
        authority in any::<u16>(),
        prefix in 0u64..8,
    ) {
        let mut bench = translating();
        bench.configuration.cpus = 2;
        bench.cpu.general = general;
        bench.cpu.prefix = prefix << 13;
        bench.cpu.control[3] = u64::from(authority) << 16;
        if mode & 1 != 0 {
            bench.cpu.psw.mask &= !DAT;
        }
        if mode & 2 != 0 {
            bench.cpu.psw.mask |= PROBLEM;
        }
        if mode == 7 {
            // Tables anywhere, and arbitrary controls.
            bench.cpu.control = controls;
        }
        bench.set_doublewords(0x2000, &general);
        bench.hardware.before = Some(std::collections::BTreeMap::new());
        let [a, b] = operation;
        let [c, d, e, f] = rest;
        let instruction = decode(&[a, b, c, d, e, f]);
        // The test machine ends the test at any access beyond the guest's storage.
        let performed = issue(&mut bench, instruction);
        prop_assert!(bench.hardware.hsa_is_as_before());
        prop_assert_eq!(bench.cpu.prefix % 0x2000, 0);
        prop_assert!(bench.configuration.holds(Absolute(bench.cpu.prefix), 0x2000));
        if bench.cpu.psw.problem_state() && performed.is_err() {
            prop_assert_eq!(bench.hardware.load_u64(Absolute(0x2008)), general[1]);
        }
        super::super::take_orders(&mut bench.cpu, &bench.configuration, &mut bench.hardware);
    }
}
