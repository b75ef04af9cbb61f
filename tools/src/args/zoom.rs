//! The command line of `zoom`.

use std::path::PathBuf;

use clap::Args;

use crate::{
    args::CountArguments,
    events::command::event,
    options::count::Begin,
    zoom::{Request, SHORTEST, span::Moment},
};

/// The part of a run to look at, and how closely.
#[derive(Clone, Debug, Args)]
pub struct ZoomArguments {
    /// The directory of the run
    #[arg(value_name = "DIR")]
    pub dir: PathBuf,
    /// When the window begins: time since the guest began, as 1.25s, 1250ms or 800us
    #[arg(long, value_name = "TIME", requires = "to")]
    pub from: Option<Moment>,
    /// When it ends
    #[arg(long, value_name = "TIME", requires = "from")]
    pub to: Option<Moment>,
    /// Look at all blocks of samples that have one in this routine. A part of the name is enough if only one routine has it
    #[arg(long, value_name = "SYMBOL", conflicts_with_all = ["from", "to"])]
    pub around: Option<String>,
    /// Cycles from one sample to the next in the window, 1000 or more, and fewer than in the run
    #[arg(long, value_name = "CYCLES", default_value_t = SHORTEST, conflicts_with = "count")]
    pub interval: u64,
    /// Trace program events in the window, as `run -e` does: BRANCH, FETCH, STORE or REG, with RANGE and COUNT
    #[arg(short = 'e', long = "trace", value_name = "EVENT", value_parser = event, conflicts_with = "count")]
    pub traces: Vec<String>,
    /// In the window, instead of taking finer samples
    #[command(flatten)]
    pub counts: CountArguments,
    /// Where the finer samples go [default: a fresh DIR-zoom-N]
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

impl ZoomArguments {
    /// What is to be looked at.
    pub fn request(&self) -> Request {
        Request {
            directory: self.dir.clone(),
            times: self.from.zip(self.to),
            around: self.around.clone(),
            interval: self.interval,
            traces: self.traces.clone(),
            // The window says from when on.
            count: self.counts.counted(Some(Begin::Start)),
            out: self.out.clone(),
        }
    }
}

/// Examples of `zoom`.
pub const EXAMPLES: &str = "\
Examples:
  cargo measure zoom millimeter-workload-1 --from 1.2s --to 1210ms
  cargo measure zoom millimeter-linux-1 --around do_mmap --interval 2000
  cargo measure zoom millimeter-linux-1 --from 2s --to 2001ms --trace 'FETCH RANGE vfs_read'
  cargo measure zoom millimeter-linux-1 --from 2s --to 2010ms --count=kernel
  cargo measure zoom millimeter-linux-1 --from 2s --to 2s100ms --count --count-in vfs_read
  cargo measure report millimeter-workload-1-zoom-1 --html window.html";

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        args::{Arguments, Command},
        options::count::States,
    };
    use clap::Parser;

    fn request(line: &str) -> Result<Request, String> {
        let words = ["measure", "zoom"].into_iter();
        let words = words.chain(line.split_whitespace());
        let arguments = Arguments::try_parse_from(words).map_err(|error| error.to_string())?;
        match arguments.command {
            Some(Command::Zoom(zoom)) => Ok(zoom.request()),
            other => Err(format!("{other:?}")),
        }
    }

    #[test]
    fn a_window_has_two_times_or_a_routine() {
        let times = request("d --from 1ms --to 2ms").unwrap();
        let moment = |text: &str| text.parse::<Moment>().unwrap();
        assert_eq!(times.times, Some((moment("1ms"), moment("2ms"))));
        assert_eq!((times.interval, times.around), (1000, None));
        let around = request("d --around f --interval 5000").unwrap();
        assert_eq!((around.interval, around.times), (5000, None));
        assert!(request("d").unwrap().times.is_none());
        let counted = request("d --count=user").unwrap().count.unwrap();
        assert_eq!(counted.states, States::User);
        let limited = request("d --count --count-in f --count-in 10.20").unwrap();
        assert_eq!(limited.count.unwrap().places, ["f", "10.20"]);
        assert!(request("d --count-in f").unwrap_err().contains("--count"));
        assert!(request("d --count --interval 5000").is_err());
        assert!(request("d --from 1ms").unwrap_err().contains("--to"));
        assert!(request("d --around f --from 1ms --to 2ms").is_err());
        assert!(
            request("d --from x --to 2ms")
                .unwrap_err()
                .contains("1.25s")
        );
    }
}
