//! `dasd`: a DASD of fixed blocks (FBA), as Hercules has it: a file of blocks of 512 bytes.
//!
//! | block | content |
//! |---|---|
//! | 0 | the IPL record, the rest of the first channel program, and the program that starts the second |
//! | 1 … | the second channel program, with its parameters |
//! | behind | what it loads |
//!
//! The IPL reads 24 bytes of block 0. The first CCW reads all of it once more, to [`COPY`], and the second transfers to what came
//! there: LOCATE and READ of the second channel program. That one begins with DEFINE EXTENT, and then has LOCATE
//! and READ in turn. The commands and their parameters are those of the IBM 3370 (GA26-1657): DEFINE EXTENT takes 16 bytes (the
//! mask, then the first block of the extent on the device, and its first and last block as LOCATE counts them), LOCATE 8
//! (the operation, the number of blocks at 2, the first block at 4). READ IPL opens the whole device.

use anyhow::{Context, Result};

use super::{
    Carried, File, Files, Form,
    channel::{self, Ccw, Program, command, flag},
    flat, hercules,
};

const BLOCK: usize = 512;
/// Where block 0 is read to once more. The machine clears this storage.
const COPY: u32 = 0x1000;
/// Where the second channel program is read to.
const PROGRAM: u32 = 0x2000;
/// Its length, at most: what one CCW can read.
const LONGEST_PROGRAM: usize = 127 * BLOCK;
/// What one CCW of it reads.
const READ_AT_ONCE: usize = 64 * BLOCK;

const READ_BLOCKS: u8 = 0x42;
const LOCATE: u8 = 0x43;
const DEFINE_EXTENT: u8 = 0x63;

/// The operation of LOCATE for a read.
const TO_READ: u8 = 0x06;
/// The mask of DEFINE EXTENT: no writes.
const NO_WRITES: u8 = 0x40;

/// The DASD, and what Hercules reads beside it.
pub fn files(elf: &[u8], carried: &Carried) -> Result<Files> {
    const NAME: &str = "millimeter.fba";
    let main = File {
        name: NAME,
        bytes: dasd(elf, carried)?,
    };
    let device = format!("0120 3370 {NAME}\n");
    Ok((main, hercules::files(carried, &device, "0120")))
}

/// A read of one extent of blocks to storage.
struct Read {
    block: u32,
    bytes: u16,
    address: u32,
}

fn dasd(elf: &[u8], carried: &Carried) -> Result<Vec<u8>> {
    let image = flat::flatten(elf)?;
    let parts = flat::contents(flat::flatten(elf)?, carried);
    let reads: usize = parts
        .iter()
        .map(|part| part.bytes.len().div_ceil(READ_AT_ONCE))
        .sum();
    let length = program_length(reads);
    if length > LONGEST_PROGRAM {
        return Err(carried.too_large(
            Form::Dasd,
            &format!(
                "it takes {reads} reads of {READ_AT_ONCE} bytes, and an IPL has room for {}",
                (LONGEST_PROGRAM - program_length(0)) / (program_length(1) - program_length(0))
            ),
            "choose the form ins",
        ));
    }
    let program_blocks = length.div_ceil(BLOCK);
    let mut data = Vec::new();
    let mut list = Vec::new();
    for part in &parts {
        for (number, bytes) in part.bytes.chunks(READ_AT_ONCE).enumerate() {
            list.push(Read {
                block: (1 + program_blocks + data.len() / BLOCK) as u32,
                bytes: bytes.len() as u16,
                address: u32::try_from(part.address + (number * READ_AT_ONCE) as u64)
                    .ok()
                    .filter(|address| *address < 1 << 31)
                    .context("a part of the guest is staged above 2 GiB; give it less storage")?,
            });
            data.extend(bytes);
            data.resize(data.len().next_multiple_of(BLOCK), 0);
        }
    }
    let blocks = 1 + program_blocks + data.len() / BLOCK;
    let mut program = second_program(&list, blocks as u32);
    program.resize(program_blocks * BLOCK, 0);
    let mut dasd = first_block(elf, &image, program_blocks)?;
    dasd.extend(program);
    dasd.extend(data);
    Ok(dasd)
}

/// The length of a channel program with so many reads, and its parameters.
const fn program_length(reads: usize) -> usize {
    (1 + 2 * reads) * 8 + 16 + 8 * reads
}

/// The channel program of the format 1, followed by its parameters.
fn second_program(reads: &[Read], blocks: u32) -> Vec<u8> {
    let extent = PROGRAM + (1 + 2 * reads.len() as u32) * 8;
    let mut ccws = vec![Ccw {
        command: DEFINE_EXTENT,
        flags: flag::CHAIN,
        count: 16,
        address: extent,
    }];
    let mut parameters = vec![NO_WRITES, 0, 0, 0];
    parameters.extend(
        [0, 0, blocks - 1]
            .iter()
            .flat_map(|word| word.to_be_bytes()),
    );
    for (number, read) in reads.iter().enumerate() {
        let is_last = number + 1 == reads.len();
        ccws.push(Ccw {
            command: LOCATE,
            flags: flag::CHAIN,
            count: 8,
            address: extent + parameters.len() as u32,
        });
        parameters.extend(locate(read.block, usize::from(read.bytes).div_ceil(BLOCK)));
        ccws.push(Ccw {
            command: READ_BLOCKS,
            flags: flag::ANY_LENGTH | if is_last { 0 } else { flag::CHAIN },
            count: read.bytes,
            address: read.address,
        });
    }
    let mut program: Vec<u8> = ccws.into_iter().flat_map(Ccw::format_1).collect();
    program.extend(parameters);
    program
}

/// The parameters of LOCATE for reading so many blocks.
fn locate(block: u32, count: usize) -> [u8; 8] {
    let [count_high, count_low] = (count as u16).to_be_bytes();
    let [a, b, c, d] = block.to_be_bytes();
    [TO_READ, 0, count_high, count_low, a, b, c, d]
}

/// Block 0. In it are, in this order: the IPL record, two CCWs, the parameters of the first, and the program.
fn first_block(elf: &[u8], image: &flat::Flat, program_blocks: usize) -> Result<Vec<u8>> {
    const MORE: u32 = 24;
    const PARAMETERS: u32 = MORE + 16;
    const LOADER: u32 = PARAMETERS + 8;
    let again = Ccw {
        command: command::READ,
        flags: flag::CHAIN | flag::ANY_LENGTH,
        count: BLOCK as u16,
        address: COPY,
    };
    let mut block = channel::ipl_record(COPY + LOADER, [again, Ccw::transfer(COPY + MORE)]);
    let more = [
        Ccw {
            command: LOCATE,
            flags: flag::CHAIN,
            count: 8,
            address: COPY + PARAMETERS,
        },
        Ccw {
            command: READ_BLOCKS,
            flags: flag::ANY_LENGTH,
            count: (program_blocks * BLOCK) as u16,
            address: PROGRAM,
        },
    ];
    block.extend(more.into_iter().flat_map(Ccw::format_0));
    block.extend(locate(1, program_blocks));
    let program = Program {
        address: PROGRAM,
        length: (program_blocks * BLOCK) as u32,
        has_successors: false,
    };
    block.extend(channel::loader(elf, image, program)?);
    anyhow::ensure!(
        block.len() <= BLOCK,
        "the loader for channel programs has {} bytes too many for a block; build the image again",
        block.len() - BLOCK
    );
    block.resize(BLOCK, 0);
    Ok(block)
}

#[cfg(test)]
mod tests {
    use super::{super::test_image::carried, *};

    #[test]
    fn the_second_program_reads_each_extent_to_its_address() {
        let reads = [
            Read {
                block: 2,
                bytes: 0x8000,
                address: 0x2_0000,
            },
            Read {
                block: 66,
                bytes: 1000,
                address: 0x100_0000,
            },
        ];
        let program = second_program(&reads, 68);
        assert_eq!(program.len(), program_length(2));
        let ccw = |number: usize| &program[8 * number..8 * number + 8];
        assert_eq!(ccw(0), [0x63, 0x40, 0, 16, 0, 0, 0x20, 40]);
        assert_eq!(ccw(3), [0x43, 0x40, 0, 8, 0, 0, 0x20, 64]);
        assert_eq!(ccw(4), [0x42, 0x20, 3, 0xE8, 1, 0, 0, 0]);
        assert_eq!(program[40..44], [0x40, 0, 0, 0]);
        assert_eq!(program[52..56], 67u32.to_be_bytes());
        assert_eq!(program[64..72], [6, 0, 0, 2, 0, 0, 0, 66]);
    }

    #[test]
    fn a_guest_that_takes_too_many_reads_is_refused_with_a_remedy() {
        let mut large = carried();
        large.parts[1].bytes = vec![0; 96 << 20];
        let elf = super::super::test_image::elf();
        let error = dasd(&elf, &large).unwrap_err().to_string();
        for word in ["guest g", "form dasd", "reads of 32768", "the form ins"] {
            assert!(error.contains(word), "{error}");
        }
    }
}
