//! The command line of exact counts.

use clap::Args;

use crate::options::count::{Begin, Counted, States};

/// The options of a count.
#[derive(Clone, Debug, Default, Args)]
pub struct CountArguments {
    /// Count every execution of every instruction, or only those of programs or of the kernel. The run stays as it is
    /// without: the guest's time, samples and output are the same. In exact mode, and not with --exact-caches or --nested
    #[arg(long, value_name = "STATES", value_enum, num_args = 0..=1, require_equals = true, default_missing_value = "all")]
    pub count: Option<States>,
    /// Count only in this routine, or at these addresses: NAME, NAME-NAME, a-b or a.n, in hexadecimal. The guest runs nearly
    /// at its full speed elsewhere. Calls are not followed. Up to 8 times
    #[arg(long, value_name = "RANGE", requires = "count")]
    pub count_in: Vec<String>,
}

impl CountArguments {
    /// The count that they choose, from this moment on.
    #[must_use]
    pub fn counted(&self, begin: Option<Begin>) -> Option<Counted> {
        self.count.map(|states| Counted {
            states,
            begin,
            places: self.count_in.clone(),
            ranges: Vec::new(),
        })
    }
}
