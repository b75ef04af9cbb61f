//! The routines of a kernel and of the boot stage before it.
//!
//! The boot stage unpacks the kernel and runs at its own addresses. For its backtraces it has a list of its routines,
//! each a string "address length name". The kernel has [`kallsyms`], or a file of the user's own takes their place.
//! Only their routines are used.

use std::path::Path;

use anyhow::{Context, Result, bail};

use crate::{
    computer::input_file,
    linux::unpack,
    symbols::{
        Symbol, SymbolTable,
        kallsyms::{self, Name},
        linux::{BOOT, KERNEL},
        places::PlaceNames,
        plain,
    },
};

/// The first routine of the boot stage, which is at the entry of every image.
const BOOT_FIRST: &[u8] = b"\x0010000 ";

/// Where a kernel lies if its own addresses are those of storage and it is not moved.
const KERNEL_AT: u64 = 0x10_0000;

/// The parameter that tells a kernel to run where it is linked.
pub const NO_KASLR: &str = "nokaslr";

/// Where a kernel with [`NO_KASLR`] runs, if its own addresses are separate from those of storage.
const IMAGE_BASE: u64 = 0x3FF_E000_0000 + KERNEL_AT;

/// The symbol that only such a kernel has: Linux 6.10 and later.
const LAYOUT: &str = "vm_layout";

/// The beginning and the end of the kernel's text, and of the text that only its start needs.
const TEXTS: [(&str, &str); 2] = [("_stext", "_etext"), ("_sinittext", "_einittext")];

/// The routines of the kernel in this image; with a file, those that the file names.
///
/// # Errors
///
/// There are no routines, or the file holds no symbols.
pub fn of_image(image: &[u8], file: Option<&Path>) -> Result<SymbolTable> {
    let kernel = match file {
        Some(file) => {
            let bytes = input_file::read_awaited(file)
                .with_context(|| format!("cannot read the symbols {}", file.display()))?;
            let names = kallsyms::from_text(&String::from_utf8_lossy(&bytes));
            names
                .with_context(|| "no line is an address, a type and a name".to_owned())
                .and_then(|names| routines(&names))
                .with_context(|| {
                    format!(
                        "{} is not a list of a kernel's symbols; give its System.map, or /proc/kallsyms as root reads it",
                        file.display()
                    )
                })?
        }
        None => {
            let found = unpack::candidates(image).find_map(|kernel| kallsyms::read(&kernel));
            let names = found.context(
                "no names can be read in the kernel: it was built without CONFIG_KALLSYMS, or is not compressed by gzip, xz or zstd; give its System.map with --symbols FILE",
            )?;
            routines(&names)?
        }
    };
    let mut all = boot_routines(image);
    let first = kernel.first().map_or(0, |symbol| symbol.start);
    // In a kernel that is not moved yet, symbols may have lower addresses than in storage.
    let move_by = KERNEL_AT.saturating_sub(first);
    all.retain(|symbol| symbol.end <= KERNEL_AT);
    // The names are as the image has them, and may be at any addresses.
    all.extend(kernel.into_iter().filter_map(|symbol| {
        Some(Symbol {
            start: symbol.start.checked_add(move_by)?,
            end: symbol.end.checked_add(move_by)?,
            ..symbol
        })
    }));
    for symbol in &mut all {
        symbol.name = plain(&symbol.name);
    }
    Ok(SymbolTable::of(all))
}

/// The routines and all names of a kernel at their addresses with [`NO_KASLR`]. `symbols` are its routines from
/// [`of_image`]. A kernel without names has none here either.
pub fn traced(
    kernel: &Path,
    file: Option<&Path>,
    symbols: SymbolTable,
) -> (SymbolTable, PlaceNames) {
    let names = match file {
        Some(file) => input_file::read(file)
            .ok()
            .and_then(|bytes| kallsyms::from_text(&String::from_utf8_lossy(&bytes))),
        None => input_file::read(kernel).ok().and_then(|image| {
            unpack::candidates(&image).find_map(|kernel| kallsyms::read(&kernel))
        }),
    };
    let mut names = names.unwrap_or_default();
    let first = names
        .iter()
        .find(|name| name.name == TEXTS[0].0)
        .map_or(0, |name| name.address);
    let is_apart = names.iter().any(|name| name.name == LAYOUT);
    let start = if is_apart { IMAGE_BASE } else { KERNEL_AT };
    for name in &mut names {
        name.address = name.address.wrapping_sub(first).wrapping_add(start);
    }
    names.sort_by_key(|name| name.address);
    let of_kernel = |symbol: &&Symbol| symbol.module == KERNEL;
    let table = symbols.symbols();
    let was_at = table
        .iter()
        .find(of_kernel)
        .map_or(0, |symbol| symbol.start);
    let moved = table.iter().cloned().map(|mut symbol| {
        if symbol.module == KERNEL {
            symbol.start = symbol.start.wrapping_sub(was_at).wrapping_add(start);
            symbol.end = symbol.end.wrapping_sub(was_at).wrapping_add(start);
        }
        symbol
    });
    (
        SymbolTable::of(moved.collect()),
        PlaceNames::of_kernel(&names),
    )
}

/// Decides between names of one address. A routine's name is better than that of a place between routines. Then a
/// global name is better than a local one, and a local one better than a weak one. Then fewer leading underscores are
/// better, and then a longer name.
fn rank(name: &Name) -> impl Ord + use<> {
    let text = name.name.strip_prefix('_').unwrap_or_default();
    let is_place = ["text", "text_start", "text_end"]
        .iter()
        .any(|end| text.ends_with(end));
    let kind = match name.kind {
        b'T' => 2,
        b't' => 1,
        _ => 0,
    };
    let underscores = name.name.len() - name.name.trim_start_matches('_').len();
    (
        !is_place,
        kind,
        std::cmp::Reverse(underscores),
        name.name.len(),
    )
}

/// The routines among the symbols of a kernel; each ends where the next one begins.
fn routines(names: &[Name]) -> Result<Vec<Symbol>> {
    let place = |wanted: &str| {
        let found = names.iter().find(|name| name.name == wanted);
        found.map(|name| name.address)
    };
    let mut symbols: Vec<Symbol> = Vec::new();
    for (first, last) in TEXTS {
        let (Some(begin), Some(end)) = (place(first), place(last)) else {
            bail!("{first} and {last} are not both among the symbols");
        };
        let inside = names
            .iter()
            .filter(|name| (begin..end).contains(&name.address) && b"TtWw".contains(&name.kind));
        let mut best: Vec<&Name> = Vec::new();
        for name in inside {
            match best.last_mut() {
                Some(other) if other.address == name.address => {
                    if rank(name) > rank(other) {
                        *other = name;
                    }
                }
                _ => best.push(name),
            }
        }
        let ends = best.iter().skip(1).map(|name| name.address).chain([end]);
        symbols.extend(best.iter().zip(ends).map(|(name, end)| Symbol {
            start: name.address,
            end,
            module: KERNEL.to_owned(),
            name: name.name.clone(),
        }));
    }
    if symbols.is_empty() {
        bail!("all symbols have the same address, as in /proc/kallsyms for a user who is not root");
    }
    Ok(symbols)
}

/// The routines that the boot stage lists.
fn boot_routines(image: &[u8]) -> Vec<Symbol> {
    let mut places = image.windows(BOOT_FIRST.len());
    let Some(begin) = places.position(|bytes| bytes == BOOT_FIRST) else {
        return Vec::new();
    };
    let entries = image[begin + 1..].split(|&byte| byte == 0);
    entries
        .map_while(|entry| {
            let mut words = std::str::from_utf8(entry).ok()?.split(' ');
            let mut number = || u64::from_str_radix(words.next()?, 16).ok();
            let (start, length) = (number()?, number()?);
            Some(Symbol {
                start,
                end: start.checked_add(length)?,
                module: BOOT.to_owned(),
                name: words.next()?.to_owned(),
            })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;
    use crate::symbols::places::{Meant, Wanted};

    fn name(address: u64, kind: u8, name: &str) -> Name {
        Name {
            address,
            kind,
            name: name.to_owned(),
        }
    }

    fn kernel() -> Vec<Name> {
        vec![
            name(0, b'T', "_stext"),
            name(0, b'T', "startup_continue"),
            name(0x40, b'W', "sys_ni"),
            name(0x40, b't', "__do_it"),
            name(0x40, b't', "do_it"),
            name(0x80, b'D', "data"),
            name(0x100, b'T', "_etext"),
            name(0x200, b'T', "_sinittext"),
            name(0x200, b't', "init"),
            name(0x300, b'T', "_einittext"),
        ]
    }

    #[test]
    fn a_routine_ends_at_the_next_one_and_has_the_best_of_its_names() {
        let lines: Vec<(u64, u64, String)> = routines(&kernel())
            .unwrap()
            .into_iter()
            .map(|symbol| (symbol.start, symbol.end, symbol.name))
            .collect();
        let line = |start, end, name: &str| (start, end, name.to_owned());
        assert_eq!(
            lines,
            [
                line(0, 0x40, "startup_continue"),
                line(0x40, 0x100, "do_it"),
                line(0x200, 0x300, "init")
            ]
        );
        let error = routines(&kernel()[1..]).unwrap_err().to_string();
        assert!(error.contains("_stext and _etext"), "{error}");
        let hidden: Vec<Name> = kernel().iter().map(|n| name(0, n.kind, &n.name)).collect();
        assert!(routines(&hidden).is_err());
    }

    #[test]
    fn names_have_the_addresses_of_a_kernel_that_is_not_moved_at_random() {
        for (more, start) in [(None, KERNEL_AT), (Some(LAYOUT), IMAGE_BASE)] {
            let mut names = kernel();
            names.extend(more.map(|more| name(0x90, b'D', more)));
            let text: String = names
                .iter()
                .map(|name| {
                    let address = 0x7_0000_0000 + name.address;
                    format!("{address:016x} {} {}\n", name.kind as char, name.name)
                })
                .collect();
            let file = tempfile::NamedTempFile::new().unwrap();
            fs::write(file.path(), text).unwrap();
            let table = of_image(b"\x0010000 14 startup\0", Some(file.path())).unwrap();
            let (table, names) = traced(Path::new("/no/such/kernel"), Some(file.path()), table);
            let meant = names.meant("__do_it", Wanted::Routine);
            assert_eq!(meant, Ok(Meant::Named(start + 0x40, start + 0x7F)));
            let routine = table.find(start + 0x40).map(|symbol| &symbol.name[..]);
            assert_eq!(routine, Some("do_it"));
            assert_eq!(
                table.find(0x1_0004).map(|symbol| &symbol.name[..]),
                Some("startup")
            );
        }
    }

    #[test]
    fn a_routine_at_the_end_of_all_addresses_is_left_out() {
        let text = "0000000000000000 T _stext\n0000000000000000 T first\n0000000000000040 T second\nffffffffffffff00 T _etext\n0000000000000000 T _sinittext\n0000000000000000 T _einittext\n";
        let file = tempfile::NamedTempFile::new().unwrap();
        fs::write(file.path(), text).unwrap();
        let table = of_image(b"", Some(file.path())).unwrap();
        let names: Vec<&str> = table.symbols().iter().map(|s| &s.name[..]).collect();
        assert_eq!(names, ["first"]);
    }

    #[test]
    fn a_name_in_an_image_does_not_end_a_line_of_the_table() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = kernel()
            .iter()
            .map(|name| format!("{:x} {} {}\n", name.address, name.kind as char, name.name))
            .collect();
        fs::write(file.path(), text).unwrap();
        let image = b"x\x0010000 14 two\nlines\x0010020 d4 next\0";
        let table = of_image(image, Some(file.path())).unwrap();
        assert_eq!(SymbolTable::from_text(&table.to_text()).unwrap(), table);
        let name = table.find(0x1_0000).map(|symbol| &symbol.name[..]);
        assert_eq!(name, Some("two\u{FFFD}lines"));
    }

    #[test]
    fn the_boot_stage_lists_its_routines() {
        let image = b"x\x0010000 14 startup\x0010020 d4 startup_normal\x0011868 508 startup_kernel\0\0\0\xFD7zXZ";
        let table = SymbolTable::of(boot_routines(image));
        let name = |address| table.find(address).map(|symbol| symbol.name.clone());
        assert_eq!(name(0x1_0000).as_deref(), Some("startup"));
        assert_eq!(name(0x1_1900).as_deref(), Some("startup_kernel"));
        assert_eq!(name(0x1_1000), None);
        assert_eq!(boot_routines(b"nothing"), []);
    }

    #[test]
    fn the_symbols_of_a_user_take_the_place_of_the_kernels_own() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text: String = kernel()
            .iter()
            .map(|name| {
                format!(
                    "{:016x} {} {}\n",
                    0x3FFE_0000_0000 + name.address,
                    name.kind as char,
                    name.name
                )
            })
            .collect();
        fs::write(file.path(), text).unwrap();
        let image = b"\x0010000 14 startup\0";
        let table = of_image(image, Some(file.path())).unwrap();
        let name = |address| {
            table
                .find(address)
                .map(|symbol| (&symbol.name[..], &symbol.module[..]))
        };
        assert_eq!(name(0x3FFE_0000_0041), Some(("do_it", KERNEL)));
        assert_eq!(name(0x1_0004), Some(("startup", BOOT)));
        fs::write(
            file.path(),
            "ffffffffffffffff B The real System.map is elsewhere\n",
        )
        .unwrap();
        let error = format!("{:#}", of_image(image, Some(file.path())).unwrap_err());
        assert!(
            error.contains("not a list of a kernel's symbols"),
            "{error}"
        );
        let error = of_image(image, None).unwrap_err().to_string();
        assert!(error.contains("--symbols FILE"), "{error}");
    }
}
