//! The keywords of MODIFY HIS: their spellings, and the values that each allows.

/// A keyword.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[allow(missing_docs)] // Each is the keyword of its name.
pub enum Keyword {
    Title,
    Path,
    DdName,
    CtrOnly,
    CtrSet,
    Cnt,
    CntIntval,
    CntFile,
    Smp,
    SampType,
    SampFreq,
    BufCnt,
    Duration,
    DataLoss,
    StateChange,
    Map,
    MapAsid,
    MapJob,
    Refresh,
}

use Keyword as K;

/// Every spelling of every keyword; the first spelling of a keyword is its name.
const SPELLINGS: [(&str, Keyword); 23] = [
    ("TITLE", K::Title),
    ("TT", K::Title),
    ("PATH", K::Path),
    ("DDNAME", K::DdName),
    ("CTRONLY", K::CtrOnly),
    ("CTRSET", K::CtrSet),
    ("CTR", K::CtrSet),
    ("CNT", K::Cnt),
    ("CNTINTVAL", K::CntIntval),
    ("SMFINTVAL", K::CntIntval),
    ("SI", K::CntIntval),
    ("CNTFILE", K::CntFile),
    ("SMP", K::Smp),
    ("SAMPTYPE", K::SampType),
    ("SAMPFREQ", K::SampFreq),
    ("BUFCNT", K::BufCnt),
    ("DURATION", K::Duration),
    ("DATALOSS", K::DataLoss),
    ("STATECHANGE", K::StateChange),
    ("MAP", K::Map),
    ("MAPASID", K::MapAsid),
    ("MAPJOB", K::MapJob),
    ("REFRESH", K::Refresh),
];

/// The keywords of BEGIN: first those that its parameter file may also have.
pub const OF_BEGIN: &[Keyword] = &[
    K::Title,
    K::Path,
    K::CtrOnly,
    K::CtrSet,
    K::Cnt,
    K::CntIntval,
    K::CntFile,
    K::Smp,
    K::SampType,
    K::SampFreq,
    K::BufCnt,
    K::Duration,
    K::DataLoss,
    K::StateChange,
    K::Map,
    K::MapAsid,
    K::MapJob,
    K::DdName,
];

/// The keywords of SERVICE: first those that its parameter file may also have.
pub const OF_SERVICE: &[Keyword] = &[K::SampType, K::SampFreq, K::BufCnt, K::DdName, K::Refresh];

/// The keywords of a parameter file of SERVICE.
pub const OF_SERVICE_FILE: &[Keyword] = match OF_SERVICE {
    [of_file @ .., K::DdName, K::Refresh] => of_file,
    _ => panic!("DDNAME and REFRESH are the last ones"),
};

/// The keywords of a parameter file of BEGIN: those of BEGIN, except another file.
pub const OF_BEGIN_FILE: &[Keyword] = match OF_BEGIN {
    [of_file @ .., K::DdName] => of_file,
    _ => panic!("DDNAME is the last one"),
};

impl Keyword {
    /// The keyword with this spelling, in upper or lower case.
    #[must_use]
    pub fn spelled(word: &str) -> Option<Self> {
        SPELLINGS
            .iter()
            .find(|(known, _)| known.eq_ignore_ascii_case(word))
            .map(|&(_, keyword)| keyword)
    }

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        SPELLINGS
            .iter()
            .find(|&&(_, keyword)| keyword == self)
            .map_or("", |&(name, _)| name)
    }

    /// The values that may follow its equals sign; `None` if it has no value.
    #[must_use]
    pub const fn allowed(self) -> Option<&'static str> {
        Some(match self {
            K::Title => "1 to 64 characters in apostrophes",
            K::Path => "1 to 192 characters in apostrophes, or .",
            K::DdName => "a name of 1 to 8 letters, digits and @#$ that begins with no digit",
            K::CtrSet => {
                "ALL, HARDWARE, HDWR, SOFTWARE, COMPLETE, or a list of BASIC, PROBLEM, CRYPTO, EXTENDED, \
                 ZOS, MTDIAG in parentheses"
            }
            K::Cnt | K::CntFile | K::Smp | K::Map => "YES, NO",
            K::CntIntval => "1 to 60 minutes, SYNC",
            K::SampType => "BASIC, DIAG, NONE, PERSIST, or (BASIC,DIAG)",
            K::SampFreq => "a number of samples a minute of up to 9 digits, PERSIST",
            K::BufCnt => "a number of pages for each processor of up to 4 digits, PERSIST",
            K::Duration => "1 to 1440 minutes",
            K::DataLoss => "IGNORE, STOP",
            K::StateChange => "SAVE, STOP, IGNORE",
            K::MapAsid => "ALL, or a list of 1 to 8 numbers of 1 to 4 hexadecimal digits",
            K::MapJob => "a list of 1 to 8 names of 1 to 8 letters, digits and @#$",
            K::CtrOnly | K::Refresh => return None,
        })
    }
}

/// Keywords that have been given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Given(u32);

impl Given {
    /// Records the keyword; false if it was given before.
    pub fn note(&mut self, keyword: Keyword) -> bool {
        let before = self.0;
        self.0 |= 1 << keyword as u32;
        before != self.0
    }

    /// Whether it has been given.
    #[must_use]
    pub const fn has(self, keyword: Keyword) -> bool {
        self.0 & (1 << keyword as u32) != 0
    }

    /// The keywords that have been given in either place.
    #[must_use]
    pub const fn union(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// The first keyword other than this one that has been given.
    #[must_use]
    pub fn besides(self, keyword: Keyword) -> Option<Keyword> {
        SPELLINGS
            .iter()
            .map(|&(_, other)| other)
            .find(|&other| other != keyword && self.has(other))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_older_and_the_shorter_spellings_are_the_same_keyword() {
        for (spelling, name) in [
            ("TT", "TITLE"),
            ("ctr", "CTRSET"),
            ("SMFINTVAL", "CNTINTVAL"),
            ("SI", "CNTINTVAL"),
            ("sampFreq", "SAMPFREQ"),
        ] {
            assert_eq!(Keyword::spelled(spelling).map(Keyword::name), Some(name));
        }
        assert_eq!(Keyword::spelled("SAMP"), None);
    }

    #[test]
    fn service_has_only_the_sampling_controls_a_file_of_them_and_refresh() {
        let names: Vec<_> = OF_SERVICE.iter().map(|keyword| keyword.name()).collect();
        assert_eq!(
            names,
            ["SAMPTYPE", "SAMPFREQ", "BUFCNT", "DDNAME", "REFRESH"]
        );
        assert!(!OF_BEGIN.contains(&Keyword::Refresh));
        assert!(!OF_BEGIN_FILE.contains(&Keyword::DdName));
    }
}
