//! Notes which files processes map for execution: `mappings FILE`.
//!
//! The kernel writes its own records about them into a buffer for each CPU: who began whom, who performs another program,
//! and what is mapped where. This program sleeps until SIGTERM, and then writes them into the file, in the order of their
//! times: lines `fork PID PARENT`, `thread TID PID`, `exec PID` and `map PID START END OFFSET PATH`, and `lost` if a buffer was full. The
//! file is there, and empty, as soon as the kernel records.
#![no_std]
#![no_main]

use core::fmt::{self, Write};

use programs::{
    call, entry,
    event::{Attributes, Record, Recorded},
    say,
};

programs::program!(run);

/// The most CPUs of the machine.
const CPUS: usize = 64;

/// A file that text is written into, a buffer at a time.
struct File {
    number: u64,
    used: usize,
    buffer: [u8; 4096],
}

impl File {
    fn flush(&mut self) -> fmt::Result {
        let bytes = self.buffer.get(..self.used).unwrap_or_default();
        let written = call::write(self.number, bytes);
        self.used = 0;
        written.map(drop).map_err(|_| fmt::Error)
    }
}

impl Write for File {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.used == self.buffer.len() {
                self.flush()?;
            }
            if let Some(place) = self.buffer.get_mut(self.used) {
                *place = byte;
                self.used += 1;
            }
        }
        Ok(())
    }
}

fn run() -> u8 {
    let Some(name) = entry::start().argument(1) else {
        say!("usage: mappings FILE\n");
        return 2;
    };
    let mut recorded: [Option<Recorded>; CPUS] = [const { None }; CPUS];
    for (cpu, place) in (0..).zip(&mut recorded) {
        *place = Recorded::of_cpu(cpu, &Attributes::mappings()).ok();
    }
    if recorded.iter().all(Option::is_none) {
        say!("the kernel does not record mappings\n");
        return 1;
    }
    let _ = call::hold_back_the_end();
    let Ok(number) = call::create(name) else {
        say!("cannot write the file\n");
        return 1;
    };
    let mut file = File {
        number,
        used: 0,
        buffer: [0; 4096],
    };
    let _ = call::wait_for_the_end();
    // The earliest record of all CPUs comes next.
    while let Some(earliest) = recorded
        .iter_mut()
        .flatten()
        .filter(|recorded| recorded.time().is_some())
        .min_by_key(|recorded| recorded.time())
    {
        let Some(record) = earliest.next() else {
            break;
        };
        if write(&mut file, &record).is_err() {
            return 1;
        }
    }
    u8::from(file.flush().is_err())
}

fn write(file: &mut File, record: &Record<'_>) -> fmt::Result {
    match *record {
        Record::Fork { process, parent } => writeln!(file, "fork {process} {parent}"),
        Record::Thread { thread, process } => writeln!(file, "thread {thread} {process}"),
        Record::Exec { process } => writeln!(file, "exec {process}"),
        Record::Map {
            process,
            start,
            length,
            offset,
            path,
        } => {
            let end = start.wrapping_add(length);
            write!(file, "map {process} {start:x} {end:x} {offset:x} ")?;
            for &byte in path {
                // A name may have any characters; one of two lines is no file's.
                let character = if byte.is_ascii_graphic() || byte == b' ' {
                    byte
                } else {
                    b'?'
                };
                file.write_char(character.into())?;
            }
            file.write_char('\n')
        }
        Record::Lost => writeln!(file, "lost"),
        Record::Other => Ok(()),
    }
}
