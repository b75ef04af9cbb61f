//! Counters as records carry them.

use zerocopy::{
    FromBytes,
    byteorder::big_endian::{U32, U64},
};

use cpumf::{
    CounterSet,
    model::{MODELS, Model},
};

/// The most counters of one set. The largest set is that of z/OS, with 1,500.
pub const MOST_COUNTERS: usize = 2048;

/// The type of a counter set by its number in SMF type 113.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct SetType(pub u16);

impl SetType {
    /// The basic counter set.
    pub const BASIC: Self = Self(1);
    /// The problem-state counter set.
    pub const PROBLEM_STATE: Self = Self(2);
    /// The crypto-activity counter set.
    pub const CRYPTO_ACTIVITY: Self = Self(3);
    /// The extended counter set.
    pub const EXTENDED: Self = Self(4);
    /// The z/OS counter set, which the enhanced-monitor facility counts.
    pub const ZOS: Self = Self(5);
    /// The MT-diagnostic counter set.
    pub const MT_DIAGNOSTIC: Self = Self(6);

    /// All of them, in the order of their numbers.
    pub const ALL: [Self; 6] = [
        Self::BASIC,
        Self::PROBLEM_STATE,
        Self::CRYPTO_ACTIVITY,
        Self::EXTENDED,
        Self::ZOS,
        Self::MT_DIAGNOSTIC,
    ];

    /// The name that operators use.
    #[must_use]
    pub const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::BASIC => "BASIC",
            Self::PROBLEM_STATE => "PROBLEM-STATE",
            Self::CRYPTO_ACTIVITY => "CRYPTO-ACTIVITY",
            Self::EXTENDED => "EXTENDED",
            Self::ZOS => "ZOS",
            Self::MT_DIAGNOSTIC => "MT-DIAGNOSTIC",
            _ => return None,
        })
    }

    /// The set with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|set| set.name() == Some(name))
    }

    /// The number of its first counter, if the type is known; the counters of z/OS begin at zero.
    #[must_use]
    pub const fn first_counter(self) -> Option<u16> {
        Some(match self {
            Self::BASIC | Self::ZOS => 0,
            Self::PROBLEM_STATE => 32,
            Self::CRYPTO_ACTIVITY => 64,
            Self::EXTENDED => 128,
            Self::MT_DIAGNOSTIC => 448,
            _ => return None,
        })
    }
}

/// The number of counters of a set in a machine with these counter first and second version numbers, if they are known.
/// The set of z/OS depends on neither.
#[must_use]
pub(super) fn count_of(set: SetType, [cfvn, csvn]: [u16; 2]) -> Option<usize> {
    let of = |architected: &CounterSet| SetType::from(*architected) == set;
    let set = CounterSet::ALL.into_iter().find(of)?;
    let model = MODELS.iter().find(|model| model.csvn == csvn)?;
    // The first version number decides the problem-state set, the second the other sets.
    Some(Model { cfvn, ..*model }.range(set).count.into())
}

impl From<CounterSet> for SetType {
    fn from(set: CounterSet) -> Self {
        match set {
            CounterSet::Basic => Self::BASIC,
            CounterSet::ProblemState => Self::PROBLEM_STATE,
            CounterSet::CryptoActivity => Self::CRYPTO_ACTIVITY,
            CounterSet::Extended => Self::EXTENDED,
            CounterSet::MtDiagnostic => Self::MT_DIAGNOSTIC,
        }
    }
}

/// The width of a counter in a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Width {
    /// 4 bytes: a short counter data section.
    Short,
    /// 8 bytes: a long one.
    Long,
}

impl Width {
    /// In bytes.
    #[must_use]
    pub const fn bytes(self) -> usize {
        match self {
            Self::Short => 4,
            Self::Long => 8,
        }
    }
}

/// Values of consecutive counters, in an array or in a record.
#[derive(Clone, Copy, Debug)]
pub struct Counters<'a>(Source<'a>);

#[derive(Clone, Copy, Debug)]
enum Source<'a> {
    Values(&'a [u64]),
    /// Contiguous counter data sections, each of which begins with its counter.
    Sections {
        bytes: &'a [u8],
        stride: usize,
        width: Width,
    },
}

impl<'a> Counters<'a> {
    /// These values.
    #[must_use]
    pub const fn new(values: &'a [u64]) -> Self {
        Self(Source::Values(values))
    }

    /// The counters of the sections in `bytes`, each of `stride` bytes, which are at least the width.
    pub(super) fn sections(bytes: &'a [u8], stride: usize, width: Width) -> Self {
        let stride = stride.max(width.bytes());
        Self(Source::Sections {
            bytes,
            stride,
            width,
        })
    }

    /// The number of counters.
    #[must_use]
    pub const fn len(&self) -> usize {
        match self.0 {
            Source::Values(values) => values.len(),
            Source::Sections { bytes, stride, .. } => bytes.len() / stride,
        }
    }

    /// Whether there are none.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes from one counter to the next in the record.
    #[must_use]
    pub const fn stride(&self) -> usize {
        match self.0 {
            Source::Values(_) => Width::Long.bytes(),
            Source::Sections { stride, .. } => stride,
        }
    }

    /// Whether they have 8 bytes each.
    #[must_use]
    pub const fn is_long(&self) -> bool {
        !matches!(
            self.0,
            Source::Sections {
                width: Width::Short,
                ..
            }
        )
    }

    /// Counter `index` of these.
    #[must_use]
    pub fn get(&self, index: usize) -> Option<u64> {
        match self.0 {
            Source::Values(values) => values.get(index).copied(),
            Source::Sections {
                bytes,
                stride,
                width,
            } => {
                let section = bytes.get(index.checked_mul(stride)?..)?.get(..stride)?;
                Some(match width {
                    Width::Short => u64::from(U32::read_from_prefix(section).ok()?.0.get()),
                    Width::Long => U64::read_from_prefix(section).ok()?.0.get(),
                })
            }
        }
    }

    /// Puts the counters with these numbers, in ascending order, to the same places of `values`, if they are among these,
    /// the first of which has number `first`. Other places stay as they are.
    pub fn gather(&self, first: u16, numbers: &[u16], values: &mut [Option<u64>]) {
        for (number, value) in numbers.iter().zip(values) {
            let place = number.checked_sub(first);
            if let Some(found) = place.and_then(|place| self.get(place.into())) {
                *value = Some(found);
            }
        }
    }

    /// The values of all counters.
    pub fn iter(&self) -> impl Iterator<Item = u64> + use<'a> {
        let all = *self;
        (0..all.len()).map_while(move |index| all.get(index))
    }

    /// The width that holds all of them.
    #[must_use]
    pub fn width(&self) -> Width {
        if self.iter().all(|value| u32::try_from(value).is_ok()) {
            Width::Short
        } else {
            Width::Long
        }
    }

    /// Writes them to `out` without gaps. Leaves out what does not fit; the caller checks that first.
    pub(super) fn write(&self, width: Width, out: &mut [u8]) {
        let places = out.chunks_exact_mut(width.bytes());
        for (place, value) in places.zip(self.iter()) {
            let value = value.to_be_bytes();
            place.copy_from_slice(&value[8 - width.bytes()..]);
        }
    }
}

impl PartialEq for Counters<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.len() == other.len() && self.iter().eq(other.iter())
    }
}

impl Eq for Counters<'_> {}

/// The counters of one set.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterValues<'a> {
    /// The set.
    pub set: SetType,
    /// Its counters from the first one on.
    pub counters: Counters<'a>,
}

impl<'a> CounterValues<'a> {
    /// These values of a set.
    #[must_use]
    pub const fn new(set: SetType, values: &'a [u64]) -> Self {
        Self {
            set,
            counters: Counters::new(values),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counters_in_a_record_are_read_at_their_width_and_stride() {
        let bytes = [
            0, 0, 0, 1, 0xFF, 0xFF, 0xFF, 0xFF, 0x80, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF,
        ];
        let padded = Counters::sections(&bytes, 8, Width::Short);
        assert!(padded.iter().eq([1, 0x8000_0000]));
        let long = Counters::sections(&bytes, 8, Width::Long);
        assert!(long.iter().eq([0x1_FFFF_FFFF, 0x8000_0000_FFFF_FFFF]));
        let short = Counters::sections(&bytes, 4, Width::Short);
        assert_eq!(short.len(), 4);
        assert_eq!((long.width(), short.width()), (Width::Long, Width::Short));
        assert_eq!(long.get(2), None);
    }

    #[test]
    fn counters_are_gathered_by_number() {
        let counters = Counters::new(&[10, 11, 12]);
        let mut values = [None, Some(7), None, None, Some(9)];
        counters.gather(128, &[1, 127, 128, 130, 131], &mut values);
        assert_eq!(values, [None, Some(7), Some(10), Some(12), Some(9)]);
    }

    #[test]
    fn a_counter_that_extends_beyond_the_end_is_none() {
        let short = Counters::sections(&[0; 11], 4, Width::Short);
        assert_eq!((short.len(), short.get(2)), (2, None));
        assert_eq!(short.get(usize::MAX), None);
    }

    #[test]
    fn set_types_are_those_of_the_architecture_and_that_of_z_os() {
        for set in CounterSet::ALL {
            let found = SetType::from(set);
            let model = cpumf::model::MODELS[6];
            assert_eq!(found.first_counter(), Some(model.range(set).first));
        }
        for set in SetType::ALL {
            assert_eq!(set.name().and_then(SetType::from_name), Some(set));
        }
        assert_eq!(SetType(7).name(), None);
    }
}
