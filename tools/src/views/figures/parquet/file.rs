//! A file in the form of Apache Parquet: one group of rows, and each column in one page without compression.
//!
//! The form is that of the project's `parquet.thrift` and `Encodings.md`. Its headers are structures of Thrift in the compact
//! protocol: fields with their numbers and types, integers in zigzag form with seven bits in a byte.

/// How the file begins and ends.
const MARK: &[u8] = b"PAR1";

/// Encodings: values one after another, and runs.
const PLAIN: i64 = 0;
const RLE: i64 = 3;

/// A value may be missing.
const OPTIONAL: i64 = 1;

/// The values of a column, one for each row.
pub enum Column {
    /// Texts in UTF-8.
    Text(Vec<Option<String>>),
    /// Milliseconds since 1970.
    Time(Vec<Option<i64>>),
    /// Small integers.
    Small(Vec<Option<i32>>),
    /// Numbers.
    Number(Vec<Option<f64>>),
}

impl Column {
    /// The type of its values, and what they mean if the type does not say so.
    const fn types(&self) -> (i64, Option<i64>) {
        match self {
            Self::Text(_) => (6, Some(0)),
            Self::Time(_) => (2, Some(9)),
            Self::Small(_) => (1, None),
            Self::Number(_) => (5, None),
        }
    }

    /// Which values are there, and their bytes.
    fn values(&self) -> (Vec<bool>, Vec<u8>) {
        match self {
            Self::Text(values) => plain(values, |text, bytes| {
                bytes.extend((text.len() as u32).to_le_bytes());
                bytes.extend(text.as_bytes());
            }),
            Self::Time(values) => plain(values, |time, bytes| bytes.extend(time.to_le_bytes())),
            Self::Small(values) => plain(values, |small, bytes| bytes.extend(small.to_le_bytes())),
            Self::Number(values) => {
                plain(values, |number, bytes| bytes.extend(number.to_le_bytes()))
            }
        }
    }
}

fn plain<T>(values: &[Option<T>], put: impl Fn(&T, &mut Vec<u8>)) -> (Vec<bool>, Vec<u8>) {
    let mut bytes = Vec::new();
    values
        .iter()
        .flatten()
        .for_each(|value| put(value, &mut bytes));
    (values.iter().map(Option::is_some).collect(), bytes)
}

/// The bytes of a file with these columns, all of the same length.
pub fn bytes(table: &str, columns: &[(&str, Column)]) -> Vec<u8> {
    let mut file = MARK.to_vec();
    let mut rows = 0;
    let mut chunks = Vec::new();
    for (name, column) in columns {
        let (there, values) = column.values();
        let levels = levels(&there);
        let size = (4 + levels.len() + values.len()) as i64;
        let header = Structure::new()
            .integer(1, 0)
            .integer(2, size)
            .integer(3, size)
            .structure(
                5,
                Structure::new()
                    .integer(1, there.len() as i64)
                    .integer(2, PLAIN)
                    .integer(3, RLE)
                    .integer(4, RLE),
            );
        let place = file.len() as i64;
        file.extend(header.end());
        file.extend((levels.len() as u32).to_le_bytes());
        file.extend(levels);
        file.extend(values);
        rows = there.len() as i64;
        let length = file.len() as i64 - place;
        let metadata = Structure::new()
            .integer(1, column.types().0)
            .list(2, INTEGER, [PLAIN, RLE].map(varint))
            .list(3, BINARY, [binary(name)])
            .integer(4, 0)
            .long(5, rows)
            .long(6, length)
            .long(7, length)
            .long(9, place);
        let chunk = Structure::new().long(2, place).structure(3, metadata);
        chunks.push((chunk.end(), length));
    }
    let root = Structure::new()
        .text(4, table)
        .integer(5, columns.len() as i64);
    let elements = columns.iter().map(|(name, column)| {
        let (physical, meaning) = column.types();
        let element = Structure::new()
            .integer(1, physical)
            .integer(3, OPTIONAL)
            .text(4, name);
        match meaning {
            Some(meaning) => element.integer(6, meaning).end(),
            None => element.end(),
        }
    });
    let length = chunks.iter().map(|(_, length)| length).sum();
    let group = Structure::new()
        .list(1, STRUCTURE, chunks.into_iter().map(|(chunk, _)| chunk))
        .long(2, length)
        .long(3, rows);
    let footer = Structure::new()
        .integer(1, 1)
        .list(2, STRUCTURE, std::iter::once(root.end()).chain(elements))
        .long(3, rows)
        .list(4, STRUCTURE, (rows > 0).then(|| group.end()))
        .end();
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(MARK);
    file
}

/// Which values are there, in runs of those that are and those that are not.
fn levels(there: &[bool]) -> Vec<u8> {
    let runs = there.chunk_by(|one, other| one == other);
    runs.flat_map(|run| {
        let mut bytes = unsigned((run.len() as u64) << 1);
        bytes.push(u8::from(run[0]));
        bytes
    })
    .collect()
}

/// Types of fields and of elements of lists.
const INTEGER: u8 = 5;
const LONG: u8 = 6;
const BINARY: u8 = 8;
const LIST: u8 = 9;
const STRUCTURE: u8 = 12;

/// A structure of Thrift, field by field in the order of their numbers.
struct Structure {
    bytes: Vec<u8>,
    last: u8,
}

impl Structure {
    const fn new() -> Self {
        Self {
            bytes: Vec::new(),
            last: 0,
        }
    }

    fn field(mut self, number: u8, kind: u8, content: &[u8]) -> Self {
        self.bytes.push((number - self.last) << 4 | kind);
        self.bytes.extend(content);
        self.last = number;
        self
    }

    fn integer(self, number: u8, value: i64) -> Self {
        self.field(number, INTEGER, &varint(value))
    }

    fn long(self, number: u8, value: i64) -> Self {
        self.field(number, LONG, &varint(value))
    }

    fn text(self, number: u8, text: &str) -> Self {
        self.field(number, BINARY, &binary(text))
    }

    fn structure(self, number: u8, structure: Self) -> Self {
        self.field(number, STRUCTURE, &structure.end())
    }

    fn list(self, number: u8, kind: u8, elements: impl IntoIterator<Item = Vec<u8>>) -> Self {
        let elements: Vec<Vec<u8>> = elements.into_iter().collect();
        let mut list = match u8::try_from(elements.len()) {
            Ok(short @ ..15) => vec![short << 4 | kind],
            _ => [vec![0xF0 | kind], unsigned(elements.len() as u64)].concat(),
        };
        list.extend(elements.concat());
        self.field(number, LIST, &list)
    }

    fn end(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }
}

fn binary(text: &str) -> Vec<u8> {
    [&unsigned(text.len() as u64)[..], text.as_bytes()].concat()
}

/// A signed number: those near zero are short.
fn varint(number: i64) -> Vec<u8> {
    unsigned((number << 1 ^ number >> 63) as u64)
}

fn unsigned(mut number: u64) -> Vec<u8> {
    let mut bytes = Vec::new();
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
    bytes
}
