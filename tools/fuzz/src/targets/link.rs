//! Input from the link: frames and their payloads; and the loader block for the machine.

use measure::machine::profiler::Answer;
use millimeter::his::Reason;
use millimeter::link::{
    copies::{self, Copies, CopyHead},
    counts::{self, CountEntry, CountsHead},
    data::{self, SAMPLE_DATA_BLOCK, SampleHead},
    files,
    frame::{self, Channel, Decoder, LARGEST_ENCODED, LARGEST_PAYLOAD, Received},
    loader::{BLOCK_LENGTH, LoaderBlock},
    service::{self, Message},
    stack::{self, Collected, StackHead},
    state::State,
    trace,
};
use zerocopy::IntoBytes;

use super::{about, shape};
use crate::Target;

pub const ALL: &[Target] = &[
    Target {
        name: "frames",
        what: "the console: frames, and text before them",
        good: || vec![stream()],
        read: frames,
        for_each_byte: 16,
        at_least: 1 << 20,
    },
    Target {
        name: "payloads",
        what: "payloads of frames: states, sample-data blocks, counter sets, files, the service, by the input's first byte",
        good: || {
            let samples = [&[4][..], &sample_payload()].concat();
            let states = (0..8).map(|kind| [&[0, kind][..], &[0; 200]].concat());
            let counters = [
                5, 0, 1, 0, 2, 0, 2, 0, 32, 0, 1, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7,
            ]
            .to_vec();
            let files = [&[6, 2, 0, 0, 1, 0, 1][..], &[0; 10], &[0x5A; 100]].concat();
            let service = [&[7, 3][..], &[0; 23], &[0x5A; SAMPLE_DATA_BLOCK]].concat();
            let answer = [&[7, 1][..], &[0; 23], &[1; 100]].concat();
            let stacks = [&[9][..], &stacks_payload()].concat();
            let copies = [&[11][..], &copies_payload()].concat();
            let counts = [&[12][..], &counts_payload()].concat();
            states
                .chain([
                    samples, counters, files, service, answer, stacks, copies, counts,
                ])
                .collect()
        },
        read: |input| match input.split_first() {
            Some((channel, payload)) => parsed(*channel, payload),
            None => "empty".to_owned(),
        },
        for_each_byte: 16,
        at_least: 1 << 20,
    },
    Target {
        name: "loader-block",
        what: "the block by which the host hands a run to the machine",
        good: || {
            let mut block = LoaderBlock::new();
            block.cpus = 2.into();
            block.seal();
            vec![block.as_bytes().to_vec()]
        },
        read: |input| {
            let mut bytes = [0; BLOCK_LENGTH as usize];
            let length = input.len().min(bytes.len());
            bytes[..length].copy_from_slice(&input[..length]);
            // With a correct check, the reader examines the rest.
            let mut sealed: LoaderBlock = zerocopy::transmute!(bytes);
            sealed.seal();
            let sealed = zerocopy::transmute!(sealed);
            [bytes, sealed]
                .map(|bytes| match LoaderBlock::parse(&bytes) {
                    Ok(block) => format!("{} segments", about(block.segments().len())),
                    Err(error) => shape(&error.to_string()),
                })
                .join(" ")
        },
        for_each_byte: 16,
        at_least: 1 << 20,
    },
];

/// The answer to one payload of a channel.
fn parsed(channel: u8, payload: &[u8]) -> String {
    match Channel::from_number(channel) {
        Some(Channel::RunState) => match State::parse(payload) {
            Ok(state) => shape(&format!("{state:?}")).chars().take(20).collect(),
            Err(error) => shape(&error.to_string()),
        },
        Some(Channel::SampleData) => match data::parse_samples(payload) {
            Ok(_) => "samples".to_owned(),
            Err(error) => shape(&error.to_string()),
        },
        Some(Channel::Counters) => match data::parse_counters(payload) {
            Ok((head, values)) => {
                assert_eq!(usize::from(head.count.get()), values.len());
                format!("{} counters", about(values.len()))
            }
            Err(error) => shape(&error.to_string()),
        },
        Some(Channel::Files) => match files::parse(payload) {
            Ok((head, kind, bytes)) => format!("{kind:?} {} {}", head.more, about(bytes.len())),
            Err(error) => shape(&error.to_string()),
        },
        Some(Channel::Service) => match service::parse(payload) {
            Ok(Message::Answer(request, area)) => {
                let reason = Reason::from_code(request.reason.get());
                let cpus = Answer { reason, area }.cpus();
                format!("answer {} {}", request.function, about(cpus.len()))
            }
            Ok(message) => shape(&format!("{message:?}")).chars().take(10).collect(),
            Err(error) => shape(&error.to_string()),
        },
        Some(Channel::Stacks) => match stack::parse(payload) {
            Ok((_, mut rest)) => {
                let mut returns = 0;
                while let Ok((found, behind)) = stack::first(rest) {
                    returns += found.returns.len();
                    rest = behind;
                }
                assert!(rest.is_empty() && returns * 8 <= payload.len());
                format!("stacks {}", about(returns))
            }
            Err(error) => shape(&error.to_string()),
        },
        Some(Channel::StackCopies) => match copies::parse(payload) {
            Ok((_, mut rest)) => {
                let mut bytes = 0;
                while let Ok((found, behind)) = copies::first(rest) {
                    bytes += found.bytes.len();
                    rest = behind;
                }
                assert!(rest.is_empty() && bytes <= payload.len());
                format!("copies {}", about(bytes))
            }
            Err(error) => shape(&error.to_string()),
        },
        Some(Channel::Counts) => match counts::parse(payload) {
            Some((_, entries)) => {
                let mut instructions = 0;
                for entry in entries {
                    let counted: u64 = entry.instructions().map(|(_, counts)| counts).sum();
                    assert_eq!(counted, entry.instructions_of_one());
                    instructions += entry.instructions().count();
                }
                format!("counts {}", about(instructions))
            }
            None => "no counts".to_owned(),
        },
        Some(Channel::Trace) => {
            let mut text = 0;
            match trace::parse(payload, |event| {
                text += event.text().len() + event.altered().count()
            }) {
                Ok(_) => format!("events {}", about(text)),
                Err(error) => shape(&error.to_string()),
            }
        }
        _ => String::new(),
    }
}

fn frames(input: &[u8]) -> String {
    let mut decoder = Box::new(Decoder::<LARGEST_ENCODED>::new());
    let (mut text, mut bad) = (0_usize, 0_u64);
    let mut answers = String::new();
    let mut out = vec![0; LARGEST_ENCODED];
    for byte in input {
        match decoder.push(*byte) {
            Received::Nothing => {}
            Received::Text(_) => text += 1,
            Received::Bad => bad += 1,
            Received::Frame(frame) => {
                assert!(frame.payload.len() <= LARGEST_PAYLOAD.min(input.len()));
                // A received frame can be sent again.
                frame::encode(frame.channel, &[frame.payload], &mut out).unwrap();
                if answers.len() < 500 {
                    answers += &parsed(frame.channel as u8, frame.payload);
                }
            }
        }
    }
    assert_eq!(decoder.bad_frames(), bad);
    format!("{} {} {answers}", about(text), about(bad as usize))
}

fn sample_payload() -> Vec<u8> {
    let head = SampleHead {
        cpu: 1.into(),
        level: 1.into(),
        sequence: 2.into(),
    };
    [head.as_bytes(), &[0x5A; SAMPLE_DATA_BLOCK]].concat()
}

fn stacks_payload() -> Vec<u8> {
    let mut collected = Collected::new(1, 4);
    for sample in 0..3_u64 {
        collected.add(|returns| {
            returns.fill(0x20_0006.into());
            StackHead {
                sample: sample.into(),
                address: 0x20_0002.into(),
                count: 4.into(),
                end: 1,
                ..StackHead::default()
            }
        });
    }
    let mut payload = Vec::new();
    collected.send(|pieces| payload = pieces.concat());
    payload
}

fn copies_payload() -> Vec<u8> {
    let mut copies = Copies::new(1, 32);
    for sample in 0..3_u64 {
        copies.add(|bytes| {
            bytes.fill(0x5A);
            Some(CopyHead {
                sample: sample.into(),
                address: 0x20_0002.into(),
                length: 32.into(),
                ..CopyHead::default()
            })
        });
    }
    let mut payload = Vec::new();
    copies.send(|pieces| payload = pieces.concat());
    payload
}

/// Counts of CPU 1: two equal runs of two instructions, three times each.
pub(super) fn counts_payload() -> Vec<u8> {
    let head = CountsHead {
        cpu: 1.into(),
        count: 2.into(),
        counted: 12.into(),
        ..CountsHead::default()
    };
    let entry = CountEntry {
        start: 0x20_0000.into(),
        begins: (0b11 << 62).into(),
        executions: 3.into(),
        ..CountEntry::default()
    };
    [head.as_bytes(), entry.as_bytes(), entry.as_bytes()].concat()
}

fn stream() -> Vec<u8> {
    let mut bytes = b"text\n\0".to_vec();
    let samples = sample_payload();
    for (channel, payload) in [
        (Channel::Console, &b"hello\n"[..]),
        (Channel::SampleData, &samples),
        (Channel::Stacks, &stacks_payload()),
        (Channel::Counts, &counts_payload()),
        (Channel::Operator, b""),
        (Channel::RunState, &[1, 0, 0, 0]),
    ] {
        let mut out = vec![0; LARGEST_ENCODED];
        let length = frame::encode(channel, &[payload], &mut out).unwrap();
        bytes.extend(&out[..length]);
    }
    bytes
}
