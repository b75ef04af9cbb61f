//! The contents of an accepted loader block, and the errors for which a block is refused.

use super::*;
use crate::service::{Function, Request};
use cache::Geometry;
use proptest::prelude::*;

fn segment(staged: u64, staged_length: u64, destination: u64, length: u64) -> Segment {
    Segment {
        staged: staged.into(),
        staged_length: staged_length.into(),
        destination: destination.into(),
        length: length.into(),
    }
}

fn with_segments(segments: &[Segment]) -> LoaderBlock {
    let mut block = LoaderBlock::new();
    block.segments[..segments.len()].copy_from_slice(segments);
    block.segment_count = (segments.len() as u32).into();
    block
}

fn parsed(mut block: LoaderBlock) -> Result<LoaderBlock, LoaderError> {
    block.seal();
    let bytes: [u8; 4096] = zerocopy::transmute!(block);
    LoaderBlock::parse(&bytes).copied()
}

#[test]
fn a_sealed_block_is_read_back() {
    let mut block = with_segments(&[
        segment(0x100_0000, 0x1000, 0x20_0000, 0x1000),
        segment(0x100_1000, 0x10, 0x20_1000, 0x8000),
    ]);
    block.set_name("lz4-workload");
    block.interval = DEFAULT_INTERVAL.into();
    block.psw_mask = 0x1_8000_0000.into();
    block.psw_address = 0x20_0000.into();
    let back = parsed(block).unwrap();
    assert_eq!(back.name(), Ok("lz4-workload"));
    assert_eq!(back.segments().len(), 2);
    assert_eq!(back.psw_address.get(), 0x20_0000);
}

#[test]
fn fields_are_at_the_offsets_of_the_layout() {
    let mut block = with_segments(&[segment(0x100_0000, 1, 2, 3)]);
    block.interval = 0x0102_0304_0506_0708.into();
    block.slice = 0x99.into();
    let bytes = block.as_bytes();
    assert_eq!(bytes[..8], *b"MMLOADR1");
    assert_eq!(bytes[8..12], [0, 0, 16, 0]);
    assert_eq!(bytes[40..48], [1, 2, 3, 4, 5, 6, 7, 8]);
    assert_eq!(bytes[71], 0x99);
    (block.host_parameter, block.machine_type) = (0x1234.into(), 0x3931.into());
    let bytes = block.as_bytes();
    assert_eq!(
        bytes[72..88],
        [0, 0, 0, 0, 0, 0, 0x12, 0x34, 0, 0, 0x39, 0x31, 0, 0, 0, 1]
    );
    assert_eq!(bytes[256 + 31], 3);
}

#[test]
fn a_long_name_is_truncated_at_a_character() {
    let mut block = LoaderBlock::new();
    block.set_name(&"ü".repeat(40));
    assert_eq!(parsed(block).unwrap().name().unwrap().chars().count(), 32);
    block.set_name(&format!("a{}", "ü".repeat(40)));
    assert_eq!(parsed(block).unwrap().name().unwrap().len(), 63);
}

#[test]
fn each_kind_of_damage_has_its_name() {
    let good: [u8; 4096] = {
        let mut block = LoaderBlock::new();
        block.seal();
        zerocopy::transmute!(block)
    };
    assert_eq!(LoaderBlock::parse(&[0; 4096]), Err(LoaderError::Magic(0)));
    let mut bytes = good;
    bytes[11] = 1;
    assert_eq!(LoaderBlock::parse(&bytes), Err(LoaderError::Length(4097)));
    let mut bytes = good;
    bytes[2000] ^= 1;
    assert!(matches!(
        LoaderBlock::parse(&bytes),
        Err(LoaderError::Check(..))
    ));

    let with = |change: fn(&mut LoaderBlock)| {
        let mut block = LoaderBlock::new();
        change(&mut block);
        parsed(block).unwrap_err()
    };
    assert_eq!(
        with(|b| b.flags = (1 << 31).into()),
        LoaderError::Flags(1 << 31)
    );
    assert_eq!(with(|b| b.cpus = 17.into()), LoaderError::Cpus(17));
    assert_eq!(with(|b| b.cpus = 0.into()), LoaderError::Cpus(0));
    assert_eq!(
        with(|b| b.segment_count = 65.into()),
        LoaderError::SegmentCount(65)
    );
    assert_eq!(
        with(|b| b.interval = 999.into()),
        LoaderError::Interval(999)
    );
    assert_eq!(
        with(|b| b.interval = ((1 << 32) + 1).into()),
        LoaderError::Interval((1 << 32) + 1)
    );
    assert_eq!(
        with(|b| b.guest_sets = 0x10.into()),
        LoaderError::Sets(0x10)
    );
    assert_eq!(with(|b| b.level = 3.into()), LoaderError::Level(3));
    assert_eq!(with(|b| b.stacks = 1.into()), LoaderError::Stacks(1));
    let deep = |b: &mut LoaderBlock| (b.interval, b.stacks) = (1000.into(), 257.into());
    assert_eq!(with(deep), LoaderError::Stacks(257));
    assert_eq!(
        with(|b| b.icount_shift = 11.into()),
        LoaderError::IcountShift(11)
    );
    assert_eq!(
        with(|b| b.icount_shift = NO_ICOUNT.into()),
        LoaderError::Clock(1, NO_ICOUNT)
    );
    assert_eq!(
        with(|b| b.flags = (flags::FRAMES | flags::NATIVE).into()),
        LoaderError::Clock(flags::FRAMES | flags::NATIVE, 0)
    );
    assert_eq!(with(|b| b.name[0] = 0xFF), LoaderError::Name);
    let mut block = LoaderBlock::new();
    block.window = window(1, 2, 1000);
    assert!(parsed(block).is_ok());
    assert_eq!(
        with(|b| b.window = window(2, 2, 1000)),
        LoaderError::Window(2, 2)
    );
    assert_eq!(
        with(|b| b.window = window(1, 2, 999)),
        LoaderError::Interval(999)
    );
    let counts = |b: &mut LoaderBlock| {
        b.window = window(1, 2, 1000);
        b.flags = (b.flags.get() | flags::COUNT_TRAPS).into();
    };
    assert_eq!(with(counts), LoaderError::WindowInThisRun);
    assert_eq!(
        with(|b| b.counted_range_count = 9.into()),
        LoaderError::CountedRanges(9)
    );
}

fn window(from: u64, to: u64, interval: u64) -> Window {
    Window {
        from: from.into(),
        to: to.into(),
        interval: interval.into(),
    }
}

#[test]
fn a_secure_guest_is_at_the_virtual_machine_level() {
    let with = |flags: u32, level: u32| {
        let mut block = LoaderBlock::new();
        (block.flags, block.level) = (flags.into(), level.into());
        parsed(block).err()
    };
    let (lpar, vm) = (level::LOGICAL_PARTITION, level::VIRTUAL_MACHINE);
    // (flags, level, accepted)
    let table = [
        (flags::DEDICATED, lpar, true),
        (flags::DEDICATED, vm, true),
        (flags::SECURE, lpar, false),
        (flags::SECURE, vm, true),
        (flags::SECURE | flags::FULL_SAMPLES, vm, true),
        (flags::FULL_SAMPLES, vm, false),
        (flags::HOST_INDICATOR, lpar, false),
        (flags::HOST_INDICATOR, vm, true),
    ];
    for (flags, level, accepted) in table {
        let expected = (!accepted).then_some(LoaderError::Guest(flags, level));
        assert_eq!(with(flags, level), expected, "{flags:X} {level}");
    }
}

#[test]
fn stacks_are_followed_where_samples_show_something() {
    for (flags, accepted) in [
        (0, true),
        (flags::SECURE, false),
        (flags::SECURE | flags::FULL_SAMPLES, true),
    ] {
        let mut block = LoaderBlock::new();
        (block.flags, block.level) = (flags.into(), level::VIRTUAL_MACHINE.into());
        (block.interval, block.stacks) = (1000.into(), 256.into());
        let expected = (!accepted).then_some(LoaderError::Stacks(256));
        assert_eq!(parsed(block).err(), expected, "{flags:X}");
    }
}

#[test]
fn stacks_are_copied_where_they_are_followed_and_up_to_a_length() {
    for (stacks, copy, accepted) in [
        (64, 0, true),
        (64, 8, true),
        (64, LONGEST_COPY, true),
        (64, LONGEST_COPY + 8, false),
        (64, 12, false),
        (0, 8, false),
    ] {
        let mut block = LoaderBlock::new();
        block.interval = 1000.into();
        (block.stacks, block.stack_copy) = (stacks.into(), copy.into());
        let expected = (!accepted).then_some(LoaderError::StackCopy(copy));
        assert_eq!(parsed(block).err(), expected, "{stacks} {copy}");
    }
}

#[test]
fn a_core_has_one_or_two_threads_and_all_of_them_are_cpus() {
    // (threads, CPUs, accepted)
    let table = [
        (0, 1, false),
        (1, 1, true),
        (1, 3, true),
        (2, 1, false),
        (2, 2, true),
        (2, 3, false),
        (2, 4, true),
        (3, 3, false),
    ];
    for (threads, cpus, accepted) in table {
        let mut block = LoaderBlock::new();
        (block.threads, block.cpus) = (threads.into(), cpus.into());
        let expected = (!accepted).then_some(LoaderError::Threads(threads, cpus));
        assert_eq!(parsed(block).err(), expected, "{threads} {cpus}");
    }
}

#[test]
fn a_block_has_two_possible_caches_or_none() {
    let geometry = Geometry::parse("i=96K/6/256/12,d=1M/16/4K/65535").unwrap();
    let mut block = LoaderBlock::new();
    block.cpus = 3.into();
    assert_eq!(parsed(block).unwrap().geometry(), Ok(None));
    assert_eq!(block.caches_length(), 0);
    block.set_geometry(&geometry);
    assert_eq!(parsed(block).unwrap().geometry(), Ok(Some(geometry)));
    // 384 lines and 256.
    assert_eq!(block.caches_length(), 3 * 640 * 8);
    assert_eq!(
        block.as_bytes()[192..216],
        [
            0, 1, 0x80, 0, 0, 6, 1, 0, 0, 12, 0, 0, 0, 0x10, 0, 0, 0, 16, 0x10, 0, 0xFF, 0xFF, 0, 0
        ]
    );
    let with = |change: fn(&mut LoaderBlock)| {
        let mut block = block;
        change(&mut block);
        parsed(block).unwrap_err()
    };
    assert_eq!(
        with(|block| block.caches[0] = CacheShape::default()),
        LoaderError::Caches(Which::Instruction, ShapeError::Line(0))
    );
    assert_eq!(
        with(|block| block.caches[1].ways = 17.into()),
        LoaderError::Caches(Which::Data, ShapeError::Ways(17))
    );
    assert_eq!(
        with(|block| {
            block.flags = (block.flags.get() | flags::REAL_TIME).into();
            block.icount_shift = NO_ICOUNT.into();
        }),
        LoaderError::CachesInRealTime
    );
}

#[test]
fn segments_that_contradict_each_other_are_refused() {
    let with = |segments: &[Segment]| parsed(with_segments(segments)).unwrap_err();
    assert_eq!(
        with(&[segment(0x100_0000, 9, 0x20_0000, 8)]),
        LoaderError::SegmentLength(0)
    );
    assert_eq!(
        with(&[segment(0x100_0000, 1, u64::MAX - 1, 8)]),
        LoaderError::SegmentRange(0)
    );
    assert_eq!(
        with(&[segment(0xFF_FFFF, 1, 0x20_0000, 8)]),
        LoaderError::SegmentStage(0)
    );
    assert_eq!(
        with(&[
            segment(0x100_0000, 8, 0x20_0000, 0x1000),
            segment(0x100_0010, 8, 0x20_0FFF, 0x1000)
        ]),
        LoaderError::DestinationsOverlap(0, 1)
    );
    assert_eq!(
        with(&[
            segment(0x100_0000, 0x11, 0x20_0000, 0x1000),
            segment(0x100_0010, 8, 0x30_0000, 0x1000)
        ]),
        LoaderError::StagesOverlap(0, 1)
    );
    assert_eq!(
        with(&[
            segment(0x100_0000, 8, 0x20_0000, 0xE0_0011),
            segment(0x100_0010, 8, 0x400_0000, 8)
        ]),
        LoaderError::DestinationOverlapsStage(0, 0)
    );
}

proptest! {
    #[test]
    fn an_accepted_block_copies_without_damage(
        places in prop::collection::vec((0u64..0x40, 0u64..0x20, 0u64..0x60, 0u64..0x20), 0..5),
    ) {
        let segments: Vec<_> = places
            .into_iter()
            .map(|(stage, staged, destination, length)| {
                segment(LOWEST_STAGE + stage, staged, LOWEST_STAGE - 0x10 + destination, length)
            })
            .collect();
        if parsed(with_segments(&segments)).is_ok() {
            // A simple model: copy in order, and test whether every byte came from its stage.
            let base = (LOWEST_STAGE - 0x10) as usize;
            let before: Vec<u32> = (0..0x100).collect();
            let mut storage = before.clone();
            for s in &segments {
                for i in 0..s.staged_length.get() as usize {
                    storage[s.destination.get() as usize - base + i] = storage[s.staged.get() as usize - base + i];
                }
            }
            for s in &segments {
                for i in 0..s.staged_length.get() as usize {
                    prop_assert_eq!(
                        storage[s.destination.get() as usize - base + i],
                        before[s.staged.get() as usize - base + i]
                    );
                }
            }
        }
    }

    #[test]
    fn a_damaged_block_is_refused(at in 0usize..4096, change in 1u8..=255) {
        let mut block = LoaderBlock::new();
        block.seal();
        let mut bytes: [u8; 4096] = zerocopy::transmute!(block);
        bytes[at] ^= change;
        prop_assert!(LoaderBlock::parse(&bytes).is_err());
    }
}

#[test]
fn the_operators_commands_are_lines_and_one_that_is_too_long_changes_nothing() {
    let mut block = LoaderBlock::new();
    assert!(block.add_command("HELP"));
    assert!(block.add_command("AUTH CPU 0 SAMPLING DIAGNOSTIC ON"));
    let filling = "x".repeat(COMMANDS_LENGTH);
    assert!(!block.add_command(&filling));
    assert!(!block.add_command(&filling[..COMMANDS_LENGTH - 39]));
    let back = parsed(block).unwrap();
    let lines: Vec<_> = back.commands().unwrap().lines().collect();
    assert_eq!(lines, ["HELP", "AUTH CPU 0 SAMPLING DIAGNOSTIC ON"]);
    assert!(block.add_command(&filling[..COMMANDS_LENGTH - 40]));
    assert!(!block.add_command(""));
    block.commands[3] = 0xFF;
    assert_eq!(parsed(block).unwrap_err(), LoaderError::Commands);
}

#[test]
fn eight_profilers_start_with_the_guest_and_only_start_requests_are_profilers() {
    let mut block = LoaderBlock::new();
    for number in 0..8 {
        let request = Request {
            area: number.into(),
            ..Request::new(Function::Start)
        };
        assert!(block.add_profiler(request));
    }
    assert!(!block.add_profiler(Request::new(Function::Start)));
    block.profilers[3] = Request::new(Function::Stop);
    let back = parsed(block).unwrap();
    let numbers: Vec<_> = back.profilers().map(|request| request.area.get()).collect();
    assert_eq!(numbers, [0, 1, 2, 4, 5, 6, 7]);
}
