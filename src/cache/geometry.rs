//! The geometry of caches, and its text form.

use core::fmt;

/// Largest size of a cache in bytes.
const LARGEST: u32 = 1 << 20;
/// Most ways of a cache.
const MOST_WAYS: u16 = 16;
/// The shortest and the longest line in bytes. A line is at most a page, so that it is contiguous in absolute storage.
const LINES: (u16, u16) = (16, 4096);
/// The penalty cycles of a directory write by default.
const PENALTY: u16 = 8;

/// One of the caches of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Which {
    /// The instruction cache.
    Instruction,
    /// The data cache.
    Data,
}

impl fmt::Display for Which {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Instruction => "instruction cache",
            Self::Data => "data cache",
        })
    }
}

/// Size, ways and line of a cache, and the cost of a directory write. The numbers are consistent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Shape {
    size: u32,
    ways: u16,
    line: u16,
    penalty: u16,
}

/// Why no cache can have a shape.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ShapeError {
    /// The line is not a power of two, or not within the limits.
    Line(u16),
    /// There are no ways, or too many.
    Ways(u16),
    /// The cache is too large, or its size is zero.
    Size(u32),
    /// This size, in this number of ways with lines of this length, does not give a power of two of sets.
    Sets(u32, u16, u16),
}

impl fmt::Display for ShapeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Line(line) => write!(
                f,
                "a line of {line} bytes is not possible; choose a power of two from {} to {}",
                LINES.0, LINES.1
            ),
            Self::Ways(ways) => write!(
                f,
                "{ways} ways are not possible; choose from 1 to {MOST_WAYS}"
            ),
            Self::Size(size) => write!(
                f,
                "a size of {size} bytes is not possible; choose at most {}K",
                LARGEST >> 10
            ),
            Self::Sets(size, ways, line) => write!(
                f,
                "{size} bytes in {ways} ways of {line}-byte lines are not a power of two of sets; choose \
                 a size of {} times 1, 2, 4 and so on",
                Bytes(u32::from(ways) * u32::from(line))
            ),
        }
    }
}

impl core::error::Error for ShapeError {}

impl Shape {
    /// A cache of `size` bytes in `ways` ways, with lines of `line` bytes; a directory write costs `penalty` cycles.
    ///
    /// # Errors
    /// When there can be no such cache.
    pub const fn new(size: u32, ways: u16, line: u16, penalty: u16) -> Result<Self, ShapeError> {
        if !line.is_power_of_two() || line < LINES.0 || line > LINES.1 {
            return Err(ShapeError::Line(line));
        }
        if ways == 0 || ways > MOST_WAYS {
            return Err(ShapeError::Ways(ways));
        }
        if size == 0 || size > LARGEST {
            return Err(ShapeError::Size(size));
        }
        let way = ways as u32 * line as u32;
        if !size.is_multiple_of(way) || !(size / way).is_power_of_two() {
            return Err(ShapeError::Sets(size, ways, line));
        }
        Ok(Self {
            size,
            ways,
            line,
            penalty,
        })
    }

    /// Bytes of the cache.
    #[must_use]
    pub const fn size(&self) -> u32 {
        self.size
    }

    /// Lines of a set.
    #[must_use]
    #[inline]
    pub const fn ways(&self) -> usize {
        self.ways as usize
    }

    /// Bytes of a line.
    #[must_use]
    pub const fn line(&self) -> u16 {
        self.line
    }

    /// Cycles that a directory write costs.
    #[must_use]
    #[inline]
    pub const fn penalty(&self) -> u64 {
        self.penalty as u64
    }

    /// Lines of the cache.
    #[must_use]
    pub const fn lines(&self) -> usize {
        self.size as usize >> self.line_shift()
    }

    /// The number of bits in the byte index within a line.
    #[must_use]
    #[inline]
    pub const fn line_shift(&self) -> u32 {
        self.line.trailing_zeros()
    }

    /// Sets of the cache, a power of two.
    #[must_use]
    pub const fn sets(&self) -> u64 {
        (self.lines() / self.ways()) as u64
    }
}

/// The caches of a CPU.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Geometry {
    /// The instruction cache.
    pub instruction: Shape,
    /// The data cache.
    pub data: Shape,
}

impl Default for Geometry {
    /// The caches of a z15: 128 KiB each, in 8 ways of 256-byte lines.
    fn default() -> Self {
        const SHAPE: Shape = Shape {
            size: 128 << 10,
            ways: 8,
            line: 256,
            penalty: PENALTY,
        };
        Self {
            instruction: SHAPE,
            data: SHAPE,
        }
    }
}

/// The error in the text of a geometry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GeometryError<'t> {
    /// This part is not a cache with its shape.
    Part(&'t str),
    /// This is not a number, or is too large.
    Number(&'t str),
    /// A cache is described again.
    Again(Which),
    /// No cache can have this shape.
    Shape(Which, ShapeError),
}

impl fmt::Display for GeometryError<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Part(part) => write!(
                f,
                "{part} describes no cache; write SIZE/WAYS/LINE or SIZE/WAYS/LINE/PENALTY behind i= or d=, as \
                 i=128K/8/256,d=128K/8/256/{PENALTY}, or default"
            ),
            Self::Number(number) => write!(
                f,
                "{number} is not a number of bytes, ways or cycles; write sizes as 512, 96K or 1M, and at most \
                 {} cycles",
                u16::MAX
            ),
            Self::Again(which) => write!(f, "the {which} is described twice; once is enough"),
            Self::Shape(which, error) => write!(f, "{which}: {error}"),
        }
    }
}

impl core::error::Error for GeometryError<'_> {}

impl Geometry {
    /// Reads what [`fmt::Display`] writes: `i=SIZE/WAYS/LINE/PENALTY` and the same with `d=`, with a comma
    /// between them. Omitted parts have their defaults; the text `default` is all defaults.
    ///
    /// # Errors
    /// When the text has another form, or describes a cache that cannot be.
    pub fn parse(text: &str) -> Result<Self, GeometryError<'_>> {
        let mut geometry = Self::default();
        if text == "default" {
            return Ok(geometry);
        }
        let mut seen = [false; 2];
        for part in text.split(',') {
            let (which, shape, seen) = match part.split_once('=') {
                Some(("i", shape)) => (Which::Instruction, shape, &mut seen[0]),
                Some(("d", shape)) => (Which::Data, shape, &mut seen[1]),
                _ => return Err(GeometryError::Part(part)),
            };
            if core::mem::replace(seen, true) {
                return Err(GeometryError::Again(which));
            }
            let shape = parse_shape(part, shape, which)?;
            match which {
                Which::Instruction => geometry.instruction = shape,
                Which::Data => geometry.data = shape,
            }
        }
        Ok(geometry)
    }

    /// The number of doublewords in both directories of a CPU.
    #[must_use]
    pub const fn doublewords(&self) -> usize {
        self.instruction.lines() + self.data.lines()
    }
}

fn parse_shape<'t>(part: &'t str, text: &'t str, which: Which) -> Result<Shape, GeometryError<'t>> {
    let mut numbers = text.split('/');
    let (Some(size), Some(ways), Some(line)) = (numbers.next(), numbers.next(), numbers.next())
    else {
        return Err(GeometryError::Part(part));
    };
    let penalty = numbers.next().map_or(Ok(PENALTY), number)?;
    if numbers.next().is_some() {
        return Err(GeometryError::Part(part));
    }
    let shape = Shape::new(bytes(size)?, number(ways)?, short(line)?, penalty);
    shape.map_err(|error| GeometryError::Shape(which, error))
}

fn number(text: &str) -> Result<u16, GeometryError<'_>> {
    // A sign is not allowed.
    let is_number = text.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| text.parse().ok()).flatten();
    number.ok_or(GeometryError::Number(text))
}

/// A number of bytes that may have a unit.
fn bytes(text: &str) -> Result<u32, GeometryError<'_>> {
    let (digits, unit) = match text.as_bytes().last() {
        Some(b'K' | b'k') => (&text[..text.len() - 1], 1 << 10),
        Some(b'M' | b'm') => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1u32),
    };
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    let number = is_number.then(|| digits.parse().ok()).flatten();
    number
        .and_then(|number: u32| number.checked_mul(unit))
        .ok_or(GeometryError::Number(text))
}

fn short(text: &str) -> Result<u16, GeometryError<'_>> {
    bytes(text)?
        .try_into()
        .map_err(|_| GeometryError::Number(text))
}

/// A number of bytes with the largest unit that divides it.
struct Bytes(u32);

impl fmt::Display for Bytes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            bytes if bytes.is_multiple_of(1 << 20) => write!(f, "{}M", bytes >> 20),
            bytes if bytes.is_multiple_of(1 << 10) => write!(f, "{}K", bytes >> 10),
            bytes => write!(f, "{bytes}"),
        }
    }
}

impl fmt::Display for Shape {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let size = Bytes(self.size);
        write!(f, "{size}/{}/{}/{}", self.ways, self.line, self.penalty)
    }
}

impl fmt::Display for Geometry {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "i={},d={}", self.instruction, self.data)
    }
}
