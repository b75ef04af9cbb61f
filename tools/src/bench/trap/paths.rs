//! From QEMU's log of execution to the paths through the machine.
//!
//! The log has two kinds of lines. `Trace 0: <host address> [<base>/<address>/<flags>/<flags>]` says
//! that an instruction begins; EXECUTE and its target are two, at the same address. `Stopped execution
//! of TB chain before <host address> [<address>]` after it says that the instruction was not executed after
//! all, because other work was pending; it begins again later.

use std::{
    collections::{HashMap, HashSet},
    io::BufRead,
};

use anyhow::{Context, Result};

/// Longer paths are not plain traps, and are not kept.
pub const LONGEST: usize = 10_000;

/// Paths, as the addresses of their instructions from one entry up to the next, and the number of times of each.
pub type Paths = HashMap<Vec<u64>, u64>;

/// Cuts a log into the paths that begin at `entry` and end before any of `entries`. The log before the first and after
/// the last of these belongs to no path.
pub fn paths(mut log: impl BufRead, entry: u64, entries: &HashSet<u64>) -> Result<Paths> {
    let mut paths = Paths::new();
    let mut path: Option<Vec<u64>> = None;
    // An instruction counts when the next line does not take it back.
    let mut begun = None;
    let mut line = Vec::new();
    loop {
        line.clear();
        log.read_until(b'\n', &mut line)
            .context("cannot read QEMU's log")?;
        // The end of the log. A QEMU that was ended may leave a part of a line.
        if !line.ends_with(b"\n") {
            break;
        }
        let next = Line::parse(&line).with_context(|| {
            format!(
                "QEMU's log has a line that is not one of execution: {}; name another QEMU with --qemu PATH",
                String::from_utf8_lossy(&line).trim_end()
            )
        })?;
        let done = match next {
            Line::Begun(address) => begun.replace(address),
            Line::TakenBack(address) if begun == Some(address) => {
                begun = None;
                continue;
            }
            // The instruction was not in the range of addresses.
            Line::TakenBack(_) => continue,
        };
        if let Some(address) = done {
            add(&mut paths, &mut path, address, entry, entries);
        }
    }
    if let Some(address) = begun {
        add(&mut paths, &mut path, address, entry, entries);
    }
    Ok(paths)
}

fn add(
    paths: &mut Paths,
    path: &mut Option<Vec<u64>>,
    address: u64,
    entry: u64,
    entries: &HashSet<u64>,
) {
    if entries.contains(&address) {
        if let Some(complete) = path.take() {
            *paths.entry(complete).or_default() += 1;
        }
        if address == entry {
            *path = Some(Vec::new());
        }
    }
    if let Some(instructions) = path {
        instructions.push(address);
        if instructions.len() > LONGEST {
            *path = None;
        }
    }
}

/// A line of QEMU's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Line {
    /// The instruction at this address begins.
    Begun(u64),
    /// It has not been executed after all.
    TakenBack(u64),
}

impl Line {
    fn parse(line: &[u8]) -> Option<Self> {
        let text = str::from_utf8(line).ok()?;
        let (words, rest) = text.split_once('[')?;
        let (numbers, _) = rest.split_once(']')?;
        if words.starts_with("Trace ") {
            // Base of the code segment, address, flags, flags of the translation.
            let address = numbers.split('/').nth(1)?;
            Some(Self::Begun(u64::from_str_radix(address, 16).ok()?))
        } else if words.starts_with("Stopped execution") {
            Some(Self::TakenBack(u64::from_str_radix(numbers, 16).ok()?))
        } else {
            None
        }
    }
}
