//! A file that holds only the names of routines.
//!
//! `perf report` looks for names in the file that a mapping names. This computer may have no file of the guest, or
//! none with the addresses at which it ran. So each stretch of storage gets an ELF file for s390x with one section of
//! text, empty in the file, at the address where the guest had it.

use anyhow::{Context, Result};
use object::{
    Endianness, elf,
    write::elf::{FileHeader, ProgramHeader, SectionHeader, Sym, Writer},
};

use crate::symbols::Symbol;

/// The file of these routines, which are in ascending order; its text begins at `start` and has `length` bytes.
pub fn file(start: u64, length: u64, symbols: &[Symbol]) -> Result<Vec<u8>> {
    // A name ends with a zero.
    let names: Vec<String> = symbols
        .iter()
        .map(|symbol| symbol.name.replace(char::is_control, " "))
        .collect();
    let mut bytes = Vec::new();
    let mut writer = Writer::new(Endianness::Big, true, &mut bytes);
    writer.reserve_file_header();
    writer.reserve_program_headers(1);
    let text_name = writer.add_section_name(b".text");
    let text = writer.reserve_section_index();
    writer.reserve_symtab_section_index();
    writer.reserve_strtab_section_index();
    writer.reserve_shstrtab_section_index();
    let mut places = Vec::new();
    for name in &names {
        places.push(writer.add_string(name.as_bytes()));
        writer.reserve_symbol_index(Some(text));
    }
    writer.reserve_symtab();
    writer.reserve_strtab();
    writer.reserve_shstrtab();
    writer.reserve_section_headers();
    let header = FileHeader {
        os_abi: elf::ELFOSABI_NONE,
        abi_version: 0,
        e_type: elf::ET_EXEC,
        e_machine: elf::EM_S390,
        e_entry: start,
        e_flags: 0,
    };
    writer
        .write_file_header(&header)
        .context("cannot write the routines' names as ELF")?;
    writer.write_align_program_headers();
    writer.write_program_header(&ProgramHeader {
        p_type: elf::PT_LOAD,
        p_flags: elf::PF_R | elf::PF_X,
        p_offset: 0,
        p_vaddr: start,
        p_paddr: start,
        p_filesz: 0,
        p_memsz: length,
        p_align: 1,
    });
    writer.write_null_symbol();
    for (symbol, name) in symbols.iter().zip(places) {
        writer.write_symbol(&Sym {
            name: Some(name),
            section: Some(text),
            st_info: elf::STB_GLOBAL << 4 | elf::STT_FUNC,
            st_other: elf::STV_DEFAULT,
            st_shndx: 0,
            st_value: symbol.start,
            st_size: symbol.end - symbol.start,
        });
    }
    writer.write_strtab();
    writer.write_shstrtab();
    writer.write_null_section_header();
    writer.write_section_header(&SectionHeader {
        name: Some(text_name),
        sh_type: elf::SHT_NOBITS,
        sh_flags: (elf::SHF_ALLOC | elf::SHF_EXECINSTR).into(),
        sh_addr: start,
        sh_offset: 0,
        sh_size: length,
        sh_link: 0,
        sh_info: 0,
        sh_addralign: 1,
        sh_entsize: 0,
    });
    // All but the null symbol are global.
    writer.write_symtab_section_header(1);
    writer.write_strtab_section_header();
    writer.write_shstrtab_section_header();
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::symbols::SymbolTable;
    use object::{Object, ObjectSymbol};

    #[test]
    fn the_names_are_read_back() {
        let text = "0000000000200000\t0000000000200010\tg\t<a as b>::start\n\
                    0000000000200020\t0000000000200040\tg\tinner\n";
        let table = SymbolTable::from_text(text).unwrap();
        let bytes = file(0x20_0000, 0x40, table.symbols()).unwrap();
        let elf = object::File::parse(&bytes[..]).unwrap();
        let names: Vec<_> = elf
            .symbols()
            .map(|symbol| (symbol.name().unwrap(), symbol.address(), symbol.size()))
            .collect();
        assert_eq!(
            names,
            [
                ("<a as b>::start", 0x20_0000, 0x10),
                ("inner", 0x20_0020, 0x20)
            ]
        );
        assert_eq!(elf.architecture(), object::Architecture::S390x);
    }
}
