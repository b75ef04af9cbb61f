//! `ins`: a list of files and addresses, as a hardware management console and Hercules IPL them.
//!
//! Each line has a file and the address of its first byte; a line with an asterisk is a comment. Such a machine takes its
//! first PSW from absolute 0, so the list provides one. Names have eight and three characters, as in old file systems.

use anyhow::Result;

use super::{Carried, File, Files, channel::ipl_psw, flat, hercules};

/// The list.
const LIST: &str = "millimet.ins";
/// The file with the IPL PSW.
const PSW: &str = "millimet.psw";
/// The files with the image, the loader block and what is staged. The parts of a guest are close to each other.
const PARTS: [&str; 8] = [
    "millimet.img",
    "millimet.001",
    "millimet.002",
    "millimet.003",
    "millimet.004",
    "millimet.005",
    "millimet.006",
    "millimet.007",
];

/// The list, and the files that it names.
pub fn files(elf: &[u8], carried: &Carried) -> Result<Files> {
    let image = flat::flatten(elf)?;
    let psw = ipl_psw(image.entry);
    let parts = flat::contents(image, carried);
    if parts.len() > PARTS.len() {
        return Err(carried.too_large(
            super::Form::Ins,
            &format!(
                "it is spread over {} places of storage, and the list has room for {}",
                parts.len(),
                PARTS.len()
            ),
            "choose the form elf",
        ));
    }
    let mut list = "* Millimeter\n".to_owned();
    let mut more = hercules::files(carried, "", LIST);
    for (name, part) in PARTS.into_iter().zip(parts) {
        list.push_str(&format!("{name} 0x{:08x}\n", part.address));
        more.push(File {
            name,
            bytes: part.bytes,
        });
    }
    list.push_str(&format!("{PSW} 0x00000000\n"));
    more.push(File {
        name: PSW,
        bytes: psw.to_be_bytes().to_vec(),
    });
    let main = File {
        name: LIST,
        bytes: list.into_bytes(),
    };
    Ok((main, more))
}

#[cfg(test)]
mod tests {
    use super::{
        super::test_image::{carried, elf},
        *,
    };

    #[test]
    fn the_list_provides_an_ipl_psw_of_31_bits() {
        let (list, files) = files(&elf(), &Carried::nothing(512 << 20)).unwrap();
        assert_eq!(
            String::from_utf8(list.bytes).unwrap(),
            "* Millimeter\nmillimet.img 0x00020000\nmillimet.psw 0x00000000\n"
        );
        let psw = files.iter().find(|file| file.name == PSW).unwrap();
        assert_eq!(psw.bytes, 0x0008_0000_8002_0004u64.to_be_bytes());
    }

    #[test]
    fn the_list_names_what_is_carried() {
        let (list, files) = files(&elf(), &carried()).unwrap();
        let list = String::from_utf8(list.bytes).unwrap();
        for line in ["millimet.001 0x001f0000", "millimet.002 0x01000000"] {
            assert!(list.contains(line), "{list}");
        }
        let staged = files.iter().find(|file| file.name == PARTS[2]).unwrap();
        assert_eq!(staged.bytes, [0xA; 1000]);
    }
}
