//! The archives that this computer's apt uses, as sources of a private apt for another architecture.
//!
//! Addresses, keys and options are the computer's own; only the suites are those of the release that the packages come
//! from.

use std::{fs, path::Path};

use anyhow::{Result, bail};

/// The release of Debian that the guest's programs come from.
const CODENAME: &str = "bookworm";

/// The part of the archive that they are in.
const COMPONENT: &str = "main";

/// The ending of a suite's name that is in an archive of its own.
const SECURITY: &str = "-security";

/// What packages come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Origin {
    /// A release of Debian.
    codename: &'static str,
    /// Its suites, by the endings of their names.
    endings: &'static [&'static str],
}

impl Origin {
    /// That of the guest's programs.
    pub const PROGRAMS: Self = Self {
        codename: CODENAME,
        endings: &["", "-updates", SECURITY],
    };
    /// The same with backports.
    pub const BACKPORTS: Self = Self {
        codename: CODENAME,
        endings: &["", "-updates", "-backports", SECURITY],
    };
    /// The release that Debian prepares. Its name stays when it is complete. Until then it has no other suites.
    pub const NEWEST: Self = Self {
        codename: "forky",
        endings: &[""],
    };
}

/// Names of suites that move on with Debian's releases.
const MOVING: [&str; 2] = ["stable", "oldstable"];

/// One archive as apt's sources have it: fields of a stanza, by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Stanza {
    fields: Vec<(String, String)>,
}

impl Stanza {
    fn field(&self, name: &str) -> &str {
        let found = self
            .fields
            .iter()
            .find(|(field, _)| field.eq_ignore_ascii_case(name));
        found.map_or("", |(_, value)| value)
    }

    fn words(&self, name: &str) -> impl Iterator<Item = &str> {
        self.field(name).split_whitespace()
    }

    fn serves_packages(&self) -> bool {
        self.words("Types").any(|kind| kind == "deb")
            && self.words("Components").any(|part| part == COMPONENT)
            && !matches!(self.field("Enabled").trim(), "no" | "false" | "0")
    }

    /// Whether one of the suites has this codename and this ending.
    fn has_suite(&self, codename: &str, ending: &str) -> bool {
        self.words("Suites").any(|suite| {
            suite
                .strip_suffix(ending)
                .is_some_and(|base| base == codename || MOVING.contains(&base))
        })
    }

    /// The stanza with these suites, for packages only.
    fn with_suites(&self, suites: &str) -> String {
        let mut text = format!("Types: deb\nSuites: {suites}\nComponents: {COMPONENT}\n");
        for (name, value) in &self.fields {
            let replaced = ["types", "suites", "components", "architectures", "enabled"];
            if !replaced.contains(&name.to_ascii_lowercase().as_str()) {
                text.push_str(&format!("{name}:{value}\n"));
            }
        }
        text.push('\n');
        text
    }
}

/// The sources of a private apt, made from those of this computer.
pub fn of_this_computer(origin: Origin) -> Result<String> {
    let system = fs::read_to_string("/etc/os-release").unwrap_or_default();
    let mut stanzas = Vec::new();
    let mut files = vec![Path::new("/etc/apt/sources.list").to_owned()];
    if let Ok(entries) = fs::read_dir("/etc/apt/sources.list.d") {
        let mut more: Vec<_> = entries.flatten().map(|entry| entry.path()).collect();
        more.sort();
        files.extend(more);
    }
    for file in files {
        let kind = file.extension().and_then(|kind| kind.to_str());
        let parse = match kind {
            Some("list") => one_line_each,
            Some("sources") => deb822,
            _ => continue,
        };
        stanzas.extend(parse(&fs::read_to_string(&file).unwrap_or_default()));
    }
    choose(&system, &stanzas, origin)
}

fn choose(system: &str, stanzas: &[Stanza], origin: Origin) -> Result<String> {
    let value = |name: &str| {
        let found = system.lines().find_map(|line| line.strip_prefix(name));
        found.map(|value| value.trim_matches('"'))
    };
    if value("ID=") != Some("debian") {
        bail!(
            "the kernels and the tools are Debian's packages, and this computer does not run Debian, so its apt cannot get them; give a kernel and an initrd of your own with --kernel and --initrd"
        );
    }
    let codename = value("VERSION_CODENAME=").unwrap_or(CODENAME);
    let serving: Vec<&Stanza> = stanzas.iter().filter(|one| one.serves_packages()).collect();
    let with = |ending: &str| -> Vec<&Stanza> {
        let these = serving.iter().filter(|one| one.has_suite(codename, ending));
        these.copied().collect()
    };
    // Others also publish under Debian's codename, but only Debian has updates there.
    let archives = match with("-updates") {
        none if none.is_empty() => with(""),
        archives => archives,
    };
    if archives.is_empty() {
        bail!(
            "apt's sources name no archive of Debian {codename} with the component {COMPONENT}; look at /etc/apt/sources.list and /etc/apt/sources.list.d, or give a kernel and an initrd of your own with --kernel and --initrd"
        );
    }
    let suites = |is_security: bool| {
        let endings = origin.endings.iter();
        let these = endings.filter(|ending| (**ending == SECURITY) == is_security);
        let names: Vec<String> = these
            .map(|ending| format!("{}{ending}", origin.codename))
            .collect();
        names.join(" ")
    };
    let mut text = String::new();
    for archive in archives {
        text.push_str(&archive.with_suites(&suites(false)));
    }
    for archive in with(SECURITY) {
        let suites = suites(true);
        if !suites.is_empty() {
            text.push_str(&archive.with_suites(&suites));
        }
    }
    Ok(text)
}

/// Stanzas of fields, with an empty line between two of them.
fn deb822(text: &str) -> Vec<Stanza> {
    let mut stanzas = vec![Stanza::default()];
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        let Some(stanza) = stanzas.last_mut() else {
            break;
        };
        if line.trim().is_empty() {
            stanzas.push(Stanza::default());
        } else if line.starts_with([' ', '\t']) {
            if let Some((_, value)) = stanza.fields.last_mut() {
                value.push('\n');
                value.push_str(line);
            }
        } else if let Some((name, value)) = line.split_once(':') {
            stanza.fields.push((name.to_owned(), value.to_owned()));
        }
    }
    stanzas.retain(|stanza| !stanza.fields.is_empty());
    stanzas
}

/// `deb [options] URI suite component …`, one archive a line.
fn one_line_each(text: &str) -> Vec<Stanza> {
    text.lines().filter_map(one_line).collect()
}

fn one_line(line: &str) -> Option<Stanza> {
    let line = line.split('#').next().unwrap_or_default().trim();
    let rest = line.strip_prefix("deb")?.strip_prefix([' ', '\t'])?.trim();
    let (options, rest) = match rest.strip_prefix('[') {
        Some(rest) => rest.split_once(']')?,
        None => ("", rest),
    };
    let mut words = rest.split_whitespace();
    let (address, suite) = (words.next()?, words.next()?);
    let components: Vec<&str> = words.collect();
    let mut fields = vec![
        ("Types".to_owned(), " deb".to_owned()),
        ("URIs".to_owned(), format!(" {address}")),
        ("Suites".to_owned(), format!(" {suite}")),
        (
            "Components".to_owned(),
            format!(" {}", components.join(" ")),
        ),
    ];
    for option in options.split_whitespace() {
        let (name, value) = option.split_once('=')?;
        let name = match name.to_ascii_lowercase().as_str() {
            "signed-by" => "Signed-By",
            "trusted" => "Trusted",
            "check-valid-until" => "Check-Valid-Until",
            _ => continue,
        };
        fields.push((name.to_owned(), format!(" {value}")));
    }
    Some(Stanza { fields })
}

#[cfg(test)]
mod tests {
    use super::*;

    const SYSTEM: &str = "PRETTY_NAME=\"Debian\"\nID=debian\nVERSION_CODENAME=bookworm\n";

    const STANZAS: &str = "# from the installer\n\
        Types: deb deb-src\n\
        URIs: http://archive.example/debian\n\
        Suites: bookworm bookworm-updates\n\
        Components: main contrib\n\
        Signed-By:\n -----BEGIN\n .\n -----END\n\
        \n\
        Types: deb\n\
        URIs: http://security.example/debian\n\
        Suites: bookworm-security\n\
        Components: main\n";

    #[test]
    fn the_computers_archives_serve_the_wanted_suites() {
        let chosen = |origin| choose(SYSTEM, &deb822(STANZAS), origin).unwrap();
        let text = chosen(Origin::BACKPORTS);
        let expected = "Types: deb\n\
            Suites: bookworm bookworm-updates bookworm-backports\n\
            Components: main\n\
            URIs: http://archive.example/debian\n\
            Signed-By:\n -----BEGIN\n .\n -----END\n\
            \n\
            Types: deb\n\
            Suites: bookworm-security\n\
            Components: main\n\
            URIs: http://security.example/debian\n\n";
        assert_eq!(text, expected);
        assert!(!chosen(Origin::PROGRAMS).contains("backports"));
        let newest = chosen(Origin::NEWEST);
        assert_eq!(newest.matches("Suites: forky\n").count(), 1, "{newest}");
        assert_eq!(newest.matches("Suites").count(), 1, "{newest}");
    }

    #[test]
    fn a_line_of_the_old_form_is_the_same_archive() {
        let text = "deb [arch=amd64 signed-by=/k.gpg] http://archive.example/debian bookworm main # all\n\
                    deb-src http://archive.example/debian bookworm main\n\
                    #deb http://off.example/debian bookworm main\n";
        let text = choose(SYSTEM, &one_line_each(text), Origin::PROGRAMS).unwrap();
        let expected = "Types: deb\n\
            Suites: bookworm bookworm-updates\n\
            Components: main\n\
            URIs: http://archive.example/debian\n\
            Signed-By: /k.gpg\n\n";
        assert_eq!(text, expected);
    }

    #[test]
    fn an_archive_of_somebody_else_is_left_out() {
        let mut stanzas = deb822(STANZAS);
        stanzas.extend(one_line_each(
            "deb http://other.example/apt bookworm main\n\
             deb http://third.example/apt tool-bookworm main\n",
        ));
        stanzas.extend(deb822(
            "Types: deb\nURIs: x\nSuites: bookworm-updates\nComponents: main\nEnabled: no\n",
        ));
        let text = choose(SYSTEM, &stanzas, Origin::PROGRAMS).unwrap();
        assert_eq!(text.matches("URIs").count(), 2, "{text}");
        assert!(!text.contains("other") && !text.contains("third"), "{text}");
    }

    #[test]
    fn without_an_archive_of_debian_the_error_names_the_alternative() {
        let refusal = |system: &str| {
            let refused = choose(system, &[], Origin::PROGRAMS);
            refused.unwrap_err().to_string()
        };
        assert!(refusal("ID=other\n").contains("--kernel and --initrd"));
        assert!(refusal(SYSTEM).contains("/etc/apt/sources.list"));
    }
}
