//! A line for each sample, with every field of its entry under the name that the manual gives it.

use std::io::Write;

use anyhow::{Context, Result};

use super::Ticker;
use crate::{
    formats::csv::cell,
    profile::{Profile, blocks::BlockCounts},
};

/// The first line. `TOD` is the approximate time of the sample; its entry has no time.
const HEADING: &str = "CPU,TOD,data-entry-format code,U,T,W,P,AS,I,CL,H,LS,primary ASN,instruction address,\
                       guest program parameter,host program parameter,symbol,module";

/// Writes all samples, CPU after CPU, also those that are marked invalid.
pub fn write(profile: &Profile, out: &mut dyn Write, ticker: &mut Ticker) -> Result<BlockCounts> {
    let failed = "cannot write the samples";
    writeln!(out, "{HEADING}").context(failed)?;
    let mut samples = profile.samples().with_invalid();
    for sample in samples.by_ref() {
        let sample = sample?;
        ticker.tick();
        let entry = &sample.entry;
        let line = profile.names.line(entry);
        writeln!(
            out,
            "{},{:016X},{:04X},{},{},{},{},{},{},{},{},{},{:04X},{:016X},{:016X},{:016X},{},{}",
            sample.cpu,
            sample.tod,
            entry.format(),
            entry.unique_instructions(),
            u8::from(entry.dat()),
            u8::from(entry.wait()),
            u8::from(entry.problem_state()),
            entry.address_space(),
            u8::from(entry.invalid()),
            entry.configuration_level(),
            u8::from(entry.host_indicator()),
            u8::from(entry.limited()),
            entry.primary_asn(),
            entry.instruction_address.get(),
            entry.guest_program_parameter.get(),
            entry.host_program_parameter.get(),
            cell(&line.symbol),
            cell(&line.module),
        )
        .context(failed)?;
    }
    Ok(samples.found())
}
