//! BEGIN: the parameters of a collection run.

use super::keyword::{Given, Keyword, Keyword as K};
use super::operands::Operand;
use super::refused::Refused;
use super::value::{self, CounterChoice, DataLoss, Interval, MOST_LISTED, Name, OnStateChange};
use crate::event::{Events, SampleTypes};
use crate::sampling::{SamplingParameters, Setting};
use heapless::{String, Vec};

/// The longest title, in bytes: the project's own bound.
pub const LONGEST_TITLE: usize = 64;

/// The longest path, in bytes: the project's own bound; a line of the operator has 256.
pub const LONGEST_PATH: usize = 192;

/// The parameters of a collection run.
///
/// Where the published text gives no default, the project has its own, as the fields say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Begin {
    /// TITLE; empty if none was given.
    pub title: String<LONGEST_TITLE>,
    /// PATH: the directory of the files. A period, the default, is the directory of the run.
    pub path: String<LONGEST_PATH>,
    /// DDNAME: the parameter file, which gives further parameters.
    pub dd_name: Option<Name>,
    /// CTRONLY: counters alone, neither samples nor a map.
    pub counters_only: bool,
    /// SMP: whether the run writes samples. Default YES, but NO with SAMPTYPE=NONE.
    pub samples: bool,
    /// SAMPTYPE, SAMPFREQ and BUFCNT: controls of the service for all profilers.
    pub sampling: SamplingParameters,
    /// CNT: whether the run records counters. Default YES.
    pub counters: bool,
    /// CTRSET. Default HARDWARE.
    pub counter_sets: CounterChoice,
    /// CNTINTVAL. Default 15 minutes.
    pub interval: Interval,
    /// CNTFILE: whether the run also writes the counters as a .CNT file. Default YES.
    pub counter_file: bool,
    /// DURATION in minutes. By default the run continues until END.
    pub duration: Option<u16>,
    /// DATALOSS. Default IGNORE.
    pub data_loss: DataLoss,
    /// STATECHANGE. Default SAVE.
    pub state_change: OnStateChange,
    /// MAP: whether the run writes a map at its end. Default YES.
    pub map: bool,
    /// MAPASID: the address spaces of the map; none stand for all.
    pub map_address_spaces: Vec<u16, MOST_LISTED>,
    /// MAPJOB: the jobs of the map; none stand for all.
    pub map_jobs: Vec<Name, MOST_LISTED>,
}

impl Default for Begin {
    fn default() -> Self {
        Self {
            title: String::new(),
            path: String::try_from(".").unwrap_or_default(),
            dd_name: None,
            counters_only: false,
            samples: true,
            sampling: SamplingParameters::default(),
            counters: true,
            counter_sets: CounterChoice {
                events: Events::HARDWARE,
                named: false,
            },
            interval: Interval::Minutes(15),
            counter_file: true,
            duration: None,
            data_loss: DataLoss::default(),
            state_change: OnStateChange::default(),
            map: true,
            map_address_spaces: Vec::new(),
            map_jobs: Vec::new(),
        }
    }
}

impl Begin {
    /// Takes one operand. The caller has tested that its keyword belongs to BEGIN.
    pub(super) fn take<'a>(
        &mut self,
        keyword: Keyword,
        operand: Operand<'a>,
    ) -> Result<(), Refused<'a>> {
        let refused = Refused::Value {
            keyword,
            value: operand.value,
        };
        self.try_take(keyword, operand.value).ok_or(refused)
    }

    fn try_take(&mut self, keyword: Keyword, value: Option<&str>) -> Option<()> {
        if matches!(keyword, K::CtrOnly) {
            self.counters_only = true;
            return value.is_none().then_some(());
        }
        let value = value?;
        match keyword {
            K::Title => self.title = value::quoted(value)?,
            K::Path => self.path = value::path(value)?,
            K::DdName => self.dd_name = Some(value::name(value, false)?),
            K::CtrSet => self.counter_sets = value::counter_sets(value)?,
            K::Cnt => self.counters = value::yes(value)?,
            K::CntIntval => self.interval = value::interval(value)?,
            K::CntFile => self.counter_file = value::yes(value)?,
            K::Smp => self.samples = value::yes(value)?,
            K::SampType | K::SampFreq | K::BufCnt => {
                take_sampling(&mut self.sampling, keyword, value)?;
            }
            K::Duration => {
                self.duration = Some(value::number(value, 1, 1440)?.try_into().ok()?);
            }
            K::DataLoss => {
                let known = [("IGNORE", DataLoss::Ignore), ("STOP", DataLoss::Stop)];
                self.data_loss = value::word(value, &known)?;
            }
            K::StateChange => {
                let known = [
                    ("SAVE", OnStateChange::Save),
                    ("STOP", OnStateChange::Stop),
                    ("IGNORE", OnStateChange::Ignore),
                ];
                self.state_change = value::word(value, &known)?;
            }
            K::Map => self.map = value::yes(value)?,
            K::MapAsid => self.map_address_spaces = value::address_spaces(value)?,
            K::MapJob => self.map_jobs = value::jobs(value)?,
            K::CtrOnly | K::Refresh => return None,
        }
        Some(())
    }

    /// Tests the parameters against each other, and applies CTRONLY.
    pub(super) fn settle<'a>(mut self, given: Given) -> Result<Self, Refused<'a>> {
        if self.sampling.types == Setting::Value(SampleTypes::NONE) {
            if given.has(K::Smp) && self.samples {
                return Err(Refused::Excluded("SAMPTYPE=NONE", "SMP=YES"));
            }
            self.samples = false;
        }
        let map_named = [(K::MapAsid, "MAPASID"), (K::MapJob, "MAPJOB")]
            .into_iter()
            .find(|&(keyword, _)| given.has(keyword))
            .map(|(_, name)| name);
        if self.counters_only {
            let against = if given.has(K::Smp) && self.samples {
                Some("SMP=YES")
            } else if given.has(K::Map) && self.map {
                Some("MAP=YES")
            } else if !self.counters {
                Some("CNT=NO")
            } else {
                map_named
            };
            if let Some(against) = against {
                return Err(Refused::Excluded(against, "CTRONLY"));
            }
            self.samples = false;
            self.map = false;
        }
        if !self.counters {
            let against = if given.has(K::CtrSet) {
                Some("CTRSET")
            } else if given.has(K::CntIntval) {
                Some("CNTINTVAL")
            } else if given.has(K::CntFile) && self.counter_file {
                Some("CNTFILE=YES")
            } else {
                None
            };
            if let Some(against) = against {
                return Err(Refused::Excluded(against, "CNT=NO"));
            }
            self.counter_file = false;
        }
        if let (false, Some(named)) = (self.map, map_named) {
            return Err(Refused::Excluded(named, "MAP=NO"));
        }
        if !(self.samples || self.counters || self.map) {
            return Err(Refused::NothingToCollect);
        }
        Ok(self)
    }
}

/// Takes SAMPTYPE, SAMPFREQ or BUFCNT.
pub(super) fn take_sampling(
    sampling: &mut SamplingParameters,
    keyword: Keyword,
    value: &str,
) -> Option<()> {
    match keyword {
        K::SampType => sampling.types = value::setting(value, value::sample_types)?,
        K::SampFreq => sampling.frequency = value::setting(value, value::frequency)?,
        K::BufCnt => sampling.buffers = value::setting(value, value::buffers)?,
        _ => return None,
    }
    Some(())
}
