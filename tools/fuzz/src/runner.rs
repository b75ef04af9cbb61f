//! Runs a target: keeps inputs that lead somewhere new, and checks the limits of the reader.

use std::{
    collections::HashSet,
    fs,
    hash::{DefaultHasher, Hash, Hasher},
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::{Duration, Instant},
};

use crate::{STORAGE, Target, mutation::Mutator};

/// The longest time for one input, even on a computer with other work.
pub const LONGEST: Duration = Duration::from_secs(20);

/// The most inputs that led somewhere new and are spoiled further. Beyond that, each replaces another.
const MOST_KEPT: usize = 2000;

/// A violation of the limits by a reader.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// The target's name.
    pub target: &'static str,
    /// What the reader did.
    pub what: String,
    /// The input.
    pub input: Vec<u8>,
}

impl Failure {
    /// Writes the input to a file of this directory.
    ///
    /// # Errors
    /// Those of the file system.
    pub fn save(&self, directory: &Path) -> io::Result<PathBuf> {
        fs::create_dir_all(directory)?;
        let sum = self
            .input
            .iter()
            .fold(0xCBF2_9CE4_8422_2325_u64, |sum, byte| {
                (sum ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01B3)
            });
        let path = directory.join(format!("{}-{sum:016x}", self.target));
        fs::write(&path, &self.input)?;
        Ok(path)
    }
}

/// The input that is being read, and since when, for the watcher that detects an endless reader.
#[derive(Clone, Debug, Default)]
pub struct Watched(Arc<Mutex<Option<Reading>>>);

/// The target's name, the input, and since when.
type Reading = (&'static str, Vec<u8>, Instant);

impl Watched {
    fn set(&self, now: Option<(&'static str, &[u8])>) {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        *place = now.map(|(target, input)| (target, input.to_vec(), Instant::now()));
    }

    /// The failure, if the reader has read one input for longer than [`LONGEST`].
    #[must_use]
    pub fn overdue(&self) -> Option<Failure> {
        let place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let (target, input, since) = place.as_ref()?;
        (since.elapsed() > LONGEST).then(|| Failure {
            target,
            what: format!("has not come to an end after {} s", LONGEST.as_secs()),
            input: input.clone(),
        })
    }
}

/// Reads one input and returns the answer.
///
/// # Errors
/// The violation of the limits, if there was one.
pub fn check(target: &Target, input: &[u8]) -> Result<String, Failure> {
    let failure = |what| Failure {
        target: target.name,
        what,
        input: input.to_vec(),
    };
    STORAGE.reset_peak_usage();
    let before = STORAGE.current_usage();
    let began = Instant::now();
    let answer = catch_unwind(AssertUnwindSafe(|| (target.read)(input))).map_err(|panic| {
        let text = panic.downcast_ref::<String>().map(String::as_str);
        let text = text.or_else(|| panic.downcast_ref().copied());
        failure(format!("panicked: {}", text.unwrap_or("without a text")))
    })?;
    let (took, used) = (began.elapsed(), STORAGE.peak_usage().saturating_sub(before));
    let most = target.most_storage(input.len());
    if used > most {
        return Err(failure(format!(
            "took {used} bytes of storage for {} bytes of input, and {most} are allowed",
            input.len()
        )));
    }
    if took > LONGEST {
        return Err(failure(format!("took {:.1} s", took.as_secs_f64())));
    }
    Ok(answer)
}

/// A target that is being run.
pub struct Run {
    target: Target,
    mutator: Mutator,
    kept: Vec<Vec<u8>>,
    /// The number of good inputs among them, which are never replaced.
    good: usize,
    /// The answers so far, as hashes of the texts.
    answers: HashSet<u64>,
    watched: Watched,
    /// Inputs read so far.
    pub inputs: u64,
}

impl Run {
    /// Begins with the good inputs, which are read unchanged.
    ///
    /// # Errors
    /// The violation of the limits by the reader of one of them.
    pub fn new(target: Target, seed: u64, watched: Watched) -> Result<Self, Failure> {
        let mut run = Self {
            target,
            mutator: Mutator::new(seed),
            kept: Vec::new(),
            good: 0,
            answers: HashSet::new(),
            watched,
            inputs: 0,
        };
        for good in (target.good)() {
            run.read(&good)?;
            run.kept.push(good);
        }
        run.good = run.kept.len();
        Ok(run)
    }

    /// The number of different answers so far.
    #[must_use]
    pub fn answers(&self) -> usize {
        self.answers.len()
    }

    fn read(&mut self, input: &[u8]) -> Result<bool, Failure> {
        self.watched.set(Some((self.target.name, input)));
        let answer = check(&self.target, input);
        self.watched.set(None);
        self.inputs += 1;
        let mut hasher = DefaultHasher::new();
        answer?.hash(&mut hasher);
        Ok(self.answers.insert(hasher.finish()))
    }

    /// Reads inputs until this moment, and at least one.
    ///
    /// # Errors
    /// The violation of the limits, if there was one.
    pub fn until(&mut self, end: Instant) -> Result<(), Failure> {
        loop {
            let mut input = self.mutator.choose(&self.kept).cloned().unwrap_or_default();
            let other = self.mutator.choose(&self.kept).cloned().unwrap_or_default();
            self.mutator.spoil(&mut input, &other);
            if self.read(&input)? {
                if self.kept.len() < MOST_KEPT {
                    self.kept.push(input);
                } else {
                    let place = self.good + self.inputs as usize % (MOST_KEPT - self.good);
                    self.kept[place] = input;
                }
            }
            if Instant::now() >= end {
                return Ok(());
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What is allocated is counted for the whole process, and a panic shows where it came from.
    static ONE: Mutex<()> = Mutex::new(());

    fn one() -> impl Drop {
        ONE.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn target(read: fn(&[u8]) -> String) -> Target {
        Target {
            name: "test",
            what: "",
            good: || vec![vec![0, 1, 2, 3]],
            read,
            for_each_byte: 10,
            at_least: 1 << 20,
        }
    }

    #[test]
    fn a_panic_is_a_failure_with_the_input_that_led_to_it() {
        let _one = one();
        let target = target(|input| {
            assert!(!input.contains(&0xFF), "no such byte");
            String::new()
        });
        let mut run = Run::new(target, 1, Watched::default()).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        let failure = run.until(end).unwrap_err();
        assert!(failure.input.contains(&0xFF));
        assert_eq!(failure.what, "panicked: no such byte");
        let directory = tempfile::tempdir().unwrap();
        let path = failure.save(directory.path()).unwrap();
        assert_eq!(fs::read(path).unwrap(), failure.input);
    }

    #[test]
    fn storage_beyond_the_limit_is_a_failure() {
        let _one = one();
        let greedy = target(|input| {
            Vec::<u8>::with_capacity(input.len() << 20)
                .len()
                .to_string()
        });
        let failure = check(&greedy, &[1, 2]).unwrap_err();
        assert!(
            failure.what.contains("and 1048596 are allowed"),
            "{}",
            failure.what
        );
        assert!(check(&greedy, &[]).is_ok());
    }

    #[test]
    fn an_input_that_leads_somewhere_new_is_spoiled_further() {
        let _one = one();
        // Each byte must be found before the next one: by chance alone that is one in 2^32.
        let lock = target(|input| {
            let right = input.iter().zip(b"lock").take_while(|(a, b)| a == b);
            right.count().to_string()
        });
        let mut run = Run::new(lock, 5, Watched::default()).unwrap();
        let end = Instant::now() + Duration::from_secs(60);
        while run.answers() < 5 && Instant::now() < end {
            run.until(Instant::now()).unwrap();
        }
        assert_eq!(run.answers(), 5);
    }
}
