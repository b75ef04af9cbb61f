//! Where a formula is published.

use super::generation::Generation;

/// A published source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Source {
    /// The metrics that Linux has for perf. Their authors give IBM's paper as the reason of each.
    Metrics,
    /// What the extended counters of the model count: their definitions say from where a cache line came.
    Definitions,
    /// The reports that IBM's tool makes of the records of HIS. Its page has a column for each model up to z13.
    HisReports,
    /// What the crypto-activity counters count.
    Architecture,
    /// The article on the relative nest intensity of z13.
    NestOfZ13,
    /// IBM's page on the choice of a workload of LSPR.
    WorkloadSelection,
    /// The weights that the person gave.
    Given,
}

impl Source {
    /// The source in words.
    pub fn text(self, generation: Option<Generation>) -> String {
        let name = generation.map_or("z13", Generation::name).to_lowercase();
        match self {
            Self::Metrics => {
                let paper = match generation {
                    Some(Generation::Z17) => "CPU MF Formulas and Updates, April 2025",
                    _ => "CPU MF Formulas including z16, May 2022",
                };
                format!(
                    "Linux, tools/perf/pmu-events/arch/s390/cf_{name}/transaction.json, after IBM's {paper}"
                )
            }
            Self::Definitions => format!(
                "Linux, tools/perf/pmu-events/arch/s390/cf_{name}/extended.json, after SA23-2261: the counters of the lines from there"
            ),
            Self::HisReports => {
                "IBM, HIS CSV report of the z/OS WLM tools (version 4.005), its table of formulas"
                    .to_owned()
            }
            Self::Architecture => "SA23-2260, the counters of the crypto-activity set".to_owned(),
            Self::NestOfZ13 => {
                "LongEx Mainframe Quarterly, November 2015, How to Use RNI".to_owned()
            }
            Self::WorkloadSelection => {
                "IBM, LSPR, the choice of a workload by L1MP and RNI (support page 6952525); limits as commonly quoted, not compared with the page"
                    .to_owned()
            }
            Self::Given => "--rni-weights".to_owned(),
        }
    }
}
