//! A shell in the guest: typed lines from a pipe, and a person's keys from a terminal.

use std::{
    io::{Read, Write},
    process::{Child, ChildStdin, ChildStdout, Command, Stdio},
    time::{Duration, Instant},
};

use tempfile::TempDir;
use tests_qemu::{command, suite::test};

/// How long a boot may take on a busy computer.
const PATIENCE: Duration = Duration::from_secs(900);

/// The input, typed all at once. It is longer than the machine's buffer, so the host must wait for the guest to read.
fn script() -> String {
    let idle = "x".repeat(70);
    let mut lines: String = (0..30)
        .map(|n| format!("n=$((n + {n})); : {idle}\n"))
        .collect();
    lines.push_str("echo sum $n; tty\nsleep 1\nls /sys/bus/event_source/devices\nsh -c 'exit 5'\n");
    lines
}

#[test]
fn lines_from_a_pipe_are_typed_into_the_shell_which_ends_with_them() {
    let directory = TempDir::new().unwrap();
    let mut command = command::measure(&["linux", "--out", "run", "--limit", "900"]).unwrap();
    command.current_dir(directory.path()).stdin(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut input = child.stdin.take().unwrap();
    input.write_all(script().as_bytes()).unwrap();
    drop(input);
    let output = child.wait_with_output().unwrap();
    let text = String::from_utf8_lossy(&output.stdout);
    let error = String::from_utf8_lossy(&output.stderr);
    // The exit code is that of the last line, as in any shell whose input ends.
    assert_eq!(output.status.code(), Some(5), "{error}\n{text}");
    for words in ["Linux version", "sum 435\r\n/dev/ttysclp0\r\n", "cpum_sf"] {
        assert!(text.contains(words), "{words}:\n{text}");
    }
    // The output shows the typed lines, because the guest echoes them.
    assert!(text.contains("sh -c 'exit 5'"), "{text}");
    for words in ["interactive", "not repeatable", "Ctrl-A x"] {
        assert!(error.contains(words), "{words}:\n{error}");
    }
    let record = std::fs::read_to_string(directory.path().join("run/run.json")).unwrap();
    assert!(record.contains("\"interactive\""), "{record}");
}

/// The command on a terminal of its own.
struct Terminal {
    child: Child,
    keys: ChildStdin,
    screen: ChildStdout,
    seen: String,
}

impl Terminal {
    /// Runs a shell line on a terminal, by `script` of util-linux.
    fn start(directory: &TempDir, line: &str) -> Self {
        let mut child = Command::new("script")
            .args(["-qfec", line, "/dev/null"])
            .current_dir(directory.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        Self {
            keys: child.stdin.take().unwrap(),
            screen: child.stdout.take().unwrap(),
            child,
            seen: String::new(),
        }
    }

    /// Waits until the screen shows these words, after the words of the previous wait.
    fn wait_for(&mut self, words: &str) {
        let began = Instant::now();
        let mut bytes = [0; 4096];
        while !self.seen.contains(words) {
            let length = self.screen.read(&mut bytes).unwrap();
            self.seen
                .push_str(&String::from_utf8_lossy(&bytes[..length]));
            assert!(
                length != 0 && began.elapsed() < PATIENCE,
                "{words} is not shown:\n{}",
                self.seen
            );
        }
        let end = self.seen.find(words).unwrap() + words.len();
        self.seen.drain(..end);
    }

    fn strike(&mut self, keys: &str) {
        self.keys.write_all(keys.as_bytes()).unwrap();
        self.keys.flush().unwrap();
    }
}

#[test]
fn the_guest_gets_every_key_and_the_terminal_is_restored() {
    let directory = TempDir::new().unwrap();
    let measure = command::program().unwrap();
    let line = format!(
        "stty rows 33 cols 77; '{}' linux --cpus 2 --out run --limit 900; echo code=$?; stty -a",
        measure.display()
    );
    let mut terminal = Terminal::start(&directory, &line);
    terminal.wait_for("root #");
    terminal.strike("stty size\r");
    terminal.wait_for("33 77");
    // Ctrl-C interrupts a program in the guest and nothing outside it.
    terminal.strike("sleep 100000; echo interrupted\r");
    terminal.wait_for("echo interrupted");
    std::thread::sleep(Duration::from_secs(2));
    terminal.strike("\x03");
    terminal.wait_for("root #");
    // Ctrl-C also interrupts a program that never waits.
    terminal.strike("echo busy; while :; do :; done\r");
    terminal.wait_for("busy\r\n");
    std::thread::sleep(Duration::from_secs(2));
    terminal.strike("\x03");
    terminal.wait_for("root #");
    terminal.strike("\x01h");
    terminal.wait_for("Ctrl-A x ends");
    terminal.strike("echo still $((40 + 2))\r");
    terminal.wait_for("still 42");
    terminal.strike("\x01x");
    terminal.wait_for("the operator ended the guest");
    terminal.wait_for("code=3");
    terminal.wait_for(" icanon");
    terminal.wait_for(" echo ");
    assert!(terminal.child.wait().unwrap().success());
}
