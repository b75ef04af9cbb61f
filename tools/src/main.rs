//! `cargo measure`: see the library for what it does and how.

#![forbid(unsafe_code)]

use std::{
    io::{IsTerminal, Write, stdout},
    path::{Path, PathBuf},
    process::ExitCode,
};

use anyhow::{Context, Result, bail};
use clap::{CommandFactory, FromArgMatches, Parser, error::ErrorKind};
use link::state::Mode;
use measure::{
    args::{
        self, Arguments, CheckArguments, Command, ExecArguments, FiguresArguments, ImageArguments,
        LinuxArguments, RunArguments, TopArguments, TopCommand, TraceArguments, ZoomArguments,
        manual,
    },
    bench,
    building::{
        build,
        forms::{self as image_forms, Carried},
        guests, installed, version,
    },
    check::{
        baseline::Baseline,
        comparison::Comparison,
        forms,
        measured::{self, Measuring},
    },
    computer::{
        cache_directory, consent, durations, interrupt,
        person::Person,
        progress::Progress,
        standard_output,
        temporary::{self, Temporary},
        terminal,
        visible::{self, Shown},
        whole_file,
    },
    conformance,
    figures::read,
    folder::record::{Asked, End},
    linux::{self, LinuxOptions, screen::Instructions},
    machine::{
        console, doctor,
        guest::{Guest, UnknownGuest},
        hercules,
        run::{self, RunOutcome},
        stage,
    },
    options::RunOptions,
    release,
    report::Report,
    views::{counter_table, diff, dump, export, figures, html, json, table, top, trace},
    zoom::{self, Repetition, Zoomed},
};

/// The exit code when a run takes more than its baseline tolerates.
const REGRESSION: u8 = 1;

/// The exit code of a tool that failed.
const FAILED: u8 = 2;

/// The exit code when a statement that applies is not shown.
const NOT_ALL_SHOWN: u8 = 3;

fn main() -> ExitCode {
    let arguments = read_arguments();
    let progress = Progress::detect();
    if arguments.yes {
        consent::give();
    }
    if arguments.has_per() {
        progress.note("--per is no longer needed: leave it out");
    }
    // Without a cache no step has an estimate.
    if let Ok(cache) = cache_directory::of_user() {
        durations::keep_in(cache.join("durations"));
    }
    temporary::remove_left();
    let is_plain = arguments.command.is_none();
    let lists_guests = arguments.lists_guests();
    let done = interrupt::install(give_back).and_then(|()| match arguments.command {
        _ if lists_guests => say(&guests::list()?).map(|()| 0),
        None => measure(&arguments.run, &progress),
        Some(Command::Run(run)) => measure(&run, &progress),
        Some(Command::Console(run)) => interact(&run, &progress),
        Some(Command::Trace(arguments)) => follow_events(&arguments, &progress),
        Some(Command::Linux(linux)) => boot(&linux, &progress),
        Some(Command::Exec(exec)) if exec.bare => perform_bare(&exec, progress),
        Some(Command::Exec(exec)) => perform(&exec, progress),
        Some(Command::Check(check)) => compare(&check, &progress),
        Some(Command::Zoom(zoom)) => look_again(&zoom, &progress),
        Some(Command::Report {
            dir,
            html: Some(file),
            against: None,
            figures,
            ..
        }) if dir.is_file() => {
            let (model, given) = (figures.model, figures.given());
            writable(&Some(&file), "--html")
                .and_then(|()| html::analysts::write(&dir, model, &given, &file, &progress))
                .map(|()| 0)
        }
        Some(Command::Report {
            dir,
            html: Some(file),
            against,
            ..
        }) => write_page(&dir, against.as_deref(), &file, &progress),
        Some(Command::Report {
            dir, json, figures, ..
        }) if figures.are_wanted(&dir) => show_figures(&dir, json.as_deref(), &figures),
        Some(Command::Report {
            dir,
            json,
            zos,
            callers,
            ..
        }) => report(&dir, json.as_deref(), zos, callers.as_deref()),
        Some(Command::Top(arguments)) => watch(&arguments, &progress),
        Some(Command::Image(arguments)) => write_image(&arguments, &progress),
        Some(Command::Bench {
            pairs, host: true, ..
        }) => measure_host(pairs, &progress),
        Some(Command::Build) => build_all(&progress),
        Some(Command::Bench {
            qemu,
            pairs,
            start: true,
            ..
        }) => measure_starts(qemu.as_deref(), pairs, &progress),
        Some(Command::Bench {
            qemu,
            pairs,
            linux: true,
            release,
            part,
            cpus,
            real_time,
            ..
        }) => {
            let options = RunOptions {
                qemu,
                cpus: Some(cpus),
                mode: if real_time {
                    Mode::RealTime
                } else {
                    Mode::Exact
                },
                ..RunOptions::default()
            };
            measure_linux(&options, release, part, pairs, &progress)
        }
        Some(Command::Bench {
            qemu,
            pairs,
            instructions: true,
            ..
        }) => measure_instructions(qemu, pairs, &progress),
        Some(Command::Bench { qemu, pairs, .. }) => measure_machine(qemu, pairs, &progress),
        Some(Command::Conformance { json, qemu }) => conform(json.as_deref(), qemu, &progress),
        Some(Command::Counters { model }) => {
            say(&format!("{}\n", counter_table::text(model.0))).map(|()| 0)
        }
        Some(Command::Dump {
            file,
            json,
            csv,
            zos,
        }) => show(&file, (json, csv), zos, &progress),
        Some(Command::Export { dir, to, out, zos }) => {
            let form = export::Form { to, zos };
            let exported = export::export(&dir, form, out.as_deref(), progress);
            exported.map(|exported| {
                exported.notes.iter().for_each(|note| progress.note(note));
                0
            })
        }
        Some(Command::Diff {
            first,
            second,
            json,
        }) => differ(&first, &second, json.as_deref(), progress),
        Some(Command::Doctor) => examine(),
        Some(Command::Package { out, deb, command }) => {
            let wanted = release::Wanted {
                out,
                command,
                debian: deb,
            };
            make_release(&wanted, &progress)
        }
        Some(Command::Completions { shell }) => print(&manual::completions(shell)).map(|()| 0),
        Some(Command::Man {
            to: Some(directory),
        }) => manual::write_pages(&directory).map(|()| 0),
        Some(Command::Man { to: None }) => manual::page().and_then(|page| print(&page)).map(|()| 0),
    });
    match done {
        Ok(code) => ExitCode::from(code),
        Err(error) => {
            progress.note(&format!("error: {error:#}"));
            if let Some(unknown) = error.downcast_ref::<UnknownGuest>()
                && is_plain
            {
                suggest_command(&unknown.name);
            }
            ExitCode::from(FAILED)
        }
    }
}

/// The command line. A command that was installed is not called through Cargo. If the line is wrong and its first word is
/// like a command, says so: it was taken as the name of a guest.
fn read_arguments() -> Arguments {
    let mut line = match installed::products() {
        Some(_) => manual::installed(),
        None => Arguments::command(),
    };
    let read = line.try_get_matches_from_mut(std::env::args_os());
    read.and_then(|read| {
        Arguments::from_arg_matches(&read).map_err(|error| error.format(&mut line))
    })
    .unwrap_or_else(|error| {
        if error.kind() == ErrorKind::DisplayVersion {
            let _ = say(&format!("measure {}\n", version::words()));
            std::process::exit(0)
        }
        // A closed terminal changes nothing.
        let _ = error.print();
        if error.kind() == ErrorKind::InvalidUtf8 {
            name_no_text();
        }
        let word = std::env::args_os()
            .nth(1)
            .and_then(|word| word.into_string().ok());
        if let Some(word) = word.filter(|_| error.use_stderr()) {
            suggest_command(&word);
        }
        std::process::exit(error.exit_code())
    })
}

/// Names the words of the command line that are no text, which the refusal of one of them does not.
fn name_no_text() {
    for word in std::env::args_os().filter(|word| word.to_str().is_none()) {
        let word = word.as_encoded_bytes().escape_ascii();
        Progress::Plain.note(&format!("{word} is not UTF-8; give it another name"));
    }
}

fn suggest_command(word: &str) {
    let meant = args::meant_command(word);
    if !meant.is_empty() {
        Progress::Plain.note(&meant);
    }
}

/// Gives the terminal back as it was.
fn give_back() {
    top::screen::give_back();
    terminal::restore();
}

/// Where lines for a reader go. JSON is for programs, and escapes what it must itself.
fn shown(is_json: bool) -> Box<dyn Write> {
    if is_json {
        Box::new(stdout())
    } else {
        Box::new(Shown::new(stdout()))
    }
}

fn say(text: &str) -> Result<()> {
    standard_output::put(visible::message(text).as_bytes()).context("cannot write the report")
}

/// Prints what is for another program, as it is.
fn print(bytes: &[u8]) -> Result<()> {
    standard_output::put(bytes).context("cannot write to standard output")
}

fn measure(arguments: &RunArguments, progress: &Progress) -> Result<u8> {
    writable(&arguments.json, "--json")?;
    let options = RunOptions {
        asked: asked(),
        ..arguments.options()
    };
    let outcome = run::run(&options, progress)?;
    finish(&outcome, arguments.json.as_deref(), progress)
}

/// The command line of this process, for the record of its run.
fn asked() -> Option<Asked> {
    let words: Option<Vec<String>> = std::env::args_os()
        .skip(1)
        .map(|word| word.into_string().ok())
        .collect();
    Some(Asked {
        words: words?,
        directory: std::env::current_dir().ok()?,
    })
}

/// Performs a run again, in a window with finer samples.
fn look_again(arguments: &ZoomArguments, progress: &Progress) -> Result<u8> {
    let mut perform = |repetition| repeat(repetition, progress);
    match zoom::zoom(&arguments.request(), progress, &mut perform)? {
        Zoomed::Same(directory, window) => {
            say(&table::text(&Report::read(&directory)?))?;
            say(&zoom::text(
                &directory,
                &window,
                arguments.counts.count.is_some(),
            ))?;
            Ok(0)
        }
        Zoomed::Other(directory, difference) => {
            progress.note(&format!(
                "error: the repeated run is not the first one: {difference} (what it left is in {})",
                directory.join(zoom::REPEATED).display()
            ));
            Ok(REGRESSION)
        }
    }
}

/// Performs the run of a command line again.
fn repeat(repetition: Repetition, progress: &Progress) -> Result<()> {
    let Repetition {
        asked,
        rtc,
        again,
        out,
    } = repetition;
    let place = &asked.directory;
    // Names of files are relative to it, and a program for Linux has a directory of the same name.
    std::env::set_current_dir(place)
        .with_context(|| format!("cannot enter {}, where the run was", place.display()))?;
    let words = std::iter::once("measure").chain(asked.words.iter().map(String::as_str));
    let arguments = Arguments::try_parse_from(words)
        .with_context(|| format!("this version does not know `{}`", asked.words.join(" ")))?;
    let options = |options: RunOptions| RunOptions {
        rtc,
        out: Some(out.clone()),
        again: Some(again.clone()),
        count: again.count.clone(),
        ..options
    };
    let linux = |prepared: LinuxOptions| {
        let prepared = LinuxOptions {
            run: options(prepared.run.clone()),
            fresh: true,
            ..prepared
        };
        linux::run(&prepared, progress, &mut std::io::sink()).map(drop)
    };
    match arguments.command {
        None => run::run(&options(arguments.run.options()), progress).map(drop),
        Some(Command::Run(run)) => run::run(&options(run.options()), progress).map(drop),
        Some(Command::Linux(arguments)) => linux(arguments.options()?),
        Some(Command::Exec(exec)) if exec.bare => {
            run::run(&options(exec.bare_options()?), progress).map(drop)
        }
        Some(Command::Exec(exec)) => {
            let base = exec.options(out.clone());
            linux(exec.program().options(base, progress)?)
        }
        Some(_) => bail!("only a run by run, linux or exec can be performed again"),
    }
}

fn interact(arguments: &RunArguments, progress: &Progress) -> Result<u8> {
    not_printed(arguments.json.as_deref(), "what the guest says")?;
    let outcome = console::run(&arguments.options(), progress)?;
    finish(&outcome, arguments.json.as_deref(), progress)
}

fn boot(arguments: &LinuxArguments, progress: &Progress) -> Result<u8> {
    not_printed(arguments.json.as_deref(), "what the guest says")?;
    let mut options = arguments.options()?;
    options.run.asked = asked();
    let outcome = linux::run(&options, progress, &mut stdout())?;
    let record = &outcome.run.report.record;
    if record.interval != 0 || record.count_executions {
        say_levels(&outcome.run)?;
    }
    if let Some(file) = &arguments.json {
        json::write(&outcome.run.of_guest().report, file)?;
    }
    if let Some(complaint) = outcome.complaint() {
        progress.note(&format!("error: {complaint}"));
    }
    Ok(outcome.exit_code())
}

/// Where standard error is no terminal, it has only what a program's user wants to know.
fn beside_a_program(arguments: &ExecArguments, progress: Progress) -> Progress {
    match progress {
        Progress::Terminal if !arguments.quiet => progress,
        _ => Progress::Silent,
    }
}

/// The directory of a run: the one that was named, or one that is removed in the end.
fn kept_or_removed(named: Option<&PathBuf>) -> Result<(PathBuf, Option<Temporary>)> {
    if let Some(directory) = named {
        return Ok((directory.clone(), None));
    }
    let removed = Temporary::new()?;
    Ok((removed.path().join("run"), Some(removed)))
}

/// Performs a program in Linux.
fn perform(arguments: &ExecArguments, progress: Progress) -> Result<u8> {
    not_printed(arguments.json.as_deref(), "what the program says")?;
    let progress = beside_a_program(arguments, progress);
    let (directory, _removed) = kept_or_removed(arguments.out.as_ref())?;
    let program = arguments.program();
    let mut options = program.options(arguments.options(directory), &progress)?;
    options.run.asked = asked();
    options.run.keeps_files = arguments.out.is_some();
    let outcome = linux::run(&options, &progress, &mut stdout())?;
    let code = outcome.exit_code();
    if let Some(complaint) = outcome.complaint() {
        Progress::Plain.note(&format!("error: {complaint}"));
    }
    count(arguments, code, outcome.counts)?;
    Ok(code)
}

/// Performs a program on the bare machine.
fn perform_bare(arguments: &ExecArguments, progress: Progress) -> Result<u8> {
    not_printed(arguments.json.as_deref(), "what the program says")?;
    let progress = beside_a_program(arguments, progress);
    let (directory, _removed) = kept_or_removed(arguments.out.as_ref())?;
    let options = RunOptions {
        out: Some(directory),
        asked: asked(),
        keeps_files: arguments.out.is_some(),
        ..arguments.bare_options()?
    };
    let person = Person {
        input: None,
        is_operator: false,
        screen: &mut stdout(),
    };
    let outcome = run::run_with(&options, &progress, Some(person))?;
    let code = outcome.end.exit_code();
    if code != 0 {
        Progress::Plain.note(&format!("error: {}", outcome.end.sentence()));
    }
    count(arguments, code, measured::totals(&outcome.report))?;
    Ok(code)
}

/// Says how many instructions a program took.
fn count(arguments: &ExecArguments, code: u8, counted: Option<Instructions>) -> Result<()> {
    let Some(counted) = counted else {
        return Ok(());
    };
    if !arguments.quiet {
        Progress::Plain.note(&format!("measure: {counted}"));
    }
    match &arguments.json {
        Some(file) => linux::exec::append(&arguments.program(), code, counted, file),
        None => Ok(()),
    }
}

/// Compares a run with its baseline. The baseline is read before the run, so that a wrong one is found at once.
fn compare(arguments: &CheckArguments, progress: &Progress) -> Result<u8> {
    let subject = arguments.subject()?;
    let file = &arguments.baseline;
    writable(&arguments.junit, "--junit")?;
    writable(&arguments.markdown, "--markdown")?;
    if arguments.update {
        whole_file::check(file, "check FILE --update")?;
    }
    let is_new = arguments.update && !file.exists();
    let known = if is_new {
        None
    } else {
        // Even if it is written anew: what a person has written into it would be lost.
        Some(Baseline::read(file)?)
    };
    let mut tolerances = known
        .as_ref()
        .map_or_else(Default::default, |known| known.tolerances.clone());
    tolerances.user = arguments.tolerance.or(tolerances.user);
    tolerances.kernel = arguments.tolerance.or(tolerances.kernel);
    tolerances.symbol = arguments.symbol_tolerance.or(tolerances.symbol);
    let (directory, _removed) = kept_or_removed(None)?;
    let measuring = Measuring {
        subject: &subject,
        interval: arguments.resolution(),
        directory: &directory,
    };
    let measured = measuring.measure(progress, |kind| match &known {
        Some(known) if !arguments.update => known.check_kind(kind),
        _ => Ok(()),
    })?;
    let known = match known {
        Some(known) if !arguments.update => known,
        _ => {
            Baseline {
                measured,
                tolerances,
            }
            .write(file)?;
            say(&format!("wrote the baseline {}\n", file.display()))?;
            return Ok(0);
        }
    };
    let known = Baseline {
        tolerances,
        ..known
    };
    let comparison = Comparison::new(&known, &measured);
    if !is_printed(arguments.junit.as_deref()) && !is_printed(arguments.markdown.as_deref()) {
        say(&forms::text(&comparison))?;
    }
    for (option, file, text) in [
        (
            "--junit",
            &arguments.junit,
            forms::junit as fn(&Comparison) -> String,
        ),
        ("--markdown", &arguments.markdown, forms::markdown),
    ] {
        if let Some(file) = file {
            whole_file::write(file, text(&comparison), option)?;
        }
    }
    Ok(match comparison.regressions().next() {
        Some(_) => REGRESSION,
        None => 0,
    })
}

fn follow_events(arguments: &TraceArguments, progress: &Progress) -> Result<u8> {
    let is_json = arguments.form == trace::Form::Json;
    if let Some(directory) = &arguments.of {
        return trace::show(directory, arguments.form, &mut shown(is_json)).map(|()| 0);
    }
    not_printed(arguments.run.json.as_deref(), "the events")?;
    let outcome = trace::run(&arguments.options()?, progress, &mut shown(is_json))?;
    let summary = table::traces::summary(&outcome.report);
    match arguments.form {
        // A reader who has seen enough does not make the run a failure.
        trace::Form::Text => drop(say(&summary)),
        trace::Form::Json => progress.note(&summary),
    }
    conclude(&outcome, arguments.run.json.as_deref(), progress)
}

/// Prints the report, unless the JSON object goes to standard output.
fn finish(outcome: &RunOutcome, json: Option<&Path>, progress: &Progress) -> Result<u8> {
    if !is_printed(json) {
        say_levels(outcome)?;
    }
    conclude(outcome.of_guest(), json, progress)
}

/// The reports of all levels of a run, that of the guest first.
fn say_levels(outcome: &RunOutcome) -> Result<()> {
    if let Some(above) = &outcome.above {
        say_levels(above)?;
    }
    say(&table::text(&outcome.report))
}

fn conclude(outcome: &RunOutcome, json: Option<&Path>, progress: &Progress) -> Result<u8> {
    if let Some(file) = json {
        json::write(&outcome.report, file)?;
    }
    let code = outcome.end.exit_code();
    if code != 0 {
        progress.note(&format!("error: {}", outcome.end.sentence()));
    }
    Ok(code)
}

/// A run that failed, or did not come to its end, gives its exit code again.
fn report(directory: &Path, json: Option<&Path>, zos: bool, callers: Option<&str>) -> Result<u8> {
    writable(&json, "--json")?;
    let report = Report::read(directory)?;
    let report = if zos { report.of_zos() } else { report };
    match callers {
        _ if is_printed(json) => {}
        Some(symbol) => say(&table::calls::beside(&report, symbol)?)?,
        None => say(&table::text(&report))?,
    }
    if let Some(file) = json {
        json::write(&report, file)?;
    }
    Ok(report.record.end.exit_code())
}

/// Prints the figures, unless one of the other forms goes to standard output.
fn show_figures(path: &Path, json: Option<&Path>, arguments: &FiguresArguments) -> Result<u8> {
    writable(&json, "--json")?;
    writable(&arguments.csv, "--csv")?;
    writable(&arguments.parquet, "--parquet")?;
    let collected = read::read(path, arguments.manner())?;
    let given = arguments.given();
    let shown = figures::Shown {
        collected: &collected,
        given: &given,
    };
    let mut is_printed = false;
    if let Some(file) = &arguments.csv {
        let mut csv = Vec::new();
        figures::csv::write(&shown, &mut csv)?;
        is_printed |= save(&csv, file, "--csv")?;
    }
    if let Some(file) = json {
        is_printed |= save(figures::json::text(&shown)?.as_bytes(), file, "--json")?;
    }
    if let Some(file) = &arguments.parquet {
        is_printed |= save(&figures::parquet::bytes(&shown), file, "--parquet")?;
    }
    if !is_printed {
        say(&figures::text::text(&shown, path))?;
    }
    Ok(0)
}

/// Writes to a file, or to standard output if it is -; then it is true.
fn save(content: &[u8], file: &Path, option: &str) -> Result<bool> {
    whole_file::write(file, content, option)?;
    Ok(standard_output::is_named(file))
}

/// Whether a file that an option names is standard output, which then has nothing else.
fn is_printed(file: Option<&Path>) -> bool {
    file.is_some_and(standard_output::is_named)
}

/// Refuses standard output for JSON where it has something else, and a file that could not be written.
fn not_printed(json: Option<&Path>, what: &str) -> Result<()> {
    if is_printed(json) {
        bail!("standard output has {what}; choose a file with --json");
    }
    writable(&json, "--json")
}

/// Refuses a file that could not be written, before the work that it is for.
fn writable(file: &Option<impl AsRef<Path>>, option: &str) -> Result<()> {
    match file {
        Some(file) => whole_file::check(file.as_ref(), option),
        None => Ok(()),
    }
}

fn watch(arguments: &TopArguments, progress: &Progress) -> Result<u8> {
    if let Some(TopCommand::Run(run)) = &arguments.run {
        if arguments.dir.is_some() || arguments.once {
            bail!("`top run` watches the run that it begins; leave DIR and --once out");
        }
        writable(&run.json, "--json")?;
        let outcome = top::run::measure(&run.options(), arguments.delay, progress)?;
        return finish(&outcome, run.json.as_deref(), progress);
    }
    let directory = arguments.dir.as_deref();
    let (text, end) = top::top(directory, arguments.once, arguments.delay)?;
    say(&text.unwrap_or_default())?;
    // To watch a run is a success, however it ended. Only a failed guest gives its exit code again.
    Ok(match &end {
        Some(end) if end.is_of_guest() => end.exit_code(),
        _ => 0,
    })
}

fn write_page(
    directory: &Path,
    before: Option<&Path>,
    file: &Path,
    progress: &Progress,
) -> Result<u8> {
    writable(&Some(file), "--html")?;
    let end = html::write(directory, before, file, progress)?;
    Ok(end.as_ref().map_or(0, End::exit_code))
}

fn write_image(arguments: &ImageArguments, progress: &Progress) -> Result<u8> {
    let (form, storage) = (arguments.form, arguments.storage.0);
    if !form.is_for_qemu() && storage > hercules::MOST_STORAGE {
        bail!(
            "the form {} is for Hercules, which has no more than 2G of storage; choose less than {} with --storage",
            form.name(),
            arguments.storage
        );
    }
    if let Some(guest) = &arguments.guest {
        Guest::check(guest)?;
    }
    whole_file::check_directory(&arguments.out, "--out")?;
    let image = build::build_image(progress)?;
    let carried = match &arguments.guest {
        Some(name) => {
            let options = arguments.options(name);
            options.check()?;
            let guest = run::guest(&options, progress)?;
            stage::carried(&guest, &run::resolved(&options, &guest.names)?)?
        }
        None => Carried::nothing(storage),
    };
    let file = image_forms::write(form, &image, &carried, &arguments.out)?;
    say(&format!("{}\n", file.display()))?;
    progress.note(&format!("to start it: {}", form.start(&file, &carried)));
    Ok(0)
}

fn build_all(progress: &Progress) -> Result<u8> {
    for directory in build::build_all(progress)? {
        say(&format!("{}\n", directory.display()))?;
    }
    Ok(0)
}

fn make_release(wanted: &release::Wanted, progress: &Progress) -> Result<u8> {
    for file in release::make(wanted, progress)? {
        say(&format!("{}\n", file.display()))?;
    }
    Ok(0)
}

/// The options of a run with this QEMU, which is there with all that it needs.
fn with_qemu(qemu: Option<PathBuf>, progress: &Progress) -> Result<RunOptions> {
    doctor::provide(qemu.as_deref(), progress)?;
    Ok(RunOptions {
        qemu,
        ..RunOptions::default()
    })
}

fn measure_machine(qemu: Option<PathBuf>, pairs: usize, progress: &Progress) -> Result<u8> {
    let options = with_qemu(qemu, progress)?;
    let paths = bench::paths(&options, progress)?;
    say(&format!("{}\n", bench::paths_text(&paths)))?;
    let mut is_over = paths.iter().any(bench::PathLength::is_over);
    if pairs > 0 {
        let ratios = bench::ratios(&options, pairs, progress)?;
        say(&format!("\n{}\n", bench::ratios_text(&ratios)))?;
        is_over |= ratios.iter().any(bench::Ratio::is_over);
    }
    Ok(if is_over { FAILED } else { 0 })
}

/// Host times do not change the exit code, because they also depend on the host.
fn measure_linux(
    options: &RunOptions,
    release: linux::Release,
    parts: Vec<String>,
    pairs: usize,
    progress: &Progress,
) -> Result<u8> {
    let choice = bench::linux::Choice::new(parts);
    let measured = bench::linux::measure(options, release, &choice, pairs, progress)?;
    say(&bench::linux::text(&measured))?;
    Ok(if measured.is_over() { FAILED } else { 0 })
}

fn measure_instructions(qemu: Option<PathBuf>, pairs: usize, progress: &Progress) -> Result<u8> {
    let options = with_qemu(qemu, progress)?;
    let costs = bench::instructions::measure(&options, pairs, progress)?;
    say(&bench::instructions::text(&costs))?;
    let is_over = bench::instructions::is_over(&costs);
    Ok(if is_over { FAILED } else { 0 })
}

fn measure_host(pairs: usize, progress: &Progress) -> Result<u8> {
    let decoding = bench::host::decoding(pairs, progress)?;
    say(&bench::host::text(&decoding))?;
    let is_over = decoding.iter().any(|decoding| decoding.ratio.is_over());
    Ok(if is_over { FAILED } else { 0 })
}

fn measure_starts(qemu: Option<&Path>, rounds: usize, progress: &Progress) -> Result<u8> {
    let starts = bench::start::measure(qemu, rounds, progress)?;
    say(&bench::start::text(&starts))?;
    Ok(if starts.is_over() { FAILED } else { 0 })
}

fn conform(json: Option<&Path>, qemu: Option<PathBuf>, progress: &Progress) -> Result<u8> {
    writable(&json, "--json")?;
    let conformance = conformance::measure(qemu, progress)?;
    if !is_printed(json) {
        say(&conformance::text::text(&conformance))?;
    }
    if let Some(file) = json {
        conformance::json::write(&conformance, file)?;
    }
    Ok(if conformance.is_complete() {
        0
    } else {
        NOT_ALL_SHOWN
    })
}

fn show(file: &Path, (json, csv): (bool, bool), zos: bool, progress: &Progress) -> Result<u8> {
    let form = match (json, csv) {
        (true, _) => dump::Form::Json,
        (_, true) => dump::Form::Csv,
        _ => dump::Form::Text,
    };
    // Nothing moves on a terminal where the dump itself goes.
    let progress = match stdout().is_terminal() {
        true => Progress::Silent,
        false => *progress,
    };
    let manner = dump::Manner { form, zos };
    dump::dump(file, manner, progress, &mut shown(json))?;
    Ok(0)
}

fn differ(first: &Path, second: &Path, json: Option<&Path>, progress: Progress) -> Result<u8> {
    writable(&json, "--json")?;
    let difference = diff::compare(first, second, progress)?;
    if !is_printed(json) {
        say(&diff::text::text(&difference))?;
    }
    if let Some(file) = json {
        json::save(&diff::json::text(&difference)?, file)?;
    }
    Ok(0)
}

fn examine() -> Result<u8> {
    let findings = doctor::examine();
    say(&doctor::text(&findings))?;
    Ok(if doctor::is_healthy(&findings) {
        0
    } else {
        FAILED
    })
}
