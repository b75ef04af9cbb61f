//! The lines that the guest's first process writes for the host.
//!
//! Only these lines of the first process begin with a record separator. The command may write such lines, too, so while
//! it runs only the line with its exit code counts.
//!
//! | line | when |
//! |---|---|
//! | `kernel ADDRESS` | first, if the boot is profiled: where `_stext` lies |
//! | `command` | before the command |
//! | `counted USER ALL` | behind it, if its instructions were counted: in problem state, and in all |
//! | `exit CODE` | then |
//! | `process PID NAME` | then, if the boot is profiled: for each process that got a name, in that order |
//! | `module NAME BYTES ADDRESS` | and for each module that is loaded |
//! | `mapped LINE` | and, if call stacks were followed, for each change of what processes map: [`super::mapped`] |

/// What the lines begin with.
pub const BEGIN: &str = "\x1Emillimeter: ";

/// One line.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Marker {
    /// The command begins.
    Command,
    /// The command has taken so many instructions.
    Counted {
        /// In problem state.
        user: u64,
        /// In all.
        all: u64,
    },
    /// The command has ended with this code.
    Exit(u8),
    /// The kernel's text begins at this address.
    Kernel(u64),
    /// A process.
    Process {
        /// Its number.
        pid: u32,
        /// Its name.
        name: String,
    },
    /// A module of the kernel.
    Module {
        /// Its name.
        name: String,
        /// Bytes that it takes up.
        length: u64,
        /// Address of the first one.
        start: u64,
    },
    /// A change of what processes map.
    Mapped(String),
}

impl Marker {
    /// The marker of a line, without [`BEGIN`].
    pub fn of(line: &str) -> Option<Self> {
        let line = line.trim_end();
        let (word, rest) = line.split_once(' ').unwrap_or((line, ""));
        let address = |text: &str| {
            let digits = text.strip_prefix("0x").unwrap_or(text);
            u64::from_str_radix(digits, 16).ok()
        };
        Some(match word {
            "command" if rest.is_empty() => Self::Command,
            "counted" => {
                let (user, all) = rest.split_once(' ')?;
                Self::Counted {
                    user: user.parse().ok()?,
                    all: all.parse().ok()?,
                }
            }
            "exit" => Self::Exit(rest.parse().ok()?),
            "kernel" => Self::Kernel(address(rest)?),
            "process" => {
                let (pid, name) = rest.split_once(' ')?;
                Self::Process {
                    pid: pid.parse().ok()?,
                    name: name.to_owned(),
                }
            }
            "mapped" => Self::Mapped(rest.to_owned()),
            "module" => {
                let mut words = rest.split(' ');
                Self::Module {
                    name: words.next()?.to_owned(),
                    length: words.next()?.parse().ok()?,
                    start: address(words.next()?)?,
                }
            }
            _ => return None,
        })
    }
}

/// The markers of a whole console, without anything that the command wrote.
pub fn of_console(console: &str) -> Vec<Marker> {
    let (mut all, mut is_running) = (Vec::new(), false);
    for line in console.lines() {
        // The command may not end its last line, so a marker can be in the middle of one.
        let Some((_, text)) = line.rsplit_once(BEGIN) else {
            continue;
        };
        match Marker::of(text) {
            Some(Marker::Exit(_)) => is_running = false,
            Some(Marker::Command) => is_running = true,
            Some(marker) if !is_running => all.push(marker),
            _ => {}
        }
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_one_marker_or_none() {
        assert_eq!(Marker::of("command\r\n"), Some(Marker::Command));
        assert_eq!(Marker::of("exit 7\n"), Some(Marker::Exit(7)));
        assert_eq!(
            Marker::of("kernel 000003ffe0100000"),
            Some(Marker::Kernel(0x03FF_E010_0000))
        );
        let process = Marker::Process {
            pid: 87,
            name: "kworker/0:1 x".to_owned(),
        };
        assert_eq!(Marker::of("process 87 kworker/0:1 x"), Some(process));
        let module = Marker::Module {
            name: "ext4".to_owned(),
            length: 8192,
            start: 0x3FF_8000_0000,
        };
        assert_eq!(Marker::of("module ext4 8192 0x3ff80000000"), Some(module));
        for line in [
            "",
            "exit",
            "exit 256",
            "kernel",
            "kernel x",
            "process 1",
            "module a 1",
            "more",
        ] {
            assert_eq!(Marker::of(line), None, "{line}");
        }
    }

    #[test]
    fn a_line_of_the_command_is_not_taken_for_one_of_the_first_process() {
        let console = "boot\r\n\x1Emillimeter: kernel 100000\r\n\x1Emillimeter: command\n\
                       \x1Emillimeter: process 1 forged\nend\x1Emillimeter: exit 0\n\
                       \x1Emillimeter: process 1 init\noff\n";
        let process = Marker::Process {
            pid: 1,
            name: "init".to_owned(),
        };
        assert_eq!(of_console(console), [Marker::Kernel(0x10_0000), process]);
    }
}
