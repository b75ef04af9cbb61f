//! Files of any length are read in the storage of their longest block, record or line.

use std::io::{self, BufReader, Read, Write};

use fuzz::{STORAGE, targets};
use measure::{
    formats::{
        recognise::{Encoding, Kind},
        samples,
    },
    views::dump::{self, Form},
};
use millimeter::record::smp::SMALL_BLOCK;

/// The length of each file: a multiple of what may be allocated, so that no reader can keep it.
const LENGTH: u64 = 1 << 20;

/// What may be allocated: buffers.
const MOST: usize = 1 << 19;

/// The same bytes repeatedly, never in storage as a whole.
struct Again {
    head: Vec<u8>,
    bytes: Vec<u8>,
    at: usize,
}

impl Again {
    fn of(head: &[u8], bytes: &[u8]) -> impl Read {
        let again = Self {
            head: head.to_vec(),
            bytes: bytes.to_vec(),
            at: 0,
        };
        let length = head.len() as u64 + LENGTH / bytes.len() as u64 * bytes.len() as u64;
        again.take(length)
    }
}

impl Read for Again {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let whole = self.head.len() + self.bytes.len();
        if self.at == whole {
            self.at = self.head.len();
        }
        let source = match self.bytes.get(self.at.wrapping_sub(self.head.len())..) {
            Some(rest) if self.at >= self.head.len() => rest,
            _ => &self.head[self.at..],
        };
        let read = source.len().min(buffer.len());
        buffer[..read].copy_from_slice(&source[..read]);
        self.at += read;
        Ok(read)
    }
}

/// Counts what is written.
struct Sink(u64);

impl Write for Sink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0 += bytes.len() as u64;
        Ok(bytes.len())
    }
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// What `work` allocates at most at a time.
fn peak<T>(work: impl FnOnce() -> T) -> (T, usize) {
    STORAGE.reset_peak_usage();
    let before = STORAGE.current_usage();
    let made = work();
    (made, STORAGE.peak_usage().saturating_sub(before))
}

/// The first good input of a target.
fn good(name: &str) -> Vec<u8> {
    let target = targets::all()
        .into_iter()
        .find(|target| target.name == name);
    (target.unwrap().good)().swap_remove(0)
}

// One test: what is allocated is counted for the whole process.
#[test]
fn no_reader_keeps_what_it_has_read() {
    let (ascii, map) = (Encoding::Ascii, good("map"));
    let cnt = good("cnt");
    // The heading occurs once; the values of CPUs follow without end.
    let values = cnt
        .windows(10)
        .position(|window| window == b"START TIME")
        .unwrap();
    let (heading, values) = cnt.split_at(values);
    let blocks = Kind::Samples { block: SMALL_BLOCK };
    for (what, kind, head, bytes) in [
        ("samples", blocks, &[][..], &good("smp")[..]),
        (
            "SMF records",
            Kind::Smf { blocks: false },
            &[],
            &good("smf"),
        ),
        (
            "SMF blocks",
            Kind::Smf { blocks: true },
            &[],
            &good("smf-blocks"),
        ),
        ("monitor records", Kind::Monitor, &[], &good("monitor")),
        ("a map", Kind::Map(ascii), &[], &map),
        ("counters", Kind::Counters(ascii), heading, values),
    ] {
        let mut out = Sink(0);
        let (done, used) = peak(|| {
            let mut file = BufReader::with_capacity(1 << 16, Again::of(head, bytes));
            dump::read_as(kind, &mut file, Form::Csv, &mut out)
        });
        done.unwrap_or_else(|error| panic!("{what}: {error:#}"));
        println!("{what}: {used} bytes of storage, {} written", out.0);
        assert!(out.0 > LENGTH, "{what}: only {} bytes were written", out.0);
        assert!(used < MOST, "{what}: {used} bytes of storage");
    }
    let (tally, used) = peak(|| samples::tally(Again::of(&[], &good("smp")), SMALL_BLOCK));
    assert_eq!(tally.unwrap().malformed, 0);
    assert!(used < MOST, "{used} bytes of storage");
}
