//! What must hold in a block beyond what reading it needs: SA23-2260 gives fields that are zeros, fields that depend on
//! others, and clocks that only advance.
//!
//! The fields of an entry whose I bit is one need not agree with each other, so only its reserved bits are checked.

use cpumf::sampling::block::{BasicEntry, Trailer};

use super::{DIAGNOSTIC_HEADER, Entry, LARGE_BLOCK};
use crate::{Malformed, Problem};

/// The function that gets each field that breaks a rule, with its offset in the file.
pub type Found<'f> = dyn FnMut(Malformed) + 'f;

/// The rules of a file, block after block.
#[derive(Clone, Copy, Debug, Default)]
pub struct Rules {
    /// The offset of the block and its length.
    base: usize,
    length: usize,
    /// Where the entries of the block end, up to now.
    end: usize,
    /// LS of the basic-sampling data entry before.
    limited: bool,
    /// When the last full block became full, and where it says so.
    full: Option<(u128, Malformed)>,
}

/// A field with its value, to say what it must be.
#[derive(Clone, Copy)]
struct Field(usize, &'static str, u64);

impl Field {
    fn must_be(self, expected: &'static str, found: &mut Found<'_>) {
        let Self(offset, field, value) = self;
        let problem = Problem::Value {
            found: value,
            expected,
        };
        found(Malformed {
            offset,
            field,
            problem,
        });
    }

    fn must_be_zero(self, expected: &'static str, found: &mut Found<'_>) {
        if self.2 != 0 {
            self.must_be(expected, found);
        }
    }
}

const RESERVED: &str = "0, as it is reserved";

impl Rules {
    /// Begins with the block of `length` bytes at `base` in the file.
    pub fn begin(&mut self, base: usize, length: usize) {
        (self.base, self.length, self.end) = (base, length, 0);
        self.limited = false;
    }

    /// Checks the next entry of the block, which is at `at` in it.
    pub fn entry(&mut self, at: usize, entry: &Entry<'_>, found: &mut Found<'_>) {
        let start = self.base + at;
        match entry {
            Entry::Basic(basic) => {
                self.end = at + size_of::<BasicEntry>();
                self.limited = basic.limited() && !basic.invalid();
                self.programming((basic.head.get() >> 32) as u32, start, found);
                reserved(basic, start, found);
                if !basic.invalid() {
                    levels(basic, start, found);
                }
                if self.limited {
                    limited(basic, start, found);
                }
            }
            Entry::Diagnostic { bytes, .. } => {
                self.end = at + bytes.len();
                let (head, rest) = bytes.split_at(DIAGNOSTIC_HEADER.min(bytes.len()));
                let word = head.try_into().map_or(0, u32::from_be_bytes);
                self.programming(word, start, found);
                let used = rest.iter().position(|byte| *byte != 0);
                if let Some(used) = used.filter(|_| self.limited && word & 1 == 0) {
                    let field = Field(
                        start + DIAGNOSTIC_HEADER + used,
                        "model-dependent",
                        rest[used].into(),
                    );
                    field.must_be("0, as LS of the entry before is one", found);
                }
            }
        }
    }

    /// R, for programming use: bit 19 may say that the blocks have 1 MiB. `word` is the first of the entry.
    fn programming(&self, word: u32, start: usize, found: &mut Found<'_>) {
        let bits = word >> 12 & 0xF;
        let most = u32::from(self.length == LARGE_BLOCK);
        if bits > most {
            Field(start + 2, "R", bits.into()).must_be("0, or 1 in a block of 1 MiB", found);
        }
    }

    /// Checks what follows the last entry of the block with these bytes. A program clears a block before it uses the
    /// block again, so what no entry has used is zeros.
    pub fn unused(&self, block: &[u8], found: &mut Found<'_>) {
        let entries = block.len().saturating_sub(size_of::<Trailer>());
        if self.end == 0 {
            let field = Field(self.base, "data-entry-format code", 0);
            field.must_be(
                "that of an entry, as the block is in a file of samples",
                found,
            );
        }
        let rest = block.get(self.end..entries).unwrap_or_default();
        if let Some(used) = rest.iter().position(|byte| *byte != 0) {
            let field = Field(
                self.base + self.end + used,
                "unused entry",
                rest[used].into(),
            );
            field.must_be("0 up to the trailer entry", found);
        }
    }

    /// Checks the trailer, which is at `at` in the block.
    pub fn trailer(&mut self, at: usize, trailer: &Trailer, found: &mut Found<'_>) {
        let start = self.base + at;
        Field(start, "trailer bits 3-7", (trailer.flags & 0x1F).into())
            .must_be_zero(RESERVED, found);
        let [first, second, third] = trailer.reserved_1;
        let reserved = u32::from_be_bytes([0, first, second, third]);
        Field(start + 1, "trailer bytes 1-3", reserved.into()).must_be_zero(RESERVED, found);
        let reserved = trailer.reserved_32.get();
        Field(start + 32, "trailer bytes 32-39", reserved).must_be_zero(RESERVED, found);
        let size = trailer.dsdes.get();
        if (1..DIAGNOSTIC_HEADER).contains(&size.into()) {
            let field = Field(start + 6, "DSDES", size.into());
            field.must_be("0, or 4 at least, the length of an entry's header", found);
        }
        if trailer.full() {
            self.timestamp(start + 16, trailer, found);
        }
    }

    /// Checks when a full block became full.
    fn timestamp(&mut self, at: usize, trailer: &Trailer, found: &mut Found<'_>) {
        let whole = u128::from_be_bytes(trailer.timestamp);
        // Epoch, the 104 bits of the clock, and no programmable field.
        let (clock, tod) = match trailer.timestamp_extended() {
            true => (whole >> 16, (whole >> 56) as u64),
            false => {
                let field = Field(at + 8, "trailer bytes 24-31", whole as u64);
                field.must_be_zero("0, as they are reserved if T is zero", found);
                (whole >> 64 << 40, (whole >> 64) as u64)
            }
        };
        let field = Field(at, "timestamp", tod);
        if clock == 0 {
            field.must_be("a clock value, as the block is full", found);
        }
        if let Some((_, before)) = self.full.filter(|(before, _)| clock < *before) {
            found(before);
            field.must_be("not before that of the last full block", found);
        }
        let problem = Problem::Value {
            found: tod,
            expected: "not after that of the next full block",
        };
        let malformed = Malformed {
            offset: at,
            field: "timestamp",
            problem,
        };
        self.full = Some((clock, malformed));
    }
}

/// Bits 24, 25 and 36-47, and the code of the level that means nothing.
fn reserved(entry: &BasicEntry, start: usize, found: &mut Found<'_>) {
    let head = entry.head.get();
    Field(start + 3, "bits 24-25", head >> 38 & 3).must_be_zero(RESERVED, found);
    Field(start + 4, "bits 36-47", head >> 16 & 0xFFF).must_be_zero(RESERVED, found);
    let level = entry.configuration_level();
    if level == 3 {
        Field(start + 4, "CL", level.into()).must_be("0, 1 or 2", found);
    }
}

/// The program parameters: which of them there are depends on level and host indicator.
fn levels(entry: &BasicEntry, start: usize, found: &mut Found<'_>) {
    let (level, is_host) = (entry.configuration_level(), entry.host_indicator());
    let guest = Field(
        start + 16,
        "guest program parameter",
        entry.guest_program_parameter.get(),
    );
    let host = Field(
        start + 24,
        "host program parameter",
        entry.host_program_parameter.get(),
    );
    let indicator = Field(start + 4, "H", is_host.into());
    if !is_host && host.2 != 0 {
        indicator.must_be("1, as there is a host program parameter", found);
        host.must_be("0, as H is zero", found);
    }
    if is_host && level == 1 && guest.2 != 0 {
        indicator.must_be(
            "0, as CL is 1 and there is a guest program parameter",
            found,
        );
        guest.must_be("0, as H and CL are 1", found);
    }
}

/// A limited sample says nothing of a secure guest.
fn limited(entry: &BasicEntry, start: usize, found: &mut Found<'_>) {
    const ZERO: &str = "0, as LS is one";
    let bit = |bit: bool| u64::from(bit);
    for field in [
        Field(start + 2, "U", entry.unique_instructions().into()),
        Field(start + 3, "T", bit(entry.dat())),
        Field(start + 3, "W", bit(entry.wait())),
        Field(start + 3, "P", bit(entry.problem_state())),
        Field(start + 3, "AS", entry.address_space().into()),
        Field(start + 6, "primary ASN", entry.primary_asn().into()),
        Field(
            start + 8,
            "instruction address",
            entry.instruction_address.get(),
        ),
        Field(
            start + 16,
            "guest program parameter",
            entry.guest_program_parameter.get(),
        ),
    ] {
        field.must_be_zero(ZERO, found);
    }
    let level = entry.configuration_level();
    if level != 2 {
        let field = Field(start + 4, "CL", level.into());
        field.must_be(
            "2, as LS is one: a secure guest is a virtual machine",
            found,
        );
    }
}
