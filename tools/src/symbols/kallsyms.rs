//! The names that a kernel carries within itself, for its own messages.
//!
//! A build with CONFIG_KALLSYMS has tables in its read-only data. For each symbol they hold a distance, from a base or
//! from the distance's own place, and its type and name in one string of tokens. 256 tokens stand for the most frequent
//! pieces of text. No header gives the places of the tables, but their contents depend on each other so closely that
//! they can be found. The token table holds each digit at the number of its character, the token index says where each
//! of its tokens begins, and every 256th name has a marker.
//!
//! | kernels | order of the tables |
//! |---|---|
//! | to 6.3 | distances, base, number, names, markers, (sequence,) tokens, token index |
//! | from 6.4 | number, names, markers, tokens, token index, distances, base, sequence |
//! | 7.2 | the same without a base: each distance is a signed one, from its own place to the symbol |
//!
//! All begin on a doubleword, in 7.2 on a word. Distances are words, the base is a doubleword, the number a word. A
//! kernel that can be moved uses its base only after the move; before, it need not be an address. Without a base the
//! addresses are those in the file.
//!
//! The tables may be made to deceive: a number of symbols at every place, and names of gigabytes. So the search has a
//! limit, `STEPS`.

use std::cell::Cell;

/// The token table from the token of the character 0 on.
const DIGITS: &[u8] = b"0\x001\x002\x003\x004\x005\x006\x007\x008\x009\0";

/// Tokens.
const TOKENS: usize = 256;

/// Names for each marker.
const MARKED: usize = 256;

/// What tables begin on: a doubleword or a word.
const ALIGNMENTS: [usize; 2] = [8, 4];

/// Numbers of symbols that a kernel may have.
const PLAUSIBLE: std::ops::RangeInclusive<usize> = 256..=1 << 21;

/// A name with its type has fewer characters. In a kernel they are 512 at most.
const LONGEST_NAME: usize = 1024;

/// The most places and names that the search looks at and characters that it puts together: many times what a kernel needs.
const STEPS: u64 = 1 << 27;

/// The steps that are left.
struct Steps(Cell<u64>);

impl Steps {
    /// Takes so many, or returns `None`.
    fn take(&self, steps: usize) -> Option<()> {
        self.0.set(self.0.get().checked_sub(steps as u64)?);
        Some(())
    }
}

/// A symbol.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Name {
    /// Its address. In a kernel that can be moved, only differences of addresses mean something.
    pub address: u64,
    /// Its type as in `nm`: T or t for a routine.
    pub kind: u8,
    /// The name itself.
    pub name: String,
}

/// The symbols of an unpacked kernel in the order of their addresses, if it has any.
pub fn read(kernel: &[u8]) -> Option<Vec<Name>> {
    within(STEPS, kernel)
}

/// The same in so many steps.
fn within(steps: u64, kernel: &[u8]) -> Option<Vec<Name>> {
    let steps = Steps(Cell::new(steps));
    let digits = kernel.windows(DIGITS.len()).enumerate();
    let mut places = digits.filter_map(|(at, bytes)| (bytes == DIGITS).then_some(at));
    places.find_map(|at| {
        let mut alignments = ALIGNMENTS.into_iter();
        alignments.find_map(|alignment| {
            let tokens = Tokens::around(kernel, at, alignment)?;
            names(kernel, &tokens, &steps)
        })
    })
}

/// The symbols of a text like `/proc/kallsyms` or System.map (address, type and name), in the order of their addresses.
/// Symbols of modules, which have a fourth word, are left out.
pub fn from_text(text: &str) -> Option<Vec<Name>> {
    let mut names = Vec::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        let (Some(address), Some(kind), Some(name)) = (words.next(), words.next(), words.next())
        else {
            return None;
        };
        let (address, [kind]) = (u64::from_str_radix(address, 16).ok()?, kind.as_bytes()) else {
            return None;
        };
        if words.next().is_none() {
            names.push(Name {
                address,
                kind: *kind,
                name: name.to_owned(),
            });
        }
    }
    names.sort_by_key(|name| name.address);
    (!names.is_empty()).then_some(names)
}

fn word(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes = bytes.get(at..)?.first_chunk()?;
    Some(u32::from_be_bytes(*bytes) as usize)
}

/// The token table and its index.
struct Tokens<'a> {
    alignment: usize,
    begin: usize,
    behind_index: usize,
    tokens: Vec<&'a [u8]>,
}

impl<'a> Tokens<'a> {
    /// The table whose digits stand at `digits`, if tables begin on this alignment.
    fn around(kernel: &'a [u8], digits: usize, alignment: usize) -> Option<Self> {
        let zero = usize::from(b'0');
        // The index follows the last token and holds the places of the tokens.
        let mut distances = Vec::new();
        let mut at = digits;
        for _ in zero..TOKENS {
            distances.push(at - digits);
            at += kernel.get(at..)?.iter().position(|&byte| byte == 0)? + 1;
        }
        let index_at = at.next_multiple_of(alignment);
        let behind_index = index_at + 2 * TOKENS;
        let index = kernel.get(index_at..behind_index)?;
        let (index, _) = index.as_chunks();
        let index: Vec<usize> = index
            .iter()
            .map(|&bytes| usize::from(u16::from_be_bytes(bytes)))
            .collect();
        let begin = digits.checked_sub(index[zero])?;
        let known = index[zero..].iter().zip(&distances);
        if index[0] != 0
            || known
                .into_iter()
                .any(|(at, far)| begin + at != digits + far)
        {
            return None;
        }
        let tokens = index.iter().map(|at| {
            let token = kernel.get(begin + at..index_at)?;
            token.split(|&byte| byte == 0).next()
        });
        Some(Self {
            alignment,
            begin,
            behind_index,
            tokens: tokens.collect::<Option<_>>()?,
        })
    }
}

/// The tokens of one name, and where the next name begins.
fn next_name(kernel: &[u8], at: usize) -> Option<(&[u8], usize)> {
    let first = usize::from(*kernel.get(at)?);
    // A long name has a length of two bytes, the low one first.
    let (length, begin) = if first < 0x80 {
        (first, at + 1)
    } else {
        (
            (first & 0x7F) | usize::from(*kernel.get(at + 1)?) << 7,
            at + 2,
        )
    };
    let end = begin + length;
    (length > 0).then_some((kernel.get(begin..end)?, end))
}

/// All names, if their number is at `number_at` and names and markers lie before the tokens.
fn names_at<'a>(
    kernel: &'a [u8],
    number_at: usize,
    tokens: &Tokens<'_>,
    steps: &Steps,
) -> Option<Vec<&'a [u8]>> {
    let number = word(kernel, number_at)?;
    let begin = number_at + tokens.alignment;
    let mut padding = kernel.get(number_at + 4..begin)?.iter();
    if !PLAUSIBLE.contains(&number) || padding.any(|&byte| byte != 0) {
        return None;
    }
    let (mut at, mut names, mut markers) = (begin, Vec::new(), Vec::new());
    while names.len() < number {
        if names.len() % MARKED == 0 {
            markers.push(at - begin);
        }
        steps.take(1)?;
        let (name, next) = next_name(&kernel[..tokens.begin], at)?;
        names.push(name);
        at = next;
    }
    let markers_at = at.next_multiple_of(tokens.alignment);
    let mut marked = (markers_at..).step_by(4).zip(&markers);
    marked
        .all(|(at, marker)| word(kernel, at) == Some(*marker))
        .then_some(names)
}

/// This number of words.
fn words(kernel: &[u8], at: usize, number: usize) -> Option<impl Iterator<Item = u32>> {
    let bytes = kernel.get(at..at + 4 * number)?;
    let (words, _) = bytes.as_chunks();
    Some(words.iter().map(|&word| u32::from_be_bytes(word)))
}

/// This number of addresses, if they ascend: distances from the base that is at `base_at`.
fn from_base(kernel: &[u8], at: usize, number: usize, base_at: usize) -> Option<Vec<u64>> {
    let distances: Vec<u32> = words(kernel, at, number)?.collect();
    let base = u64::from_be_bytes(*kernel.get(base_at..)?.first_chunk()?);
    let addresses = distances.iter();
    distances.is_sorted().then(|| {
        addresses
            .map(|&distance| base.wrapping_add(u64::from(distance)))
            .collect()
    })
}

/// This number of addresses in the file, if they ascend: distances from their own places.
fn from_places(kernel: &[u8], at: usize, number: usize) -> Option<Vec<u64>> {
    let places = (at as u64..).step_by(4);
    let distances = words(kernel, at, number)?;
    let addresses: Option<Vec<u64>> = places
        .zip(distances)
        .map(|(place, distance)| place.checked_add_signed(i64::from(distance.cast_signed())))
        .collect();
    addresses.filter(|addresses| addresses.is_sorted())
}

fn names(kernel: &[u8], tokens: &Tokens<'_>, steps: &Steps) -> Option<Vec<Name>> {
    let places = (0..tokens.begin).step_by(tokens.alignment).rev();
    let mut affordable = places.map_while(|at| steps.take(1).map(|()| at));
    let (number_at, names) =
        affordable.find_map(|at| Some((at, names_at(kernel, at, tokens, steps)?)))?;
    let length = 4 * names.len();
    let before = number_at.checked_sub(8).and_then(|base_at| {
        let at = base_at.checked_sub(length.next_multiple_of(8))?;
        from_base(kernel, at, names.len(), base_at)
    });
    let behind = tokens.behind_index;
    let addresses = before
        .or_else(|| {
            let base_at = (behind + length).next_multiple_of(8);
            from_base(kernel, behind, names.len(), base_at)
        })
        .or_else(|| from_places(kernel, behind, names.len()))?;
    let name = |(name, address): (&[u8], u64)| {
        let text = name
            .iter()
            .flat_map(|&token| tokens.tokens[usize::from(token)]);
        let text: Vec<u8> = text.copied().take(LONGEST_NAME).collect();
        steps.take(text.len())?;
        if text.len() == LONGEST_NAME {
            return None;
        }
        let (kind, name) = text.split_first()?;
        Some(Name {
            address,
            kind: *kind,
            name: String::from_utf8_lossy(name).into_owned(),
        })
    };
    names.into_iter().zip(addresses).map(name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A release whose tables are as others have them, too.
    #[derive(Clone, Copy, Debug, PartialEq, Eq)]
    enum Tables {
        V6_1,
        V6_12,
        V7_2,
    }

    /// The address of the first routine in [`kernel`].
    fn first(tables: Tables) -> u64 {
        if tables == Tables::V7_2 { 8 } else { 0x10_0000 }
    }

    impl Tables {
        /// Fills a table, so that the next one begins where it may.
        fn pad(self, bytes: &mut Vec<u8>) {
            let alignment = if self == Self::V7_2 { 4 } else { 8 };
            bytes.resize(bytes.len().next_multiple_of(alignment), 0);
        }
    }

    /// A kernel with this many routines, 16 bytes apart, with its tables as in this release.
    fn kernel(number: u32, release: Tables) -> Vec<u8> {
        kernel_of(number, release, b"Trou", b"")
    }

    /// The same with another first token, and with something between names and tokens.
    fn kernel_of(number: u32, release: Tables, first_token: &[u8], between: &[u8]) -> Vec<u8> {
        let (mut names, mut markers) = (Vec::new(), Vec::new());
        for symbol in 0..number {
            if symbol % 256 == 0 {
                markers.extend((names.len() as u32).to_be_bytes());
            }
            // Token 1 is "Trou", token 2 "tine_"; the rest are characters. One name is long.
            let mut name = vec![1, 2];
            name.extend(symbol.to_string().bytes());
            if symbol == 3 {
                name.extend([b'x'; 200]);
                names.extend([(name.len() & 0x7F) as u8 | 0x80, (name.len() >> 7) as u8]);
            } else {
                names.push(name.len() as u8);
            }
            names.extend(name);
        }
        let (mut tokens, mut index) = (Vec::new(), Vec::new());
        for token in 0..=255u8 {
            index.extend((tokens.len() as u16).to_be_bytes());
            match token {
                1 => tokens.extend(first_token),
                2 => tokens.extend(b"tine_"),
                _ if token.is_ascii_graphic() => tokens.push(token),
                _ => {}
            }
            tokens.push(0);
        }
        let mut number_word = number.to_be_bytes().to_vec();
        for table in [&mut number_word, &mut names, &mut markers, &mut tokens] {
            release.pad(table);
        }
        let between = between.to_vec();
        let rest = [number_word, names, markers, between, tokens, index].concat();
        let mut kernel = [&[0x5A; 64][..], DIGITS, &[0xA5; 4]].concat();
        release.pad(&mut kernel);
        if release == Tables::V7_2 {
            // A doubleword would be too much.
            kernel.resize(kernel.len().next_multiple_of(8) + 4, 0xA5);
        }
        let first = first(release);
        let places = kernel.len() + rest.len();
        let mut addresses = Vec::new();
        for symbol in 0..number {
            let distance = 16 * symbol;
            let distance = match release {
                Tables::V6_1 | Tables::V6_12 => distance,
                Tables::V7_2 => (first as u32 + distance).wrapping_sub(places as u32 + 4 * symbol),
            };
            addresses.extend(distance.to_be_bytes());
        }
        release.pad(&mut addresses);
        if release != Tables::V7_2 {
            addresses.extend(first.to_be_bytes());
        }
        kernel.extend(match release {
            Tables::V6_1 => [addresses, rest].concat(),
            Tables::V6_12 | Tables::V7_2 => [rest, addresses].concat(),
        });
        kernel.extend([0xFF; 40]);
        kernel
    }

    #[test]
    fn the_names_of_a_kernel_are_found_in_the_tables_of_every_release() {
        for release in [Tables::V6_1, Tables::V6_12, Tables::V7_2] {
            for number in [256, 257, 1000] {
                let names = read(&kernel(number, release)).unwrap();
                assert_eq!(names.len(), number as usize);
                let last = &names[names.len() - 1];
                assert_eq!(last.address, first(release) + 16 * (u64::from(number) - 1));
                assert_eq!(last.name, format!("routine_{}", number - 1));
                assert_eq!(last.kind, b'T');
                assert_eq!(names[3].name.len(), "routine_3".len() + 200);
            }
        }
    }

    #[test]
    fn tables_that_do_not_fit_each_other_give_no_names() {
        let whole = kernel(300, Tables::V6_1);
        assert_eq!(read(&whole[..whole.len() - 60]), None);
        assert_eq!(read(b""), None);
        // The second distance is the longest one.
        let second = 64 + DIGITS.len() + 4 + 4;
        let mut other = whole.clone();
        other[second] = 0xFF;
        assert_eq!(read(&other), None);
        // The last symbol is before the file.
        let mut other = kernel(300, Tables::V7_2);
        let last = other.len() - 40 - 4;
        other[last] = 0x80;
        assert_eq!(read(&other), None);
    }

    #[test]
    fn a_search_among_false_numbers_of_symbols_ends_after_its_steps() {
        // Every doubleword may be a number of symbols, and long chains of names follow it.
        let false_numbers = b"\x00\x10\x10\x10\x05\x05\x05\x05".repeat(500);
        let hostile = kernel_of(300, Tables::V7_2, b"Trou", &false_numbers);
        assert_eq!(within(STEPS, &hostile).map(|names| names.len()), Some(300));
        assert_eq!(within(20_000, &hostile), None);
        // The same tables without that need far less.
        assert!(within(20_000, &kernel(300, Tables::V7_2)).is_some());
    }

    #[test]
    fn tables_with_a_name_that_no_kernel_has_give_no_names() {
        let long = |length| kernel_of(300, Tables::V6_12, &vec![b't'; length], b"");
        assert!(read(&long(400)).is_some());
        assert_eq!(read(&long(LONGEST_NAME)), None);
    }

    #[test]
    fn a_text_has_an_address_a_type_and_a_name_in_each_line() {
        let text = "0000000000100040 t b\n0000000000100000 T a\n3ff80000000 t m\t[ext4]\n";
        let names = from_text(text).unwrap();
        let words: Vec<(u64, u8, &str)> = names
            .iter()
            .map(|name| (name.address, name.kind, &name.name[..]))
            .collect();
        assert_eq!(words, [(0x10_0000, b'T', "a"), (0x10_0040, b't', "b")]);
        for text in [
            "",
            "ffff B the system map is in another package\n",
            "100000 T\n",
        ] {
            assert_eq!(from_text(text), None, "{text}");
        }
    }
}
