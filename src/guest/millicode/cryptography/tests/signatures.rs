//! KDSA: messages in pieces.

use super::*;

#[test]
fn an_exception_of_the_message_leaves_a_signature_undone() {
    let mut bench = bench(40);
    bench.set(PARAMETERS, &text(96));
    bench.cpu.general[4] = (4 << 20) - 100;
    bench.cpu.general[5] = 200;
    assert_eq!(exception(&mut bench, KDSA).interruption, P::Addressing);
    bench.cpu.general[5] = 100;
    assert_eq!(complete(&mut bench, KDSA), 0);
    assert_eq!(bench.cpu.general[5], 0);
}

/// A message that is longer than what one execution of KDSA processes, and a key to sign it with.
fn to_sign(length: u64) -> Bench {
    let mut bench = bench(40);
    bench.set(PARAMETERS, &[0; 4096]);
    bench.set(PARAMETERS + 64, &text(32));
    message(&mut bench, &text(length));
    bench
}

#[test]
fn kdsa_takes_a_long_message_in_pieces_with_condition_code_3_and_keeps_its_registers_meanwhile() {
    let length = 4 * PIECE + 100;
    let mut bench = to_sign(length);
    let registers = bench.cpu.general;
    let mut times = 1;
    while complete(&mut bench, KDSA) == 3 {
        assert_eq!(bench.cpu.general, registers);
        assert_eq!(bytes(&bench, PARAMETERS, 64), [0; 64], "no signature yet");
        assert_ne!(bytes(&bench, PARAMETERS + 112, 2), [0, 0]);
        times += 1;
    }
    // Two passes, two pieces at a time.
    assert_eq!(times, 5);
    assert_eq!(bench.cpu.general[4..6], [SECOND + length, 0]);
    assert_eq!(
        bytes(&bench, PARAMETERS + 112, 8),
        [0; 8],
        "nothing goes on"
    );
    // The signature is that of the message in one piece.
    let function = Function::of(msa::Instruction::Kdsa, 40).expect("offered");
    let mut parameters = [vec![0; 64], text(32)].concat();
    let mut signature = function.signature(&parameters, None).expect("begins");
    for _ in 0..2 {
        signature.take(&text(length));
        function.end_pass(&mut signature, &mut parameters);
    }
    assert_eq!(bytes(&bench, PARAMETERS, 96), parameters);
}

#[test]
fn kdsa_signs_a_short_message_at_once_and_touches_nothing_behind_its_parameter_block() {
    let mut bench = to_sign(PIECE);
    bench.set(PARAMETERS + 120, &[0x55; 300]);
    assert_eq!(complete(&mut bench, KDSA), 0);
    assert_ne!(bytes(&bench, PARAMETERS, 64), [0; 64]);
    assert_eq!(bytes(&bench, PARAMETERS + 112, 8), [0; 8]);
    assert_eq!(bytes(&bench, PARAMETERS + 120, 300), [0x55; 300]);
}

#[test]
fn a_message_without_end_holds_kdsa_no_longer_than_its_pieces() {
    let mut bench = to_sign(64);
    bench.cpu.general[5] = u64::MAX;
    // The rest of storage is zeros; beyond its end there is an exception in time.
    for _ in 0..20 {
        assert_eq!(complete(&mut bench, KDSA), 3);
    }
}

#[test]
fn kdsa_begins_anew_where_the_buffer_holds_no_state_and_needs_to_store_into_it_to_stop() {
    let expected = {
        let mut bench = to_sign(64);
        assert_eq!(complete(&mut bench, KDSA), 0);
        bytes(&bench, PARAMETERS, 96)
    };
    let mut garbage = to_sign(64);
    garbage.set(PARAMETERS + 112, &[0x77; 400]);
    assert_eq!(complete(&mut garbage, KDSA), 0);
    assert_eq!(bytes(&garbage, PARAMETERS, 96), expected);
    let mut protected = to_sign(3 * PIECE);
    translate(&mut protected);
    change_page(&mut protected, PARAMETERS + PAGE, PTE_PROTECTION);
    let block = bytes(&protected, PARAMETERS, 120);
    let near_the_end = PARAMETERS + PAGE - 120;
    protected.set(near_the_end, &block);
    protected.cpu.general[1] = near_the_end;
    let found = exception(&mut protected, KDSA).interruption;
    assert_eq!(found, P::Protection);
}
