//! `card`: a deck of cards of 80 bytes, for the reader of Hercules (`ebcdic`) or of z/VM.
//!
//! | cards | content |
//! |---|---|
//! | 1 | the IPL record: a PSW, a CCW that reads card 2, and a transfer to it |
//! | 2 | CCWs that read the next three or four cards |
//! | 3 … | the program that starts channel programs |
//! | then | a channel program |
//! | behind | nine cards to load, and the next channel program, again and again |
//! | last | zeros |
//!
//! A channel program is a card with ten CCWs: nine read a card each to where it belongs, and the tenth, its last, reads the next
//! channel program over this one. So they need 80 bytes of storage however long the deck is, and no channel program
//! changes what of it is still to come.

use anyhow::{Context, Result};

use super::{
    Carried, File, Files,
    channel::{self, Ccw, Program, command, flag},
    flat, hercules,
};

const CARD: usize = 80;
/// The cards that one channel program loads.
const CARDS_AT_ONCE: usize = 9;
/// Where card 2 is read to. The machine clears all this storage.
const FIRST_PROGRAM: u32 = 0x1000;
/// Where the channel programs behind it are read to.
const SECOND_PROGRAM: u32 = 0x1080;
/// Where the program is read to.
const LOADER: u32 = 0x1100;

/// The deck, and what Hercules reads beside it.
pub fn files(elf: &[u8], carried: &Carried) -> Result<Files> {
    const NAME: &str = "millimeter.deck";
    let image = flat::flatten(elf)?;
    let program = Program {
        address: SECOND_PROGRAM,
        length: CARD as u32,
        has_successors: true,
    };
    let loader = channel::loader(elf, &image, program)?;
    let parts = flat::contents(image, carried);
    let mut deck = first_cards(&loader);
    let mut cards = Vec::new();
    for part in &parts {
        for (number, bytes) in part.bytes.chunks(CARD).enumerate() {
            let address = part.address + (number * CARD) as u64;
            let address = u32::try_from(address).ok();
            let address = address
                .filter(|address| *address < 1 << 31)
                .context("a part of the guest is staged above 2 GiB; give it less storage")?;
            cards.push((address, bytes));
        }
    }
    deck.extend(all_cards(&cards));
    let main = File {
        name: NAME,
        bytes: deck,
    };
    let device = format!("000C 3505 {NAME} ebcdic\n");
    Ok((main, hercules::files(carried, &device, "000C")))
}

fn read(count: usize, address: u32, is_chained: bool) -> Ccw {
    Ccw {
        command: command::READ,
        flags: if is_chained { flag::CHAIN } else { 0 }
            | if count < CARD { flag::ANY_LENGTH } else { 0 },
        count: count as u16,
        address,
    }
}

/// Puts zeros behind to the end of a card.
fn punched(mut bytes: Vec<u8>) -> Vec<u8> {
    bytes.resize(bytes.len().next_multiple_of(CARD), 0);
    bytes
}

/// The cards up to the second channel program.
fn first_cards(loader: &[u8]) -> Vec<u8> {
    let record = [
        read(CARD, FIRST_PROGRAM, true),
        Ccw::transfer(FIRST_PROGRAM),
    ];
    let mut deck = punched(channel::ipl_record(LOADER, record));
    let loader = punched(loader.to_vec());
    let mut program: Vec<u8> = (0..loader.len())
        .step_by(CARD)
        .flat_map(|at| read(CARD, LOADER + at as u32, true).format_0())
        .collect();
    program.extend(read(CARD, SECOND_PROGRAM, false).format_0());
    deck.extend(punched(program));
    deck.extend(loader);
    deck
}

/// The cards to load, with a channel program before each nine of them, and zeros behind.
fn all_cards(cards: &[(u32, &[u8])]) -> Vec<u8> {
    let mut deck = Vec::new();
    for group in cards.chunks(CARDS_AT_ONCE) {
        let reads = group
            .iter()
            .map(|(address, bytes)| read(bytes.len(), *address, true));
        let next = read(CARD, SECOND_PROGRAM, false);
        let program = reads.chain([next]).flat_map(Ccw::format_1).collect();
        deck.extend(punched(program));
        for (_, bytes) in group {
            deck.extend(punched(bytes.to_vec()));
        }
    }
    deck.extend([0; CARD]);
    deck
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_channel_program_reads_nine_cards_and_its_successor() {
        let data = vec![7; 10 * CARD + 10];
        let cards: Vec<(u32, &[u8])> = (0u32..)
            .map(|number| 0x2_0000 + number * 80)
            .zip(data.chunks(CARD))
            .collect();
        let deck = all_cards(&cards);
        assert_eq!(deck.len(), (2 + 11 + 1) * CARD);
        let ccw = |card: usize, number: usize| {
            let at = card * CARD + 8 * number;
            &deck[at..at + 8]
        };
        assert_eq!(ccw(0, 8), [2, 0x40, 0, 80, 0, 2, 2, 0x80]);
        assert_eq!(ccw(0, 9), [2, 0, 0, 80, 0, 0, 0x10, 0x80]);
        // The last has 10 bytes.
        assert_eq!(ccw(10, 1), [2, 0x60, 0, 10, 0, 2, 3, 0x20]);
        assert_eq!(ccw(10, 2), [2, 0, 0, 80, 0, 0, 0x10, 0x80]);
        assert_eq!(deck[11 * CARD..12 * CARD], [7; CARD]);
        assert_eq!(deck[13 * CARD..], [0; CARD]);
    }

    #[test]
    fn the_first_cards_read_the_loader_and_one_card_of_the_program() {
        let deck = first_cards(&[9; 100]);
        assert_eq!(deck.len(), 4 * CARD);
        assert_eq!(deck[..8], 0x0008_0000_8000_1100u64.to_be_bytes());
        assert_eq!(deck[8..16], [2, 0, 0x10, 0, 0x40, 0, 0, 80]);
        assert_eq!(deck[16..24], [8, 0, 0x10, 0, 0, 0, 0, 0]);
        assert_eq!(deck[88..96], [2, 0, 0x11, 0x50, 0x40, 0, 0, 80]);
        assert_eq!(deck[96..104], [2, 0, 0x10, 0x80, 0, 0, 0, 80]);
    }
}
