//! `measure trace`: runs a guest and shows the program events that the operator traces, a line for each.

use std::{
    fs::File,
    io::{self, BufWriter, ErrorKind, Write},
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};
use clap::ValueEnum;
use link::trace;

use crate::{
    computer::{
        person::{Display, Person},
        progress::Progress,
    },
    events::{
        event::{Line, Routines},
        file,
    },
    folder::record::RunRecord,
    machine::{
        guest::Guest,
        run::{self, RunOutcome},
    },
    options::RunOptions,
};

/// The form of the lines.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, ValueEnum)]
pub enum Form {
    /// Columns with two blanks or more between them
    #[default]
    Text,
    /// A JSON object for each event
    Json,
}

/// Which part of an event is a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    /// All of it, and the machine's answers in between.
    Event,
    /// The instruction and what it altered.
    Instruction,
}

/// Everything that decides a traced run.
#[derive(Clone, Debug)]
pub struct TraceOptions {
    /// The run; the traces are commands of its operator.
    pub run: RunOptions,
    /// The file that gets the instructions instead of standard output.
    pub exact: Option<PathBuf>,
    /// The form of the lines.
    pub form: Form,
}

/// How a line begins that is the operator's, and no event.
const MARK: &str = "// ";

/// Lines on their way to a reader.
struct Lines<'o> {
    out: Box<dyn Write + 'o>,
    routines: Routines,
    form: Form,
    part: Part,
    /// The result of writing; an error ends it.
    written: io::Result<()>,
}

impl<'o> Lines<'o> {
    fn new(out: impl Write + 'o, routines: Routines, form: Form, part: Part) -> Self {
        Self {
            out: Box::new(out),
            routines,
            form,
            part,
            written: Ok(()),
        }
    }

    /// Writes the events of a payload. Returns whether more are wanted.
    fn payload(&mut self, payload: &[u8]) -> bool {
        // The head is known only after the whole payload has been parsed.
        let Ok(head) = trace::parse(payload, |_| ()) else {
            return self.written.is_ok();
        };
        let (cpu, mut number) = (head.cpu.get(), head.first.get());
        let mut text = String::new();
        let _ = trace::parse(payload, |event| {
            let line = Line::new(cpu, number, &event, &self.routines);
            number = number.wrapping_add(1);
            let line = match (self.form, self.part) {
                (Form::Text, Part::Event) => line.to_string(),
                (Form::Text, Part::Instruction) => line.of_instruction(),
                // Strings and numbers can always be written.
                (Form::Json, _) => serde_json::to_string(&line).unwrap_or_default(),
            };
            text.push_str(&line);
            text.push('\n');
        });
        self.write(&text)
    }

    fn write(&mut self, text: &str) -> bool {
        if self.written.is_ok() && !text.is_empty() {
            self.written = self.out.write_all(text.as_bytes());
            // A file is flushed at the end; a reader waits for each line.
            if self.part == Part::Event {
                self.written =
                    std::mem::replace(&mut self.written, Ok(())).and_then(|()| self.out.flush());
            }
        }
        self.written.is_ok()
    }

    /// The result. A reader that has gone away is not an error.
    fn finish(mut self) -> io::Result<()> {
        match self.written.and_then(|()| self.out.flush()) {
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Ok(()),
            done => done,
        }
    }
}

impl Write for Lines<'_> {
    /// Ignores the guest's console, which the run's directory keeps.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Display for Lines<'_> {
    fn answer(&mut self, line: &str) -> io::Result<()> {
        if (self.form, self.part) == (Form::Text, Part::Event) {
            // What was given in advance the machine repeats with the mark.
            let line = line.strip_prefix(MARK).unwrap_or(line);
            Lines::write(self, &format!("{MARK}{line}\n"));
        }
        Ok(())
    }

    fn traced(&mut self, payload: &[u8]) {
        self.payload(payload);
    }
}

/// Runs a guest and shows its events as they come. An error means that nothing could be started, or that the lines
/// could not be written; in the second case the run still came to its end.
pub fn run(options: &TraceOptions, progress: &Progress, out: &mut dyn Write) -> Result<RunOutcome> {
    Guest::check(&options.run.guest)?;
    options.run.check_is_plain()?;
    let qemu = run::ready(&options.run, progress)?;
    let guest = Guest::find(&options.run.guest, progress)?;
    // Unknown names in the traces are an error before anything is created.
    run::resolved(&options.run, &guest.names)?;
    let routines = Routines::new(guest.symbols.clone(), guest.is_linux);
    let about = |path: &Path| format!("cannot write {}", path.display());
    let mut lines = match &options.exact {
        Some(path) => {
            let file = File::create(path).with_context(|| about(path))?;
            Lines::new(
                BufWriter::new(file),
                routines,
                options.form,
                Part::Instruction,
            )
        }
        None => Lines::new(out, routines, options.form, Part::Event),
    };
    let person = Person {
        input: None,
        is_operator: false,
        screen: &mut lines,
    };
    let outcome = run::run_guest(&qemu, &guest, &options.run, progress, Some(person), []);
    let written = lines.finish();
    let outcome = outcome?;
    written.with_context(|| match &options.exact {
        Some(path) => about(path),
        None => "cannot write the events".to_owned(),
    })?;
    Ok(outcome)
}

/// Shows the events that a run has kept in its directory.
pub fn show(directory: &Path, form: Form, out: &mut dyn Write) -> Result<()> {
    let record = RunRecord::read(directory)?;
    let routines = Routines::of_run(directory, &record)?;
    let mut lines = Lines::new(io::BufWriter::new(out), routines, form, Part::Event);
    let read = file::read(directory, |payload| Ok(lines.payload(payload)));
    lines.finish().context("cannot write the events")?;
    read
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use crate::folder::{EVENTS, SYMBOLS};
    use link::trace::{EventHead, TraceHead};
    use std::fs;
    use zerocopy::IntoBytes;

    /// A payload with this many events without registers.
    pub(crate) fn payload(cpu: u16, first: u64, count: u16) -> Vec<u8> {
        let head = TraceHead {
            cpu: cpu.into(),
            count: count.into(),
            first: first.into(),
            ..TraceHead::default()
        };
        let event = EventHead {
            traces: 0x80,
            events: 0x40,
            length: 2,
            text: [0x07, 0x07, 0, 0, 0, 0],
            at: 0x1004.into(),
            ..EventHead::default()
        };
        let mut bytes = head.as_bytes().to_vec();
        (0..count).for_each(|_| bytes.extend(event.as_bytes()));
        bytes
    }

    /// A reader who has enough after this many bytes.
    struct Head(usize, ErrorKind);

    impl Write for Head {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            match self.0.checked_sub(bytes.len()) {
                Some(rest) => self.0 = rest,
                None => return Err(self.1.into()),
            }
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn written(form: Form, part: Part) -> String {
        let mut out = Vec::new();
        let mut lines = Lines::new(&mut out, Routines::default(), form, part);
        assert!(lines.payload(&payload(1, 7, 2)));
        lines.answer("// PER FETCH").unwrap();
        lines.answer("trace 0: FETCH TRACE").unwrap();
        assert!(lines.payload(b"nonsense"));
        lines.finish().unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn events_are_lines_with_their_numbers_and_answers_stand_between_them() {
        let text = written(Form::Text, Part::Event);
        let lines: Vec<&str> = text.lines().collect();
        assert!(
            lines[0].starts_with("CPU 1         7  0000000000001004  0707 "),
            "{text}"
        );
        assert!(lines[1].starts_with("CPU 1         8  "), "{text}");
        assert_eq!(lines[2..], ["// PER FETCH", "// trace 0: FETCH TRACE"]);
        let json = written(Form::Json, Part::Event);
        let numbers: Vec<u64> = json
            .lines()
            .map(|line| {
                serde_json::from_str::<serde_json::Value>(line).unwrap()["number"]
                    .as_u64()
                    .unwrap()
            })
            .collect();
        assert_eq!(numbers, [7, 8]);
        let exact = written(Form::Text, Part::Instruction);
        assert_eq!(
            exact,
            "CPU 1  0000000000001004  0707          -\n".repeat(2)
        );
    }

    #[test]
    fn a_reader_who_goes_away_ends_the_lines_and_a_full_disk_is_an_error() {
        for (kind, is_error) in [
            (ErrorKind::BrokenPipe, false),
            (ErrorKind::StorageFull, true),
        ] {
            let mut lines = Lines::new(
                Head(200, kind),
                Routines::default(),
                Form::Text,
                Part::Event,
            );
            assert!(lines.payload(&payload(0, 0, 1)));
            assert!(!lines.payload(&payload(0, 1, 9)));
            assert!(!lines.payload(&payload(0, 10, 1)));
            assert_eq!(lines.finish().is_err(), is_error);
        }
    }

    #[test]
    fn what_a_run_has_kept_is_shown_with_its_routines() {
        let directory = tempfile::tempdir().unwrap();
        let record = crate::folder::record::tests::record();
        record.write(directory.path()).unwrap();
        let error = show(directory.path(), Form::Text, &mut Vec::new()).unwrap_err();
        assert!(error.to_string().contains("holds no traced events"));
        fs::write(
            directory.path().join(SYMBOLS),
            "0000000000001000\t0000000000001100\tg\tmain\n",
        )
        .unwrap();
        fs::write(
            directory.path().join(EVENTS),
            file::framed(&payload(0, 0, 2)),
        )
        .unwrap();
        let mut out = Vec::new();
        show(directory.path(), Form::Text, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        assert_eq!(text.matches("  FETCH   0  main+4").count(), 2, "{text}");
    }
}
