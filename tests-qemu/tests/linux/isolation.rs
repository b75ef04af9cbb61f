//! A program reaches neither the kernel nor the hardware system area, and the kernel goes on.

use crate::guest::Answers;

/// What is tried, of which nothing may come off: so many instructions, moves and accesses.
const TRIED: u32 = 537;

pub const QUESTIONS: &str = r"
echo @intruder; intruder
echo @afterwards; echo 6 | cat; ls / >/dev/null && echo goes on
";

/// Everything was refused in its own way.
pub fn check(answers: &Answers) {
    assert_eq!(
        answers.of("intruder").trim_end(),
        format!("tried {TRIED}, wrong 0")
    );
    assert_eq!(answers.of("afterwards").trim_end(), "6\ngoes on");
}
