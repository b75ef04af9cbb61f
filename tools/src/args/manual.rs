//! Manual pages and completions, made of the command line's own definition.

use std::{fs, io, path::Path};

use anyhow::{Context, Result};
use clap::{Command, CommandFactory, builder::StyledStr};
use clap_complete::Shell;

use super::Arguments;
use crate::computer::{temporary::Temporary, whole_file};

/// What the command is called when Cargo starts it, and when it is installed.
const BY_CARGO: &str = "cargo measure";
const INSTALLED: &str = "measure";

/// The command line of an installed command: its help does not name Cargo.
pub fn installed() -> Command {
    without_cargo(Arguments::command()).bin_name(INSTALLED)
}

fn without_cargo(mut command: Command) -> Command {
    let named = |text: &StyledStr| text.to_string().replace(BY_CARGO, INSTALLED);
    if let Some(text) = command.get_about().map(named) {
        command = command.about(text);
    }
    if let Some(text) = command.get_long_about().map(named) {
        command = command.long_about(text);
    }
    if let Some(text) = command.get_after_help().map(named) {
        command = command.after_help(text);
    }
    let command = command.mut_args(|mut option| {
        if let Some(text) = option.get_help().map(named) {
            option = option.help(text);
        }
        if let Some(text) = option.get_long_help().map(named) {
            option = option.long_help(text);
        }
        option
    });
    command.mut_subcommands(without_cargo)
}

/// The completions for a shell.
pub fn completions(shell: Shell) -> Vec<u8> {
    let mut text = Vec::new();
    clap_complete::generate(shell, &mut installed(), INSTALLED, &mut text);
    text
}

/// The page of the command itself.
pub fn page() -> Result<Vec<u8>> {
    let mut text = Vec::new();
    let page = clap_mangen::Man::new(documented());
    page.render(&mut text)
        .context("cannot write the manual page")?;
    Ok(text)
}

/// Writes a page for each command into this directory.
pub fn write_pages(directory: &Path) -> Result<()> {
    let made = Temporary::new()?;
    clap_mangen::generate_to(documented(), made.path()).with_context(|| {
        format!(
            "cannot write manual pages into {}; set TMPDIR to a directory with free space",
            made.path().display()
        )
    })?;
    let write = || -> io::Result<()> {
        fs::create_dir_all(directory)?;
        for page in fs::read_dir(made.path())? {
            let page = page?;
            let name = page.file_name();
            whole_file::put(&directory.join(name), fs::read(page.path())?)?;
        }
        Ok(())
    };
    write().with_context(|| {
        format!(
            "cannot write manual pages into {}; choose another directory with --to",
            directory.display()
        )
    })
}

/// The command line as the pages show it: `help` has no page, because it only shows what they say.
fn documented() -> Command {
    fn without_help(command: Command) -> Command {
        command
            .disable_help_subcommand(true)
            .mut_subcommands(without_help)
    }
    without_help(installed())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn commands() -> Vec<String> {
        let line = Arguments::command();
        let names = line
            .get_subcommands()
            .map(|command| command.get_name().to_owned());
        names.collect()
    }

    #[test]
    fn every_command_and_option_is_in_the_manual_pages() {
        let directory = tempfile::tempdir().unwrap();
        let pages = directory.path().join("man");
        write_pages(&pages).unwrap();
        assert_eq!(
            fs::read(pages.join("measure.1")).unwrap(),
            page().unwrap(),
            "the page alone is the page among all"
        );
        for name in commands() {
            let text = fs::read_to_string(pages.join(format!("measure-{name}.1"))).unwrap();
            assert!(!text.contains(BY_CARGO), "{name}:\n{text}");
            let line = Arguments::command();
            let command = line.find_subcommand(&name).unwrap();
            for option in command
                .get_arguments()
                .filter_map(|option| option.get_long())
            {
                // A page writes a hyphen so that nobody takes it for a dash.
                let written = format!("\\-\\-{}", option.replace('-', "\\-"));
                assert!(text.contains(&written), "{name} {option}:\n{text}");
            }
        }
        assert!(!pages.join("measure-help.1").exists());
    }

    #[test]
    fn every_shell_completes_every_command() {
        for shell in [
            Shell::Bash,
            Shell::Zsh,
            Shell::Fish,
            Shell::Elvish,
            Shell::PowerShell,
        ] {
            let text = String::from_utf8(completions(shell)).unwrap();
            for name in commands() {
                assert!(text.contains(&name), "{shell} {name}");
            }
            assert!(!text.contains(BY_CARGO), "{shell}");
        }
    }

    #[test]
    fn an_installed_command_does_not_name_cargo_in_its_examples() {
        let mut line = installed();
        let help = line
            .find_subcommand_mut("report")
            .unwrap()
            .render_long_help();
        let help = help.to_string();
        assert!(help.contains("  measure report smf113.gz"), "{help}");
        assert!(!help.contains(BY_CARGO), "{help}");
    }
}
