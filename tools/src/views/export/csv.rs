//! A line for each sample, with every field of its entry under the name that the manual gives it. The samples of z/OS have
//! the fields of its program parameter as well.

use std::io::Write;

use anyhow::{Context, Result};
use record::zos::{ProgramParameter, WorkUnit};

use super::Ticker;
use crate::{
    formats::csv::cell,
    profile::{Profile, Sample, blocks::BlockCounts},
};

/// The first line. `TOD` is the approximate time of the sample; its entry has no time.
const HEADING: &str = "CPU,TOD,data-entry-format code,U,T,W,P,AS,I,CL,H,LS,primary ASN,instruction address,\
                       guest program parameter,host program parameter,symbol,module";

/// What the first line has besides for z/OS.
const ZOS_HEADING: &str =
    ",home ASN,dispatched wait,S,TCB address,task-ID token,WEB address,partial WEB address";

/// The fields of the program parameter of z/OS in a line. A task has no WEB, and a service request no TCB.
fn of_zos(sample: &Sample) -> String {
    let entry = &sample.entry;
    if entry.limited() || entry.invalid() {
        return ",,,,,,,".to_owned();
    }
    let parameter = ProgramParameter::of(entry.guest_program_parameter.get());
    let (asn, wait) = (parameter.home_asn, u8::from(parameter.wait));
    match parameter.unit {
        WorkUnit::Task { tcb, token } => format!(",{asn:04X},{wait},0,{tcb:06X},{token:04X},,"),
        WorkUnit::Service { web, partial } => format!(",{asn:04X},,1,,,{web:08X},{partial:04X}"),
    }
}

/// Writes all samples, CPU after CPU, also those that are marked invalid; `zos` if they are those of z/OS.
pub fn write(
    profile: &Profile,
    zos: bool,
    out: &mut dyn Write,
    ticker: &mut Ticker,
) -> Result<BlockCounts> {
    let failed = "cannot write the samples";
    let further = if zos { ZOS_HEADING } else { "" };
    writeln!(out, "{HEADING}{further}").context(failed)?;
    let mut samples = profile.samples().with_invalid();
    for sample in samples.by_ref() {
        let sample = sample?;
        ticker.tick();
        let entry = &sample.entry;
        let line = profile.names.line(entry);
        let further = if zos { of_zos(&sample) } else { String::new() };
        writeln!(
            out,
            "{},{:016X},{:04X},{},{},{},{},{},{},{},{},{},{:04X},{:016X},{:016X},{:016X},{},{}{further}",
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
