//! A message in any pieces of whole data blocks gives the same result as in one piece: the instructions may
//! stop after any block.

use proptest::prelude::*;

use super::*;

const STREAMS: [Instruction; 5] = [
    Instruction::Km,
    Instruction::Kmc,
    Instruction::Kmf,
    Instruction::Kmo,
    Instruction::Kma,
];
const DIGESTS: [Instruction; 3] = [Instruction::Kmac, Instruction::Kimd, Instruction::Klmd];

/// All functions of `instructions`.
fn functions(instructions: &[Instruction]) -> Vec<Function> {
    instructions
        .iter()
        .flat_map(|&instruction| (1..128).filter_map(move |code| Function::of(instruction, code)))
        .collect()
}

/// `text` in pieces of as many data blocks as the elements of `cuts`, in rotation.
fn pieces<'t>(text: &'t [u8], block: usize, cuts: &[usize]) -> Vec<&'t [u8]> {
    let mut pieces = Vec::new();
    let mut rest = text;
    for blocks in cuts.iter().cycle() {
        if rest.is_empty() {
            break;
        }
        let (piece, next) = rest.split_at((blocks * block).min(rest.len()));
        pieces.push(piece);
        rest = next;
    }
    pieces
}

fn config() -> ProptestConfig {
    let cases = std::env::var("PROPTEST_CASES").map_or(300, |cases| cases.parse().unwrap());
    ProptestConfig {
        cases,
        failure_persistence: None,
        ..Default::default()
    }
}

fn cuts() -> impl Strategy<Value = Vec<usize>> {
    prop::collection::vec(1_usize..9, 1..5)
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_cut_text_is_transformed_as_a_whole_one_and_back(
        function in prop::sample::select(functions(&STREAMS)),
        decipher: bool,
        feedback in 1_u64..=8,
        bytes in prop::collection::vec(any::<u8>(), 128),
        blocks in 0_usize..40,
        odd in 0_usize..16,
        cuts in cuts(),
    ) {
        let modifier = if decipher { 0x80 } else { 0 };
        let control = Control(feedback << 24 | modifier | u64::from(function.code()));
        let block = function.data_block(control);
        let odd = if function.any_length() { odd } else { 0 };
        let text: Vec<u8> = (0..block * blocks + odd).map(|at| bytes[at % 127]).collect();
        let before = &bytes[..function.parameter_length()];

        let mut whole_parameter = before.to_vec();
        let mut whole = vec![0; text.len()];
        function.process(control, &mut whole_parameter, &text, &mut whole);

        let mut parameter = before.to_vec();
        let mut output = Vec::new();
        for piece in pieces(&text, block, &cuts) {
            let mut out = vec![0; piece.len()];
            function.process(control, &mut parameter, piece, &mut out);
            output.extend(out);
        }
        prop_assert_eq!(&output, &whole);
        prop_assert_eq!(&parameter, &whole_parameter);

        let mut back = vec![0; text.len()];
        function.process(Control(control.0 ^ 0x80), &mut before.to_vec(), &whole, &mut back);
        prop_assert_eq!(back, text);
        let mut kept = before.to_vec();
        kept[function.updated()].copy_from_slice(&whole_parameter[function.updated()]);
        prop_assert_eq!(kept, whole_parameter, "only what is said to be updated is");
    }

    #[test]
    fn a_cut_text_goes_with_its_counters(
        function in prop::sample::select(functions(&[Instruction::Kmctr])),
        bytes in prop::collection::vec(any::<u8>(), 256),
        blocks in 0_usize..16,
        cuts in cuts(),
    ) {
        let block = function.data_block(Control::default());
        let (text, counters) = (&bytes[..block * blocks], &bytes[256 - block * blocks..]);
        let key = &bytes[..function.parameter_length()];
        let mut whole = vec![0; text.len()];
        function.process_counters(key, counters, text, &mut whole);
        let mut output = Vec::new();
        for (text, counters) in pieces(text, block, &cuts).iter().zip(pieces(counters, block, &cuts)) {
            let mut out = vec![0; text.len()];
            function.process_counters(key, counters, text, &mut out);
            output.extend(out);
        }
        prop_assert_eq!(output, whole);
    }

    #[test]
    fn a_cut_message_has_the_same_digest(
        function in prop::sample::select(functions(&DIGESTS)),
        bytes in prop::collection::vec(any::<u8>(), 256),
        blocks in 0_usize..24,
        cuts in cuts(),
    ) {
        let block = function.data_block(Control::default());
        let message: Vec<u8> = (0..block * blocks).map(|at| bytes[at % 251]).collect();
        let mut whole = bytes[..function.parameter_length()].to_vec();
        function.digest(&mut whole, &message);
        let mut parameter = bytes[..function.parameter_length()].to_vec();
        for piece in pieces(&message, block, &cuts) {
            function.digest(&mut parameter, piece);
        }
        prop_assert_eq!(&parameter, &whole);
        let mut kept = bytes[..function.parameter_length()].to_vec();
        kept[function.updated()].copy_from_slice(&whole[function.updated()]);
        prop_assert_eq!(kept, whole);
    }

    #[test]
    fn a_cut_first_operand_of_shake_is_filled_the_same(
        code in 36_u8..=37,
        message in prop::collection::vec(any::<u8>(), 0..130),
        length in 1_usize..2000,
        cuts in cuts(),
    ) {
        let klmd = function(Instruction::Klmd, code);
        let mut whole_parameter = vec![0; 200];
        klmd.digest_last(&mut whole_parameter, &message);
        let mut parameter = whole_parameter.clone();
        let mut whole = vec![0; length];
        klmd.extend(&mut whole_parameter, false, &mut whole);
        let mut output = Vec::new();
        for piece in pieces(&whole, klmd.data_block(Control::default()), &cuts) {
            let mut out = vec![0; piece.len()];
            klmd.extend(&mut parameter, !output.is_empty(), &mut out);
            output.extend(out);
        }
        prop_assert_eq!(output, whole);
        prop_assert_eq!(parameter, whole_parameter);
    }

    #[test]
    fn cut_additional_data_give_the_same_tag(
        code in 18_u8..=20,
        bytes in prop::collection::vec(any::<u8>(), 400),
        length in 0_usize..400,
        cuts in cuts(),
    ) {
        let kma = function(Instruction::Kma, code);
        let mut whole = bytes[..kma.parameter_length()].to_vec();
        let mut parameter = whole.clone();
        kma.authenticate(&mut whole, &bytes[..length]);
        for piece in pieces(&bytes[..length], 16, &cuts) {
            kma.authenticate(&mut parameter, piece);
        }
        prop_assert_eq!(parameter, whole);
    }

    #[test]
    fn a_cut_request_for_random_numbers_gives_the_same(
        bytes in prop::collection::vec(any::<u8>(), 240),
        length in 1_usize..1500,
        cuts in cuts(),
    ) {
        let drng = function(Instruction::Prno, 3);
        let mut whole_parameter = bytes.clone();
        whole_parameter[8..16].fill(0);
        let mut parameter = whole_parameter.clone();
        let mut whole = vec![0; length];
        drng.generate(&mut whole_parameter, 0, &mut whole);
        let mut output = vec![0; length];
        let mut begins = vec![0];
        for piece in pieces(&whole, 64, &cuts) {
            begins.push(begins[begins.len() - 1] + piece.len());
        }
        // From the end of the request to its beginning.
        for piece in begins.windows(2).rev() {
            drng.generate(&mut parameter, piece[0] as u64, &mut output[piece[0]..piece[1]]);
        }
        prop_assert_eq!(output, whole);
        prop_assert_eq!(parameter, whole_parameter);
    }
}
