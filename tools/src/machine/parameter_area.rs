//! The parameter area of a program that starts as Linux does: where a loader puts its command line.
//!
//! QEMU fills it from `-append` with `-kernel`, under the same conditions: the entry of the program is 10000, or 800 as
//! in old kernels, which then also start at 10000, and the program has the area. QEMU starts another program without
//! its arguments; here it is refused.

use anyhow::{Context, Result, bail, ensure};

use crate::machine::guest::{Guest, Piece};

/// Where Linux starts.
pub const ENTRY: u64 = 0x1_0000;

/// The entry of old kernels, which is a loader for other machines.
const OLD_ENTRY: u64 = 0x800;

/// A doubleword: the longest command line with its final zero.
const LIMIT: u64 = 0x1_0430;

/// The longest command line of programs that do not name a limit.
const OLD_LIMIT: u64 = 896;

/// The command line, which ends with a zero.
const COMMAND_LINE: u64 = 0x1_0480;

/// Gives a guest its arguments.
pub fn set_arguments(guest: &mut Guest, arguments: &str) -> Result<()> {
    ensure!(
        [ENTRY, OLD_ENTRY].contains(&guest.psw_address),
        "the guest {} starts at {:X} and has no place for arguments; only a program that starts at {ENTRY:X}, as Linux does, finds them at {COMMAND_LINE:X}",
        guest.name,
        guest.psw_address
    );
    put_command_line(&mut guest.pieces, arguments)
        .with_context(|| format!("the guest {} cannot have these arguments", guest.name))?;
    guest.psw_address = ENTRY;
    Ok(())
}

/// Puts a command line into a program.
pub fn put_command_line(pieces: &mut [Piece], line: &str) -> Result<()> {
    let limit = match place(pieces, LIMIT, 8)?.map(|bytes| bytes.try_into()) {
        Some(Ok(bytes)) if bytes != [0; 8] => u64::from_be_bytes(bytes),
        _ => OLD_LIMIT,
    };
    let length = line.len() + 1;
    if length as u64 > limit || line.contains('\0') {
        bail!(
            "its command line has room for {} bytes, and this has {}: {line}",
            limit - 1,
            line.len()
        );
    }
    let place = place(pieces, COMMAND_LINE, length)?;
    let (text, end) = place
        .context("it is too short for its own parameters")?
        .split_at_mut(line.len());
    text.copy_from_slice(line.as_bytes());
    end.fill(0);
    Ok(())
}

/// The bytes at an address, if they are all in one piece. What the file does not have of them are zeros.
fn place(pieces: &mut [Piece], at: u64, length: usize) -> Result<Option<&mut [u8]>> {
    for piece in pieces {
        let Some(offset) = at.checked_sub(piece.destination) else {
            continue;
        };
        if offset >= piece.length || piece.length - offset < length as u64 {
            continue;
        }
        let begin = usize::try_from(offset)?;
        let end = begin + length;
        if piece.bytes.len() < end {
            piece.bytes.resize(end, 0);
        }
        return Ok(piece.bytes.get_mut(begin..end));
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::path::Path;

    /// A program whose area allows command lines of 16 bytes with the zero, and has a part in its zeros.
    fn guest(entry: u64) -> Guest {
        let mut data = vec![0xEE; 0x1_0484];
        data[..8].copy_from_slice(&(0x0008_0000_8000_0000 | entry).to_be_bytes());
        data[LIMIT as usize..][..8].copy_from_slice(&16_u64.to_be_bytes());
        let mut guest = Guest::parse("g", Path::new("/g"), &data).unwrap();
        guest.pieces[0].length = 0x1_0490;
        guest
    }

    fn refusal(guest: &mut Guest, arguments: &str) -> String {
        format!("{:#}", set_arguments(guest, arguments).unwrap_err())
    }

    #[test]
    fn a_program_that_starts_as_linux_does_finds_its_arguments_in_the_parameter_area() {
        for entry in [ENTRY, OLD_ENTRY] {
            let mut guest = guest(entry);
            set_arguments(&mut guest, "-smp 2 --quick").unwrap();
            assert_eq!(guest.psw_address, ENTRY);
            assert_eq!(guest.pieces[0].bytes[0x1_0480..], *b"-smp 2 --quick\0");
        }
    }

    #[test]
    fn a_program_without_room_for_its_arguments_is_refused_with_the_room() {
        set_arguments(&mut guest(ENTRY), &"x".repeat(15)).unwrap();
        let long = "x".repeat(16);
        assert!(refusal(&mut guest(ENTRY), &long).contains("room for 15 bytes, and this has 16"));
        let mut old = guest(ENTRY);
        old.pieces[0].bytes[LIMIT as usize..][..8].fill(0);
        old.pieces[0].length = 0x2_0000;
        set_arguments(&mut old, &"x".repeat(895)).unwrap();
        assert!(refusal(&mut old, &"x".repeat(896)).contains("room for 895 bytes"));
        let mut short = guest(ENTRY);
        short.pieces[0].length = 0x1_0484;
        assert!(refusal(&mut short, "four").contains("too short"));
    }

    #[test]
    fn a_program_that_starts_elsewhere_is_refused() {
        let refusal = refusal(&mut guest(0x200), "a");
        assert!(refusal.contains("starts at 200") && refusal.contains("at 10480"));
    }
}
