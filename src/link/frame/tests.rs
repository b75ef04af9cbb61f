//! Frames sent and received, and garbage.

use super::*;
use proptest::prelude::*;

fn encoded(channel: Channel, pieces: &[&[u8]]) -> Vec<u8> {
    let mut out = vec![0xAA; LARGEST_ENCODED];
    let length = encode(channel, pieces, &mut out).unwrap();
    out.truncate(length);
    out
}

/// Byte stuffing as another implementation does it.
fn stuffed(body: &[u8]) -> Vec<u8> {
    let mut out = vec![0; cobs::max_encoding_length(body.len())];
    let length = cobs::encode(body, &mut out);
    out.truncate(length);
    out
}

/// The check of a body, bit by bit: seven bits of the CRC, and a one.
fn check_of(body: &[u8]) -> Vec<u8> {
    let crc = format!("{:035b}", CHECK.checksum(body));
    let byte = |at: usize| u8::from_str_radix(&format!("{}1", &crc[at..at + 7]), 2).unwrap();
    (0..35).step_by(7).map(byte).collect()
}

/// The lengths of the groups of an encoded frame: what byte stuffing has to do.
fn groups(frame: &[u8]) -> Vec<u8> {
    let (mut at, mut lengths) = (0, Vec::new());
    while frame[at] != DELIMITER {
        lengths.push(frame[at]);
        at += usize::from(frame[at]);
    }
    lengths
}

/// What was received: text, and frames.
type Heard = (Vec<u8>, Vec<(Channel, Vec<u8>)>);

fn hear(heard: &mut Heard, received: Received<'_>) {
    match received {
        Received::Text(byte) => heard.0.push(byte),
        Received::Frame(frame) => heard.1.push((frame.channel, frame.payload.to_vec())),
        Received::Nothing | Received::Bad => {}
    }
}

/// Receives byte by byte, and once more as pieces of several lengths, which gives the same.
fn receive(decoder: &mut Decoder, bytes: &[u8]) -> Heard {
    let mut in_pieces = Decoder {
        buffer: decoder.buffer,
        ..*decoder
    };
    let (mut heard, mut again) = (Heard::default(), Heard::default());
    for &byte in bytes {
        hear(&mut heard, decoder.push(byte));
    }
    let mut rest = bytes;
    for length in (1..).map(|n| n * 7 % 300 + 1) {
        let (mut piece, later) = rest.split_at(rest.len().min(length));
        while !piece.is_empty() {
            hear(&mut again, in_pieces.take(&mut piece));
        }
        rest = later;
        if rest.is_empty() {
            break;
        }
    }
    assert_eq!(again, heard);
    assert_eq!(in_pieces.bad, decoder.bad);
    heard
}

#[test]
fn bytes_before_the_first_zero_are_text_and_never_a_frame() {
    let mut stream = b"IPL 0190\r\n".to_vec();
    stream.push(DELIMITER);
    stream.extend(encoded(Channel::Console, &[b"hello"]));
    let mut decoder = Decoder::new();
    let (text, frames) = receive(&mut decoder, &stream);
    assert_eq!(text, b"IPL 0190\r\n");
    assert_eq!(frames, [(Channel::Console, b"hello".to_vec())]);
    assert_eq!(decoder.bad_frames(), 0);

    let (text, frames) = receive(
        &mut Decoder::new(),
        &encoded(Channel::Console, &[b"too early"]),
    );
    assert!(!text.is_empty() && frames.is_empty());
}

#[test]
fn an_empty_payload_is_a_frame() {
    let mut decoder: Decoder = Decoder::new();
    let mut stream = vec![DELIMITER];
    stream.extend(encoded(Channel::Log, &[]));
    assert_eq!(
        receive(&mut decoder, &stream).1,
        [(Channel::Log, Vec::new())]
    );
}

#[test]
fn a_payload_one_byte_too_large_is_refused_and_the_largest_is_not() {
    let payload = vec![7; LARGEST_PAYLOAD + 1];
    let mut out = vec![0; LARGEST_ENCODED + 8];
    assert_eq!(
        encode(Channel::Console, &[&payload], &mut out),
        Err(EncodeError::PayloadTooLarge(LARGEST_PAYLOAD + 1))
    );
    let mut stream = vec![DELIMITER];
    stream.extend(encoded(Channel::Console, &[&payload[1..]]));
    let mut decoder = Decoder::new();
    assert_eq!(receive(&mut decoder, &stream).1.len(), 1);
}

#[test]
fn a_buffer_below_the_bound_is_refused_before_a_byte_is_written() {
    let mut out = [0xAA; encoded_bound(3) - 1];
    assert_eq!(
        encode(Channel::Console, &[b"abc"], &mut out),
        Err(EncodeError::BufferTooSmall(encoded_bound(3)))
    );
    assert!(out.iter().all(|&byte| byte == 0xAA));
}

#[test]
fn a_frame_longer_than_the_receivers_buffer_is_one_bad_frame_and_the_next_is_received() {
    let mut decoder: Decoder<32> = Decoder::new();
    let mut stream = vec![DELIMITER];
    stream.extend(encoded(Channel::Console, &[&[1; 300]]));
    stream.extend(encoded(Channel::Operator, &[b"help"]));
    let mut heard = Vec::new();
    for byte in stream {
        if let Received::Frame(frame) = decoder.push(byte) {
            heard.push(frame.payload.to_vec());
        }
    }
    assert_eq!(heard, [b"help"]);
    assert_eq!(decoder.bad_frames(), 1);
}

/// How many channels there are: their numbers have no gap.
const CHANNELS: u8 = 13;

#[test]
fn a_channel_that_does_not_exist_is_a_bad_frame() {
    let body = [CHANNELS, 1, 2];
    let mut whole = body.to_vec();
    whole.extend(check_of(&body));
    let mut stream = vec![DELIMITER];
    stream.extend(stuffed(&whole));
    stream.push(DELIMITER);
    let mut decoder = Decoder::new();
    assert!(receive(&mut decoder, &stream).1.is_empty());
    assert_eq!(decoder.bad_frames(), 1);
}

fn any_channel() -> impl Strategy<Value = Channel> {
    (0..CHANNELS).prop_map(|number| Channel::from_number(number).unwrap())
}

/// Payloads with difficult cases for byte stuffing: long runs of zeros and of other bytes.
fn any_payload() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![Just(0), any::<u8>()];
    let length = prop_oneof![6 => 1usize..12, 1 => 240usize..260];
    prop::collection::vec((byte, length), 0..40).prop_map(|runs| {
        runs.into_iter()
            .flat_map(|(byte, length)| std::iter::repeat_n(byte, length))
            .collect()
    })
}

proptest! {
    #[test]
    fn what_is_sent_is_received(messages in prop::collection::vec((any_channel(), any_payload(), any::<prop::sample::Index>()), 0..6)) {
        let mut stream = vec![DELIMITER];
        for (channel, payload, cut) in &messages {
            let (left, right) = payload.split_at(cut.index(payload.len() + 1));
            stream.extend(encoded(*channel, &[left, right]));
        }
        let mut decoder = Decoder::new();
        let (text, frames) = receive(&mut decoder, &stream);
        prop_assert!(text.is_empty());
        prop_assert_eq!(decoder.bad_frames(), 0);
        let sent: Vec<_> = messages.into_iter().map(|(channel, payload, _)| (channel, payload)).collect();
        prop_assert_eq!(frames, sent);
    }

    #[test]
    fn the_encoding_is_that_of_the_cobs_crate(channel in any_channel(), payload in any_payload()) {
        let mut body = vec![channel as u8];
        body.extend(&payload);
        let check = check_of(&body);
        body.extend(check);
        let mut expected = stuffed(&body);
        expected.push(DELIMITER);
        prop_assert_eq!(encoded(channel, &[&payload]), expected);
    }

    #[test]
    fn stuffing_has_as_much_to_do_for_any_text_of_a_length(
        (one, other) in (0usize..600).prop_flat_map(|length| {
            let text = || prop::collection::vec(1u8..=255, length);
            (text(), text())
        }),
    ) {
        let groups = |text: &[u8]| groups(&encoded(Channel::Console, &[text]));
        prop_assert_eq!(groups(&one), groups(&other));
    }

    #[test]
    fn one_changed_byte_loses_at_most_two_frames_and_invents_none(
        payloads in prop::collection::vec(any_payload(), 1..6),
        at in any::<prop::sample::Index>(),
        other in 1u8..=255,
    ) {
        let mut stream = vec![DELIMITER];
        for payload in &payloads {
            stream.extend(encoded(Channel::SampleData, &[payload]));
        }
        let at = 1 + at.index(stream.len() - 1);
        stream[at] ^= other;
        let mut decoder = Decoder::new();
        let (_, frames) = receive(&mut decoder, &stream);
        prop_assert!(frames.len() + 2 >= payloads.len());
        let mut sent = payloads.iter();
        for (_, frame) in frames {
            prop_assert!(sent.any(|payload| *payload == frame), "a frame that was never sent");
        }
    }

    #[test]
    fn garbage_is_counted_and_the_frame_after_it_is_received(garbage in prop::collection::vec(any::<u8>(), 0..20_000)) {
        let mut decoder = Decoder::new();
        let mut stream = vec![DELIMITER];
        stream.extend(&garbage);
        stream.push(DELIMITER);
        stream.extend(encoded(Channel::Operator, &[b"still here"]));
        let pieces = garbage.split(|&byte| byte == DELIMITER).filter(|piece| !piece.is_empty()).count() as u64;
        let (_, frames) = receive(&mut decoder, &stream);
        prop_assert_eq!(frames.last(), Some(&(Channel::Operator, b"still here".to_vec())));
        prop_assert_eq!(decoder.bad_frames() + frames.len() as u64 - 1, pieces);
    }
}
