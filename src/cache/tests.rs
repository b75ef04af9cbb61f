use super::model::Remembered;
use super::*;
use proptest::prelude::*;
use std::cell::RefCell;

fn cache(size: u32, ways: u16, line: u16) -> Cache<'static> {
    let shape = Shape::new(size, ways, line, 10).unwrap();
    Cache::new(shape, vec![0; shape.lines()].leak()).unwrap()
}

fn writes(cache: &mut Cache<'_>, at: u64, length: u64) -> u64 {
    cache.access(Absolute(at), length).directory_writes
}

#[test]
fn the_default_is_128_kib_in_8_ways_of_256_byte_lines() {
    let geometry = Geometry::parse("default").unwrap();
    assert_eq!(geometry, Geometry::default());
    assert_eq!(geometry.to_string(), "i=128K/8/256/8,d=128K/8/256/8");
    assert_eq!(geometry.doublewords(), 1024);
}

#[test]
fn a_geometry_is_read_as_it_is_written() {
    for text in [
        "i=96K/6/256/12,d=128K/8/256/0",
        "i=1M/16/4096/65535,d=16/1/16/1",
    ] {
        assert_eq!(Geometry::parse(text).unwrap().to_string(), text);
    }
    for (text, whole) in [
        ("d=16k/4/64", "i=128K/8/256/8,d=16K/4/64/8"),
        ("d=512/2/0K,i=512/2/64", ""),
        ("d=4096/1/4K,i=512/2/64/3", "i=512/2/64/3,d=4K/1/4096/8"),
    ] {
        match Geometry::parse(text) {
            Ok(geometry) => assert_eq!(geometry.to_string(), whole),
            Err(error) => assert!(whole.is_empty(), "{text}: {error}"),
        }
    }
}

#[test]
fn a_wrong_geometry_is_refused_with_the_error_and_the_valid_form() {
    for (text, parts) in [
        (
            "",
            [
                "describes no cache",
                "i=128K/8/256,d=128K/8/256/8, or default",
            ],
        ),
        (
            "l2=1M/8/256",
            ["l2=1M/8/256 describes no cache", "i= or d="],
        ),
        ("i=128K/8", ["i=128K/8 describes", "SIZE/WAYS/LINE"]),
        ("i=1K/1/64/1/1", ["i=1K/1/64/1/1 describes", "PENALTY"]),
        ("i=128KB/8/256", ["128KB is not a number", "96K or 1M"]),
        ("i=128K/+8/256", ["+8 is not", "ways"]),
        ("i=128K/8/128K", ["128K is not", "bytes"]),
        ("i=8192M/8/256", ["8192M is not", "bytes"]),
        ("i=K/8/256", ["K is not", "bytes"]),
        (
            "i=128K/8/256/65536",
            ["65536 is not", "at most 65535 cycles"],
        ),
        ("i=1K/1/64,i=1K/1/64", ["instruction cache", "twice"]),
        (
            "d=128K/8/100",
            ["data cache: a line of 100 bytes", "from 16 to 4096"],
        ),
        ("d=128K/8/8", ["a line of 8 bytes", "from 16 to 4096"]),
        ("d=128K/8/8K", ["a line of 8192 bytes", "power of two"]),
        ("d=128K/0/256", ["0 ways", "from 1 to 16"]),
        ("d=128K/17/256", ["17 ways", "from 1 to 16"]),
        ("d=2M/8/256", ["2097152 bytes", "at most 1024K"]),
        ("d=0/8/256", ["0 bytes", "at most"]),
        ("d=96K/8/256", ["98304 bytes in 8 ways", "2K times 1, 2, 4"]),
        ("d=100/1/16", ["100 bytes in 1 ways", "16 times"]),
    ] {
        let error = Geometry::parse(text).unwrap_err().to_string();
        for part in parts {
            assert!(error.contains(part), "{text}: {error}");
        }
    }
}

#[test]
fn a_directory_has_an_entry_for_each_line() {
    let shape = Shape::new(1024, 2, 64, 1).unwrap();
    assert!(Cache::new(shape, &mut [0; 15]).is_none());
    assert!(Cache::new(shape, &mut [0; 16]).is_some());
    let geometry = Geometry::parse("i=1K/2/64,d=256/1/64").unwrap();
    assert!(Caches::new(geometry, &mut [0; 15]).is_none());
    assert!(Caches::new(geometry, &mut [0; 19]).is_none());
    assert!(Caches::new(geometry, &mut [0; 20]).is_some());
}

#[test]
fn a_line_is_brought_in_once_while_it_is_used() {
    let mut cache = cache(1024, 2, 64);
    let written = cache.access(Absolute(0x1000), 8);
    assert_eq!((written.directory_writes, written.penalty_cycles), (1, 10));
    assert_eq!(cache.access(Absolute(0x103F), 1), Written::default());
    assert_eq!(writes(&mut cache, 0x1040, 1), 1);
}

#[test]
fn an_access_that_crosses_lines_counts_each_of_them() {
    let mut cache = cache(1024, 2, 64);
    assert_eq!(writes(&mut cache, 0x103E, 2), 1);
    assert_eq!(writes(&mut cache, 0x103E, 3), 1, "the second line is new");
    assert_eq!(writes(&mut cache, 0x1000, 256), 2, "two of four are");
    assert_eq!(writes(&mut cache, 0x2000, 0), 0, "no byte, no line");
    assert_eq!(writes(&mut cache, u64::MAX, 2), 1, "nothing is beyond");
}

#[test]
fn the_least_recently_used_line_of_a_set_is_replaced() {
    // Two sets: lines with even numbers share one.
    let mut cache = cache(256, 2, 64);
    let even = |n: u64| n * 128;
    assert_eq!(writes(&mut cache, even(0), 1), 1);
    assert_eq!(writes(&mut cache, even(1), 1), 1);
    assert_eq!(writes(&mut cache, even(0), 1), 0);
    assert_eq!(writes(&mut cache, even(2), 1), 1, "in place of line 1");
    assert_eq!(writes(&mut cache, even(0), 1), 0);
    assert_eq!(writes(&mut cache, even(1), 1), 1);
    assert_eq!(writes(&mut cache, 64, 1), 1, "the other set is empty");
    assert_eq!(writes(&mut cache, even(0), 1), 0);
}

#[test]
fn a_purge_removes_all_lines_of_both_caches() {
    let geometry = Geometry::parse("i=1K/2/64,d=256/1/64/3").unwrap();
    let mut storage = [0; 20];
    let mut caches = Caches::new(geometry, &mut storage).unwrap();
    for _ in 0..2 {
        assert_eq!(writes(&mut caches.instruction, 0x100, 4), 1);
        assert_eq!(writes(&mut caches.data, 0x100, 4), 1);
        assert_eq!(writes(&mut caches.data, 0x100, 4), 0);
        caches.purge();
    }
}

/// Performs a trace of accesses with both models and compares them at each access.
fn compare(shape: Shape, trace: impl IntoIterator<Item = (u64, u64)>) -> Result<(), TestCaseError> {
    let mut directory = vec![0; shape.lines()];
    let mut cache = Cache::new(shape, &mut directory).unwrap();
    let mut remembered = Remembered::new(shape);
    for (number, (at, length)) in trace.into_iter().enumerate() {
        // An occasional reset.
        if number % 1009 == 1008 {
            cache.purge();
            remembered.purge();
        }
        let (one, other) = (
            cache.access(Absolute(at), length),
            remembered.access(at, length),
        );
        prop_assert_eq!(
            one,
            other,
            "access {}: {} bytes at {:X}",
            number,
            length,
            at
        );
    }
    Ok(())
}

prop_compose! {
    fn shapes()(line in 4..10u32, ways in 1..=16u16, sets in 0..7u32, penalty in 0..20u16) -> Shape {
        let size = (1 << sets << line) * u32::from(ways);
        Shape::new(size, ways, 1 << line, penalty).unwrap()
    }
}

/// A piece of a trace, relative to the shape of the cache.
#[derive(Clone, Debug)]
enum Piece {
    /// Random accesses within this multiple of the cache's size.
    Random(Vec<(u64, u64)>, u64),
    /// Start, stride, number of accesses, and repetitions of all of it.
    Loop(u64, u64, u64, u64),
    /// Start, number of lines of one set, and repetitions of all of them.
    Aliases(u64, u64, u64),
}

impl Piece {
    fn trace(&self, shape: Shape) -> Vec<(u64, u64)> {
        let size = u64::from(shape.size());
        let alias = size / shape.ways() as u64;
        match self {
            Self::Random(accesses, times) => accesses
                .iter()
                .map(|(at, length)| (at % (size * times), *length))
                .collect(),
            Self::Loop(begin, stride, count, again) => (0..*again)
                .flat_map(|_| (0..*count).map(move |n| (begin + n * stride, 8)))
                .collect(),
            Self::Aliases(begin, count, again) => (0..*again)
                .flat_map(|_| (0..*count).map(move |n| (begin + n * alias, 4)))
                .collect(),
        }
    }
}

fn pieces() -> impl Strategy<Value = Piece> {
    let accesses = prop::collection::vec((any::<u64>(), 0..600u64), 1..200);
    prop_oneof![
        (accesses, 1..4u64).prop_map(|(accesses, times)| Piece::Random(accesses, times)),
        (0..1u64 << 31, 1..700u64, 1..80u64, 1..5u64)
            .prop_map(|(begin, stride, count, again)| Piece::Loop(begin, stride, count, again)),
        (0..1u64 << 31, 1..20u64, 1..6u64)
            .prop_map(|(begin, count, again)| Piece::Aliases(begin, count, again)),
    ]
}

proptest! {
    #[test]
    fn both_models_agree_at_each_access_of_random_loops_strides_and_aliases(
        shape in shapes(),
        pieces in prop::collection::vec(pieces(), 1..8),
    ) {
        compare(shape, pieces.iter().flat_map(|piece| piece.trace(shape)))?;
    }

    #[test]
    fn every_text_is_a_geometry_or_an_error(text in "[id=/,0-9KM ]{0,24}") {
        match Geometry::parse(&text) {
            Ok(geometry) => {
                let written = geometry.to_string();
                prop_assert_eq!(Geometry::parse(&written), Ok(geometry));
            }
            Err(error) => prop_assert!(!error.to_string().is_empty()),
        }
    }
}

/// Doublewords in storage, whose accesses are recorded.
struct Recorder {
    values: Vec<u64>,
    trace: RefCell<Vec<(u64, u64)>>,
}

impl Recorder {
    fn fetch(&self, index: usize) -> u64 {
        self.trace
            .borrow_mut()
            .push((0x20_0000 + index as u64 * 8, 8));
        self.values[index]
    }

    fn exchange(&mut self, one: usize, other: usize) {
        let (first, second) = (self.fetch(one), self.fetch(other));
        for (index, value) in [(one, second), (other, first)] {
            self.fetch(index);
            self.values[index] = value;
        }
    }

    fn sift(&mut self, mut parent: usize, end: usize) {
        while let Some(child) = Some(parent * 2 + 1).filter(|child| *child < end) {
            let second = child + 1;
            let greater = if second < end && self.fetch(second) > self.fetch(child) {
                second
            } else {
                child
            };
            if self.fetch(parent) >= self.fetch(greater) {
                return;
            }
            self.exchange(parent, greater);
            parent = greater;
        }
    }

    fn sort(&mut self) {
        let count = self.values.len();
        for parent in (0..count / 2).rev() {
            self.sift(parent, count);
        }
        for end in (1..count).rev() {
            self.exchange(0, end);
            self.sift(0, end);
        }
    }
}

#[test]
fn both_models_agree_at_each_access_of_a_recorded_sort() {
    let mut value = 1u64;
    let values = (0..600).map(|_| {
        value = value
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        value >> 20
    });
    let mut recorder = Recorder {
        values: values.collect(),
        trace: RefCell::default(),
    };
    recorder.sort();
    assert!(recorder.values.is_sorted());
    let trace = recorder.trace.into_inner();
    assert!(trace.len() > 10_000, "{} accesses", trace.len());
    // The array has 4800 bytes: caches that hold a little of it, most of it, and all of it.
    for (size, ways, line) in [(256, 2, 16), (1536, 6, 64), (4096, 4, 256), (8192, 8, 128)] {
        let shape = Shape::new(size, ways, line, 7).unwrap();
        compare(shape, trace.iter().copied()).unwrap();
    }
}
