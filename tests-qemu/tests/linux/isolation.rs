//! A program reaches neither the kernel nor the hardware system area, and the kernel goes on.

use crate::guest::Answers;

/// How many instructions, moves and accesses the program tries. None may succeed.
const TRIED: u32 = 537;

pub const QUESTIONS: &str = r"
echo @intruder; intruder
echo @afterwards; echo 6 | cat; ls / >/dev/null && echo goes on
";

/// Every attempt was refused as it must be.
pub fn check(answers: &Answers) {
    assert_eq!(
        answers.of("intruder").trim_end(),
        format!("tried {TRIED}, wrong 0")
    );
    assert_eq!(answers.of("afterwards").trim_end(), "6\ngoes on");
}
