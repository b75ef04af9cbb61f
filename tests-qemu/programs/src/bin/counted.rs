//! Performs a program and notes how many instructions it took: `counted FILE PROGRAM ARGUMENT…`.
//!
//! The file gets a line with the instructions in problem state, those in all, and nothing if the program did not begin.
//! They are counted from the moment when the kernel begins the program to its end, with those of all processes that it
//! starts and waits for. The exit code is that of the program, 128 and the signal that ended it, or 127 if it did not
//! begin.
#![no_std]
#![no_main]

use core::fmt::{self, Write};

use programs::{
    call::{self, Refused},
    entry,
    event::Attributes,
    say, trace,
};

/// The exit code of a program that did not begin, as shells have it.
const NOT_BEGUN: u8 = 127;

programs::program!(run);

/// A file that text is written into.
struct File(u64);

impl Write for File {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        call::write(self.0, text.as_bytes())
            .map(drop)
            .map_err(|_| fmt::Error)
    }
}

fn run() -> u8 {
    let start = entry::start();
    let (Some(file), Some(program)) = (start.argument(1), start.argument(2)) else {
        say!("usage: counted FILE PROGRAM ARGUMENT...\n");
        return NOT_BEGUN;
    };
    let counters = [true, false].map(|user| call::count(&Attributes::instructions(user)));
    let process = match trace::fork() {
        Ok(Some(process)) => process,
        Ok(None) => {
            // A program that has changed elsewhere keeps the addresses of its stack and its libraries, and so the
            // instructions that depend on them. Without this the numbers are still the program's.
            let _ = call::fix_addresses();
            // SAFETY: the kernel's own lists, from the program's name on.
            let refused =
                unsafe { call::execute(program, start.arguments.add(2), start.environment) };
            say!(
                "{}: cannot be performed: error {}\n",
                shown(program),
                refused.0
            );
            return NOT_BEGUN;
        }
        Err(Refused(error)) => {
            say!("no process can be started: error {error}\n");
            return NOT_BEGUN;
        }
    };
    let code = loop {
        match trace::wait(process) {
            Ok(trace::State::Ended(code)) => break code as u8,
            Ok(trace::State::Killed(signal)) => break 128 | (signal & 0x7F) as u8,
            Ok(trace::State::Stopped(_)) => {}
            Err(_) => return NOT_BEGUN,
        }
    };
    let [user, all] = counters.map(|counter| counter.and_then(value));
    if let (Ok(user), Ok(all), Ok(file)) = (user, all, call::create(file)) {
        let _ = writeln!(File(file), "{user} {all}");
    }
    code
}

/// What a counter has counted.
fn value(counter: u64) -> Result<u64, Refused> {
    let mut bytes = [0; 8];
    call::read(counter, &mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

fn shown(name: &core::ffi::CStr) -> &str {
    name.to_str().unwrap_or("the program")
}
