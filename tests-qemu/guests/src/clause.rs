//! What a guest checks, written where the harness can read it without running the guest.
//!
//! [`clause!`] puts one NUL-terminated UTF-8 string into the ELF section `.clause`, which is never loaded. The
//! behaviour program has one string for each of its cases. The string is a list of lines `key=value`:
//!
//! | key | value |
//! |---|---|
//! | `module` | where it is declared; a case is found by it |
//! | `clause` | the document and the place in it, in words |
//! | `native` | `true` when the guest also runs on a machine without Millimeter; a behaviour guest (its name begins with `b_`) then prints the same text there |
//! | `cpus` | how many CPUs the guest needs (1 unless given) |
//! | `options` | the options of `cargo measure run` that it needs; several runs are parted by a semicolon |
//! | `when_waiting` | what the operator says, a command each time that every CPU waits; parted by semicolons |
//! | `end` | `success` (unless given), or `failure`: the guest ends in a disabled wait other than FFF |

/// Declares the clause a guest checks: `clause!("SA23-2260, LOAD SAMPLING CONTROLS", native = false)`,
/// optionally followed by `cpus = N`, `end = failure` and `options = "--no-sampling"` and
/// `when_waiting = "…"`, in this order.
#[macro_export]
macro_rules! clause {
    ($clause:literal, native = $native:literal
     $(, cpus = $cpus:literal)? $(, end = $end:ident)? $(, options = $options:literal)?
     $(, when_waiting = $when_waiting:literal)? $(,)?) => {
        core::arch::global_asm!(
            ".pushsection .clause,\"\",@progbits",
            concat!(
                ".asciz \"module=",
                module_path!(),
                "\\nclause=",
                $clause,
                "\\nnative=",
                $native,
                "\\n",
                $("cpus=", $cpus, "\\n",)?
                $("end=", stringify!($end), "\\n",)?
                $("options=", $options, "\\n",)?
                $("when_waiting=", $when_waiting, "\\n",)?
                "\""
            ),
            ".popsection",
        );
    };
}
