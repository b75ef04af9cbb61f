//! Performs a program and notes how many instructions it took: `counted FILE NUMBER NAME=VALUE… PROGRAM ARGUMENT…`. The number
//! is that of the variables, which are the whole environment of the program.
//!
//! The program's first stack frame has the same address whatever is in its arguments and variables, and however long its path
//! is ([`Environment`]).
//!
//! The file gets a line with the instructions in problem state, those in all, and nothing if the program did not begin.
//! They are counted from the moment when the kernel begins the program to its end, with those of all processes that it
//! starts and waits for. The exit code is that of the program, 128 and the signal that ended it, or 127 if it did not
//! begin.
#![no_std]
#![no_main]

use core::{
    ffi::{CStr, c_char},
    fmt::{self, Write},
};

use programs::{
    call::{self, Refused},
    entry::{self, Start},
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
    let number = start
        .argument(2)
        .and_then(|text| text.to_str().ok()?.parse().ok());
    let number: usize = number.unwrap_or(0);
    let program = start.argument(VARIABLES + number);
    let (Some(file), Some(program)) = (start.argument(1), program) else {
        say!("usage: counted FILE NUMBER NAME=VALUE... PROGRAM ARGUMENT...\n");
        return NOT_BEGUN;
    };
    let counters = [true, false].map(|user| call::count(&Attributes::instructions(user)));
    let process = match trace::fork() {
        Ok(Some(process)) => process,
        Ok(None) => {
            // A program that has changed elsewhere keeps the addresses of its stack and its libraries, and so the
            // instructions that depend on them. Without this the numbers are still the program's.
            let _ = call::fix_addresses();
            let mut environment = Environment::new();
            let Some(environment) = environment.fill(start, number) else {
                say!("{number} variables are too many\n");
                return NOT_BEGUN;
            };
            // SAFETY: the kernel's own list, from the program's name on, and one that ends with a zero.
            let refused = unsafe {
                call::execute(
                    program,
                    start.arguments.add(VARIABLES + number),
                    environment,
                )
            };
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

/// Where the variables begin among the arguments.
const VARIABLES: usize = 3;

/// The most variables, with those that only take room.
const MOST: usize = 1024;

/// What the strings and addresses that the kernel puts on a stack take is a multiple of this. It is more than they usually take.
const ROOM: usize = 16 * 1024;

/// The variable that makes the room full, up to its value.
const FILLER: &[u8] = b"MILLIMETER_FILLER=";

/// A variable that makes the number of addresses even.
static EVEN: &CStr = c"MILLIMETER_EVEN=";

/// The variables of a program, and one or two that only take room.
///
/// At the top of a stack the kernel puts the strings: the program's path, the variables and the arguments. Below, at the next
/// multiple of 16, it has what depends on the machine, and then the addresses of the strings, again from a multiple of 16 on.
/// So the stack begins at the same place if strings and addresses take the same room together, and the strings of an even
/// number of addresses take a multiple of 16.
struct Environment {
    addresses: [u64; MOST + 1],
    filler: [u8; FILLER.len() + ROOM + 1],
}

impl Environment {
    const fn new() -> Self {
        Self {
            addresses: [0; MOST + 1],
            filler: [b'-'; FILLER.len() + ROOM + 1],
        }
    }

    /// The list of addresses, which ends with a zero, of the variables that begin at [`VARIABLES`]; `None` if there are too
    /// many.
    fn fill(&mut self, start: Start, number: usize) -> Option<*const u64> {
        if number + 2 > MOST {
            return None;
        }
        // The program's path is there twice, in the list of arguments and alone.
        let program = start.argument(VARIABLES + number)?;
        let mut strings = program.to_bytes_with_nul().len();
        let mut addresses = 0;
        while let Some(text) = start.argument(VARIABLES + addresses) {
            strings += text.to_bytes_with_nul().len();
            if addresses < number {
                self.addresses[addresses] = text.as_ptr() as u64;
            }
            addresses += 1;
        }
        let mut variables = number;
        let mut add = |address: *const c_char| {
            self.addresses[variables] = address as u64;
            variables += 1;
        };
        if addresses % 2 == 0 {
            strings += EVEN.to_bytes_with_nul().len();
            addresses += 1;
            add(EVEN.as_ptr());
        }
        addresses += 1;
        let taken = strings + FILLER.len() + 1 + addresses * size_of::<u64>();
        let left = taken.next_multiple_of(ROOM) - taken;
        self.filler[..FILLER.len()].copy_from_slice(FILLER);
        self.filler[FILLER.len() + left] = 0;
        add(self.filler.as_ptr().cast());
        Some(self.addresses.as_ptr())
    }
}

/// What a counter has counted.
fn value(counter: u64) -> Result<u64, Refused> {
    let mut bytes = [0; 8];
    call::read(counter, &mut bytes)?;
    Ok(u64::from_be_bytes(bytes))
}

fn shown(name: &CStr) -> &str {
    name.to_str().unwrap_or("the program")
}
