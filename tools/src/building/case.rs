//! Makes a guest from one case of a program.
//!
//! The behaviour guests are one program, `tests-qemu/guests/src/behaviour`. Each of its modules has an
//! entry and a clause of its own. A case as a guest is the program with two changes: the entry in the
//! ELF header, and the place and length of the section `.clause`. Everything that reads a guest's file,
//! bare QEMU too, then finds only this case.

use anyhow::{Context, Result, bail};
use object::{
    BigEndian, Object, ObjectSection, ObjectSymbol, elf::FileHeader64, read::elf::FileHeader,
};

/// The program of the cases.
pub const PROGRAM: &str = "behaviour";

/// The source of what the cases have in common; it is no case.
pub const MAIN: &str = "main";

/// Offset of the entry in the ELF header.
const ENTRY: usize = 24;
/// Offset of a section's place and length in its section header.
const SECTION_PLACE: usize = 24;

/// The program's ELF file as a guest of this case.
pub fn cut(program: &[u8], name: &str) -> Result<Vec<u8>> {
    let elf = object::File::parse(program)
        .context("the program of the cases is damaged; build it again")?;
    let module = format!("{PROGRAM}::{name}");
    let entry = elf
        .symbols()
        .find(|symbol| symbol.name() == Ok(&module))
        .with_context(|| {
            format!("the program has no case {name}: name it in {PROGRAM}/main.rs, and begin it with guests::case!")
        })?
        .address();
    let section = (elf.section_by_name(".clause"))
        .context("the program of the cases has no section .clause; build it again")?;
    let (clauses_at, _) = section.file_range().context(
        "the section .clause of the program of the cases is not in its file; build it again",
    )?;
    let clauses = section.data()?;
    let first_line = format!("module={module}\n");
    let mut at = 0;
    let clause = clauses
        .split_inclusive(|&byte| byte == 0)
        .find(|clause| {
            at += clause.len() as u64;
            clause.starts_with(first_line.as_bytes())
        })
        .with_context(|| format!("{name} declares no clause; begin it with guests::clause!"))?;
    let length = clause.len() as u64;
    let place = clauses_at + at - length;
    let header = FileHeader64::<BigEndian>::parse(program)?;
    let section_header = usize::try_from(header.e_shoff(BigEndian))?
        + section.index().0 * usize::from(header.e_shentsize(BigEndian));
    let mut guest = program.to_vec();
    let mut put = |at: usize, value: u64| match guest.get_mut(at..at + 8) {
        Some(bytes) => {
            bytes.copy_from_slice(&value.to_be_bytes());
            Ok(())
        }
        None => bail!("the program of the cases is damaged; build it again"),
    };
    put(ENTRY, entry)?;
    put(section_header + SECTION_PLACE, place)?;
    put(section_header + SECTION_PLACE + 8, length)?;
    Ok(guest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_is_not_a_program_of_cases_is_refused() {
        assert!(cut(b"", "b_x").is_err());
        assert!(cut(b"\x7FELF", "b_x").is_err());
    }
}
