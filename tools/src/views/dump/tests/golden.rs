//! A .SMP file written out by hand from the layouts of the blocks and their entries, each value beside its bytes.
//!
//! Nothing in it comes from the machine: the digits follow from the figures of the data entries and of the trailer. The
//! model is a z10, where the entries of a pair are 32 and 64 bytes long.

use std::collections::BTreeMap;

use super::{Form, dump};

/// A basic-sampling and a diagnostic-sampling data entry: of a problem program in its primary space, at level LPAR.
const PROBLEM: &str = "
    0001                | 0 data-entry-format code 0001
    03                  | 2 U 3
    28                  | 3 T 1, W 0, P 1, AS 0, I 0
    40                  | 4 CL 1, H 0, LS 0
    00                  | 5
    0007                | 6 primary ASN 0007
    0000000000201234    | 8 instruction address 0000000000201234
    80000000000004D2    | 16 guest program parameter 80000000000004D2
    0000000000000000    | 24 host program parameter 0000000000000000
    8001                | 32 data-entry-format code 8001
    00                  | 34
    00                  | 35 I 0
    C5*60               | 36 model-dependent C5*60
";

/// A pair of a waiting CPU that is invalid, both entries, at level VM, with a host program parameter.
const INVALID: &str = "
    0001                | 0 data-entry-format code 0001
    0F                  | 2 U 15
    17                  | 3 T 0, W 1, P 0, AS 3, I 1
    A0                  | 4 CL 2, H 1, LS 0
    00                  | 5
    FFFF                | 6 primary ASN FFFF
    FFFFFFFFFFFFFFFE    | 8 instruction address FFFFFFFFFFFFFFFE
    0123456789ABCDEF    | 16 guest program parameter 0123456789ABCDEF
    FEDCBA9876543210    | 24 host program parameter FEDCBA9876543210
    8001                | 32 data-entry-format code 8001
    00                  | 34
    01                  | 35 I 1
    00*59               | 36 model-dependent 00*59FF
    FF                  | 95
";

/// A pair of a secure guest, whose sample is limited.
const LIMITED: &str = "
    0001                | 0 data-entry-format code 0001
    00                  | 2 U 0
    00                  | 3 T 0, W 0, P 0, AS 0, I 0
    90                  | 4 CL 2, H 0, LS 1
    00                  | 5
    0000                | 6 primary ASN 0000
    0000000000000000    | 8 instruction address 0000000000000000
    0000000000000000    | 16 guest program parameter 0000000000000000
    0000000000000000    | 24 host program parameter 0000000000000000
    8001                | 32 data-entry-format code 8001
    00                  | 34
    00                  | 35 I 0
    00*60               | 36 model-dependent 00*60
";

/// The trailer of a block that became full and whose program wants an alert: an epoch and a clock of STORE CLOCK
/// EXTENDED, and 258 samples that found no room.
const FULL: &str = "
    E0                  | 0 F 1, A 1, T 1
    00*3                | 1
    0020                | 4 BSDES 32
    0040                | 6 DSDES 64
    0000000000000102    | 8 sample overflow count 258
    00                  | 16 timestamp 00DF00000100000002AABBCCDDEEFF12
    DF00000100000002    | 17
    AABBCCDDEEFF12      | 25
    00*32               | 32
";

/// The trailer of a block that did not become full: all zeros.
const OPEN: &str = "
    00                  | 0 F 0, A 0, T 0
    00*3                | 1
    0000                | 4 BSDES 0
    0000                | 6 DSDES 0
    0000000000000000    | 8 sample overflow count 0
    00*16               | 16 timestamp 00*16
    00*32               | 32
";

/// Bytes, the lengths of their fields, and the expected dump by offset and name.
#[derive(Default)]
struct Golden {
    bytes: Vec<u8>,
    lengths: Vec<usize>,
    values: BTreeMap<(usize, String), String>,
}

impl Golden {
    /// Adds an entry; offsets in its text are its own.
    fn add(&mut self, text: &str) {
        let base = self.bytes.len();
        for line in text.lines().filter(|line| line.contains('|')) {
            let (digits, remark) = line.split_once('|').unwrap();
            let digits = repeated(digits.trim());
            let (at, values) = remark.trim().split_once(' ').unwrap_or((remark.trim(), ""));
            let at = base + at.parse::<usize>().unwrap();
            assert_eq!(at, self.bytes.len(), "{line}");
            for value in values.split(", ").filter(|value| !value.is_empty()) {
                let (name, value) = value.rsplit_once(' ').unwrap();
                let known = self.values.insert((at, name.to_owned()), repeated(value));
                assert_eq!(known, None, "{line}");
            }
            let digits = digits.as_bytes().chunks(2);
            let bytes = digits.map(|pair| u8::from_str_radix(str::from_utf8(pair).unwrap(), 16));
            let before = self.bytes.len();
            self.bytes.extend(bytes.map(Result::unwrap));
            // Only single bytes are repeated.
            match line.contains('*') {
                true => self.lengths.extend(vec![1; self.bytes.len() - before]),
                false => self.lengths.push(self.bytes.len() - before),
            }
        }
    }

    /// Bytes of zeros up to the trailer of the block.
    fn unused(&mut self) {
        let behind = self.bytes.len().next_multiple_of(4096) - 64;
        self.lengths.extend(vec![1; behind - self.bytes.len()]);
        self.bytes.resize(behind, 0);
    }
}

/// Expands `C5*60` to sixty times `C5`. More digits may follow the number.
fn repeated(digits: &str) -> String {
    let Some((one, rest)) = digits.split_once('*') else {
        return digits.to_owned();
    };
    let times = rest.trim_end_matches(|digit: char| !digit.is_ascii_digit());
    let behind = &rest[times.len()..];
    one.repeat(times.parse().unwrap()) + behind
}

/// A block that 42 pairs fill, and one that two pairs were stored into.
fn golden() -> Golden {
    let mut golden = Golden::default();
    for pair in 0..42 {
        golden.add([PROBLEM, INVALID, LIMITED][pair % 3]);
    }
    golden.add(FULL);
    golden.add(LIMITED);
    golden.add(PROBLEM);
    golden.unused();
    golden.add(OPEN);
    golden
}

#[test]
fn blocks_of_combined_sampling_are_read_as_the_values_beside_their_bytes_say() {
    let golden = golden();
    assert_eq!(golden.bytes.len(), 2 * 4096);
    let (text, error) = dump(&golden.bytes, Form::Json);
    assert_eq!(error, None);
    let mut values = BTreeMap::new();
    let mut kinds = BTreeMap::new();
    for line in text.lines() {
        let record: serde_json::Value = serde_json::from_str(line).unwrap();
        let kind = record["kind"].as_str().unwrap().to_owned();
        *kinds.entry(kind).or_insert(0) += 1;
        for field in record["fields"].as_array().unwrap() {
            let at = usize::try_from(field["offset"].as_u64().unwrap()).unwrap();
            let name = field["name"].as_str().unwrap().to_owned();
            let value = &field["value"];
            let value = value.as_str().map_or(value.to_string(), str::to_owned);
            assert_eq!(values.insert((at, name), value), None);
        }
    }
    for (place, value) in &golden.values {
        assert_eq!(values.get(place), Some(value), "{place:?}");
    }
    assert_eq!(values, golden.values);
    let number = |kind: &str, number| (kind.to_owned(), number);
    let expected = [
        number("basic-sampling data entry", 44),
        number("diagnostic-sampling data entry", 44),
        number("trailer entry", 2),
    ];
    assert_eq!(kinds, BTreeMap::from(expected));
}

#[test]
fn the_same_blocks_with_every_field_exchanged_are_reported_as_little_endian() {
    let golden = golden();
    let mut bytes = golden.bytes;
    let mut rest = &mut bytes[..];
    for length in golden.lengths {
        let (field, behind) = rest.split_at_mut(length);
        field.reverse();
        rest = behind;
    }
    assert!(rest.is_empty());
    let (text, error) = dump(&bytes, Form::Text);
    let expected = "offset 0 (0 hexadecimal), field data-entry-format code: looks little-endian, ";
    assert!(error.as_ref().unwrap().starts_with(expected), "{error:?}");
    assert_eq!(text, "");
}
