//! What a group of records counted, and the figures that follow.
//!
//! A group keeps only the counters that the formulas of its model need. Each remembers how many records had it: a sum in
//! which some records are missing would make a wrong quotient.

use std::{ops::Range, rc::Rc};

use record::SetType;

use super::{
    figure::Figure,
    formula::{Formula, Quotient},
    formulas::{self, Published},
    generation::Generation,
    hint::Hint,
    lack::Lack,
    nest::{self, Given},
};

/// The highest counter number and one.
const NUMBERS: usize = 512;

/// The counters that the figures of a model need, and the place of each.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Needed {
    numbers: Vec<u16>,
    places: Vec<Option<u8>>,
    /// The places of the counters of each of [`SETS`].
    sets: Vec<Range<usize>>,
}

/// The first and the last number that the counters of each set may have.
const SETS: [(SetType, (u16, u16)); 5] = [
    (SetType::BASIC, (0, 31)),
    (SetType::PROBLEM_STATE, (32, 63)),
    (SetType::CRYPTO_ACTIVITY, (64, 127)),
    (SetType::EXTENDED, (128, 447)),
    (SetType::MT_DIAGNOSTIC, (448, 511)),
];

impl Needed {
    /// Those of a model.
    pub fn of(generation: Option<Generation>) -> Self {
        let numbers = formulas::counters(generation);
        let mut places = vec![None; NUMBERS];
        for (place, number) in numbers.iter().enumerate() {
            places[usize::from(*number)] = u8::try_from(place).ok();
        }
        let sets = SETS.iter().map(|(_, (first, last))| {
            let from = numbers.partition_point(|number| number < first);
            let to = numbers.partition_point(|number| number <= last);
            from..to
        });
        let sets = sets.collect();
        Self {
            numbers,
            places,
            sets,
        }
    }

    /// The numbers in ascending order.
    pub fn numbers(&self) -> &[u16] {
        &self.numbers
    }

    /// The number of a set's first counter, and the places of those of the set; `None` for a set that no figure needs.
    pub fn of_set(&self, set: SetType) -> Option<(u16, Range<usize>)> {
        let (index, (first, _)) = SETS
            .iter()
            .enumerate()
            .find_map(|(index, (known, numbers))| (*known == set).then_some((index, *numbers)))?;
        Some((first, self.sets.get(index)?.clone()))
    }

    fn place(&self, number: u16) -> Option<usize> {
        let place = self.places.get(usize::from(number))?;
        place.map(usize::from)
    }
}

/// A counter of a group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Counter {
    /// The sum over all records that had it. A quotient needs no more digits.
    sum: f64,
    /// How many had it.
    records: u32,
    /// It counts nothing on the machine.
    is_silent: bool,
}

/// What a record counted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Counted {
    /// Counts by place in [`Needed`]; `None` for a counter that the record lacks.
    pub values: Vec<Option<u64>>,
    /// Cycles per microsecond; 0 if the record does not say.
    pub speed: u32,
    /// The time that the record is about, in TOD units, 4096 a microsecond; 0 if it does not say.
    pub time: u64,
}

/// The counts of a group.
#[derive(Clone, Debug)]
pub struct Counts {
    generation: Option<Generation>,
    needed: Rc<Needed>,
    counters: Vec<Counter>,
    /// Records.
    pub records: u32,
    /// CPU time in microseconds; `None` if a record does not give the speed.
    cpu_time: Option<f64>,
    /// Time in microseconds, summed over all CPUs; `None` if a record does not give it.
    time: Option<f64>,
}

/// The value of a figure.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Value {
    /// A number.
    Number(f64),
    /// A workload of LSPR.
    Workload(Hint),
}

impl Value {
    /// The number, if it is one.
    pub const fn number(self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(number),
            Self::Workload(_) => None,
        }
    }
}

impl Counts {
    /// No records yet.
    pub fn new(generation: Option<Generation>, needed: Rc<Needed>) -> Self {
        let counters = vec![Counter::default(); needed.numbers.len()];
        Self {
            generation,
            needed,
            counters,
            records: 0,
            cpu_time: Some(0.0),
            time: Some(0.0),
        }
    }

    /// The model whose formulas are used.
    pub const fn generation(&self) -> Option<Generation> {
        self.generation
    }

    /// Adds a record.
    pub fn add(&mut self, counted: &Counted) {
        self.records = self.records.saturating_add(1);
        for (counter, value) in self.counters.iter_mut().zip(&counted.values) {
            if let Some(value) = value {
                counter.sum += *value as f64;
                counter.records = counter.records.saturating_add(1);
            }
        }
        let cycles = self.needed.place(0).and_then(|place| {
            let cycles = counted.values.get(place).copied().flatten();
            cycles.filter(|_| counted.speed > 0)
        });
        let of_record = cycles.map(|cycles| cycles as f64 / f64::from(counted.speed));
        self.cpu_time = self.cpu_time.zip(of_record).map(|(sum, time)| sum + time);
        let of_record = (counted.time > 0).then(|| counted.time as f64 / 4096.0);
        self.time = self.time.zip(of_record).map(|(sum, time)| sum + time);
    }

    /// Adds the records of another group of the same model.
    pub fn merge(&mut self, other: &Self) {
        self.records = self.records.saturating_add(other.records);
        for (counter, other) in self.counters.iter_mut().zip(&other.counters) {
            counter.sum += other.sum;
            counter.records = counter.records.saturating_add(other.records);
        }
        let sum = |(one, other): (f64, f64)| one + other;
        self.cpu_time = self.cpu_time.zip(other.cpu_time).map(sum);
        self.time = self.time.zip(other.time).map(sum);
    }

    /// Takes the counters for which this is false as counting nothing.
    pub fn keep(&mut self, counts: impl Fn(u16) -> bool) {
        for (number, counter) in self.needed.numbers.iter().zip(&mut self.counters) {
            counter.is_silent = !counts(*number);
        }
    }

    /// The formula of a figure, if a source gives it. `given` are the weights that a person gave.
    pub fn formula(&self, figure: Figure, given: &Given) -> Result<Published, Lack> {
        let published = formulas::published(figure, self.generation)?;
        match (figure, self.generation) {
            (Figure::NestIntensity, None) => Err(Lack::UnknownModel),
            (Figure::NestIntensity, Some(generation)) => {
                let (_, source) = given
                    .weights(generation)
                    .ok_or(Lack::NoWeights(generation))?;
                Ok(Published {
                    source,
                    ..published
                })
            }
            _ => Ok(published),
        }
    }

    /// The formula of a figure in words.
    pub fn formula_text(&self, figure: Figure, given: &Given) -> Result<String, Lack> {
        let formula = self.formula(figure, given)?.formula;
        let weights = self
            .generation
            .and_then(|generation| Some((generation, given.weights(generation)?.0)));
        Ok(match (formula, weights) {
            (Formula::Nest, Some((generation, weights))) => nest::text(&weights, generation),
            _ => formula.to_string(),
        })
    }

    /// A figure, or why there is none.
    pub fn figure(&self, figure: Figure, given: &Given) -> Result<Value, Lack> {
        let formula = self.formula(figure, given)?.formula;
        Ok(Value::Number(match formula {
            Formula::Quotient(quotient) => self.quotient(&quotient)?,
            Formula::Product([one, other]) => self.quotient(&one)? * self.quotient(&other)?,
            Formula::Difference([one, other]) => self.quotient(&one)? - self.quotient(&other)?,
            Formula::Rate => {
                let instructions = self.sum(&[1])?;
                self.sum(&[0])?;
                divide(instructions, self.cpu_time.ok_or(Lack::NoSpeed)?)?
            }
            Formula::Busy => {
                self.sum(&[0])?;
                let cpu_time = self.cpu_time.ok_or(Lack::NoSpeed)?;
                divide(100.0 * cpu_time, self.time.ok_or(Lack::NoTime)?)?
            }
            Formula::Nest => self.nest(given)?,
            Formula::Hint => {
                let number = |figure| {
                    let value = self.figure(figure, given).ok().and_then(Value::number);
                    value.ok_or(Lack::Needs(figure))
                };
                let (l1mp, rni) = (number(Figure::L1Misses)?, number(Figure::NestIntensity)?);
                return Ok(Value::Workload(Hint::of(l1mp, rni)));
            }
        }))
    }

    fn nest(&self, given: &Given) -> Result<f64, Lack> {
        let generation = self.generation.ok_or(Lack::UnknownModel)?;
        let (weights, _) = given
            .weights(generation)
            .ok_or(Lack::NoWeights(generation))?;
        let shares = [
            Figure::Level3,
            Figure::Local4,
            Figure::Remote4,
            Figure::Memory,
        ];
        let mut sum = 0.0;
        for (share, weight) in shares.into_iter().zip(weights.shares) {
            match self.figure(share, given) {
                Ok(value) => sum += weight * value.number().unwrap_or(0.0),
                // z10 has no level-3 cache.
                Err(Lack::NotThere(_)) => {}
                Err(lack) => return Err(lack),
            }
        }
        Ok(weights.factor * sum / 100.0)
    }

    fn quotient(&self, quotient: &Quotient) -> Result<f64, Lack> {
        let above = self.sum(quotient.above)?;
        divide(quotient.times * above, self.sum(quotient.below)?)
    }

    /// The sum of counters that all records have.
    fn sum(&self, numbers: &[u16]) -> Result<f64, Lack> {
        numbers.iter().map(|number| self.counter(*number)).sum()
    }

    fn counter(&self, number: u16) -> Result<f64, Lack> {
        let place = self.needed.place(number);
        let counter = place.and_then(|place| self.counters.get(place));
        match counter {
            Some(counter) if counter.records == 0 => Err(Lack::NotCollected(number)),
            Some(counter) if counter.is_silent => Err(Lack::CountsNothing(number)),
            Some(counter) if counter.records == self.records => Ok(counter.sum),
            Some(counter) => Err(Lack::Partly {
                counter: number,
                found: counter.records,
                records: self.records,
            }),
            None => Err(Lack::NotCollected(number)),
        }
    }
}

fn divide(above: f64, below: f64) -> Result<f64, Lack> {
    if below > 0.0 {
        Ok(above / below)
    } else {
        Err(Lack::DividesByZero)
    }
}
