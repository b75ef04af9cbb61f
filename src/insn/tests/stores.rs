//! Ordinary stores, beside the table of the storage operands of all instructions.

use crate::operand::Operand;
use crate::references::{Access, State, references};
use crate::store::{Place, Store, What};
use arch::psw::ADDRESSING_64;
use proptest::prelude::*;

proptest! {
    #![proptest_config(ProptestConfig::with_cases(100_000))]

    #[test]
    fn an_ordinary_store_stores_where_the_table_of_references_says_and_nowhere_else(
        first in prop::sample::select(&[
            0x50, 0x40, 0x42, 0xE3, 0xC4, 0x92, 0xEB, 0xE5, 0x90, 0xD2, 0xD7, 0x44, 0xD4, 0x60_u8,
        ][..]),
        rest: [u8; 4],
        last in prop::sample::select(&[0x24, 0x50, 0x70, 0x72, 0x52, 0x90, 0x26, 0x0E_u8][..]),
        second in prop::option::of(prop::sample::select(&[0x44, 0x4C, 0x48, 0x1B, 0x2F, 0x37_u8][..])),
        general: [u64; 16],
        at: u32,
    ) {
        let [a, b, c, d] = rest;
        let text = [first, second.unwrap_or(a), b, c, d, last];
        let Some(store) = Store::decode(&text) else { return Ok(()) };
        let state = State { general: &general, mask: ADDRESSING_64 };
        let at = u64::from(at) & !1;
        let mut stored = Vec::new();
        let _ = references(&text, at, &state, &state, &mut |reference| {
            if reference.access != Access::Fetch {
                stored.push((reference.address, reference.length));
            }
        });
        prop_assert_eq!(stored, [(store.address(at, &general), store.length())]);
    }
}

#[test]
fn what_is_stored_is_a_register_an_immediate_value_or_the_second_operand() {
    let what = |text: [u8; 6]| Store::decode(&text).map(|store| store.what);
    assert_eq!(what([0x50, 0x51, 0, 0, 0, 0]), Some(What::Register(5)));
    assert_eq!(what([0x92, 0xFE, 0, 0, 0, 0]), Some(What::Immediate(0xFE)));
    let minus_one = what([0xE5, 0x48, 0, 0, 0xFF, 0xFF]);
    assert_eq!(minus_one, Some(What::Immediate(u64::MAX)));
    let several = what([0xEB, 0xE1, 0, 0, 0, 0x24]);
    assert_eq!(several, Some(What::Registers(14, 1)));
    let second = Operand {
        index: 0,
        base: 3,
        displacement: 8,
    };
    let moved = Store::decode(&[0xD2, 7, 0x10, 0, 0x30, 8]).unwrap();
    assert_eq!(moved.what, What::Second(second));
    let first = Operand {
        index: 0,
        base: 1,
        displacement: 0,
    };
    assert_eq!((moved.place, moved.width), (Place::Operand(first), 8));
    assert_eq!(
        what([0xD7, 7, 0, 0, 0x30, 8]),
        Some(What::ExclusiveOr(second))
    );
    // OC, CS, STD.
    for first in [0xD6, 0xBA, 0x60] {
        assert_eq!(what([first, 0, 0, 0, 0, 0]), None);
    }
}
