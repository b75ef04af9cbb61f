//! Machines above the machine: the guest of a machine is Millimeter again, and has a guest of its own.
//!
//! The image is a guest as any other. What QEMU stages for the outer machine, the outer machine has in its guest's
//! storage for the inner one: the loader block and the guest's bytes. The inner machine's link crosses the console of the
//! outer machine's guest, so its frames are in the frames of the outer one.

use std::path::Path;

use anyhow::Result;
use link::loader::{BLOCK_ADDRESS, BLOCK_LENGTH};
use link::state::Mode;
use zerocopy::IntoBytes;

use crate::{
    machine::{
        guest::{Guest, Piece},
        stage::{self, Stage},
    },
    numbers::quantities::{LOAD_LIMIT, Storage},
    options::{RunOptions, Unserved, emulator::Emulator},
    symbols::{Symbol, SymbolTable},
};

/// Storage of an outer machine that is neither its HSA nor an inner machine's, beside what it loads.
const SPARE: u64 = 4 << 20;

/// What an image takes when it is kept to be loaded anew.
const KEPT_IMAGE: u64 = 2 << 20;

/// A machine's guest, and the options of its run.
#[derive(Clone, Debug)]
pub struct Level {
    /// The guest: the next machine, or the run's guest.
    pub guest: Guest,
    /// The options.
    pub options: RunOptions,
}

/// The levels of a run above the outermost machine, from below: the guest of each is the machine of the next.
pub fn levels(guest: Guest, image: &Path, options: &RunOptions) -> Result<Vec<Level>> {
    let cpus = options.cpus_for(&guest.name, guest.cpus)?;
    let lengths = guest.pieces.iter().map(|piece| piece.length);
    let loaded = lengths.fold(SPARE, u64::saturating_add);
    let mut storages = vec![options.storage];
    for depth in (0..u64::from(options.nested)).rev() {
        let storage = storages[storages.len() - 1].0;
        let needed = stage::room_for_hsa(storage, cpus.into()) + depth * KEPT_IMAGE;
        let rest = storage.saturating_sub(loaded.saturating_add(needed)) >> 20 << 20;
        storages.push(Storage(rest));
    }
    let innermost = options.nested as usize;
    // The clock of a machine stands still while the one below works.
    let level = |guest, number: usize| {
        let mut options = RunOptions {
            storage: storages[number],
            cpus: Some(cpus),
            still_clock: number != innermost,
            // Counting takes instructions, so a machine that is measured does not.
            count_paths: number == 0,
            nested: 0,
            // Only the machine right below the guest counts by the facility of the one below it.
            mode: match options.mode {
                Mode::Native if number != options.nested as usize => Mode::Exact,
                mode => mode,
            },
            ..options.clone()
        };
        if number != innermost {
            // What the operator says is about the guest, and a machine has no back chain.
            options.operator.clear();
            options.when_waiting.clear();
            (options.stacks, options.stack_copy) = (None, 0);
        }
        Level { guest, options }
    };
    let mut levels = vec![level(guest, innermost)];
    for number in (0..innermost).rev() {
        let machine = machine(image, &levels[levels.len() - 1])?;
        levels.push(level(machine, number));
    }
    levels.reverse();
    Ok(levels)
}

/// The image as a guest that has what it is given itself: its loader block and its guest's bytes.
fn machine(image: &Path, above: &Level) -> Result<Guest> {
    let plan = stage::plan(&above.guest, &above.options, &[], Stage::AboveGuest)?;
    let mut machine = Guest::load(image)?;
    machine.cpus = above.guest.cpus;
    machine.pieces.push(Piece {
        destination: BLOCK_ADDRESS,
        length: BLOCK_LENGTH.into(),
        bytes: plan.block.as_bytes().to_vec(),
    });
    let staged = plan.staged.into_iter().map(|(destination, bytes)| Piece {
        destination,
        length: bytes.len() as u64,
        bytes: bytes.to_vec(),
    });
    machine.pieces.extend(staged);
    Ok(machine)
}

/// Refuses what does not go together with machines above the machine.
pub fn check(options: &RunOptions) -> Result<()> {
    if options.nested == 0 {
        return Ok(());
    }
    let unserved = [
        Unserved::new(
            // A machine does not know of the hole that its own storage has then.
            options.storage.0 > LOAD_LIMIT,
            "more than 2G of storage",
            "choose less with --storage",
        ),
        Unserved::new(
            options.form.is_some(),
            "form of the image that is IPLed",
            "leave --ipl out",
        ),
        Unserved::new(
            !options.devices.is_empty(),
            "devices",
            "leave --qemu-arg out",
        ),
        Unserved::new(
            !options.script.is_empty(),
            "input while it goes on",
            "give the operator's commands with --operator",
        ),
        Unserved::new(
            options.exact_caches.is_some(),
            "a model of caches",
            "leave --exact-caches out",
        ),
        Unserved::new(
            options.below == Emulator::Hercules,
            "Hercules below it",
            "leave --below out",
        ),
        Unserved::new(
            options.again.is_some(),
            "a second look",
            "look at a run without --nested",
        ),
    ];
    Unserved::refuse(&unserved, |Unserved { what, remedy, .. }| {
        format!("a run with --nested has no {what}; {remedy}")
    })
}

/// The routines of a machine that is a guest: the image where it was loaded and where it has moved to, and its own guest.
/// Where the guest's are, those of the loaded image are left out.
pub fn all_symbols(image: &SymbolTable, guest: &SymbolTable, moved_to: Option<u64>) -> SymbolTable {
    let is_free = |symbol: &&Symbol| {
        let meets = |other: &Symbol| other.start < symbol.end && symbol.start < other.end;
        !guest.symbols().iter().any(meets)
    };
    let loaded = image.symbols().iter().filter(is_free).cloned();
    let mut symbols: Vec<Symbol> = guest.symbols().iter().cloned().chain(loaded).collect();
    if let (Some(base), Some(first)) = (moved_to, image.symbols().first()) {
        let by = base.wrapping_sub(first.start);
        symbols.extend(image.symbols().iter().map(|symbol| Symbol {
            start: symbol.start.wrapping_add(by),
            end: symbol.end.wrapping_add(by),
            ..symbol.clone()
        }));
    }
    SymbolTable::of(symbols)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::building::forms::Form;

    fn table(module: &str, routines: &[(u64, u64)]) -> SymbolTable {
        let symbols = routines.iter().map(|&(start, end)| Symbol {
            start,
            end,
            module: module.to_owned(),
            name: format!("at {start:X}"),
        });
        SymbolTable::of(symbols.collect())
    }

    #[test]
    fn the_routines_of_a_machine_are_where_it_is_loaded_and_where_it_has_moved_to() {
        let image = table("millimeter", &[(0x2_0000, 0x2_0100), (0x2_0100, 0x2_0200)]);
        let guest = table("g", &[(0x2_0180, 0x2_0300)]);
        let names = all_symbols(&image, &guest, Some(0x100_0000));
        let module = |at| names.find(at).map(|symbol| &symbol.module[..]);
        assert_eq!(module(0x2_0010), Some("millimeter"));
        // The guest is there when the machine no longer is.
        assert_eq!(module(0x2_0110), None);
        assert_eq!(module(0x2_0190), Some("g"));
        assert_eq!(module(0x100_0110), Some("millimeter"));
        assert_eq!(names.find(0x100_0110).unwrap().name, "at 20100");
        assert_eq!(all_symbols(&image, &guest, None).find(0x100_0110), None);
    }

    #[test]
    fn what_a_machine_above_the_machine_does_not_have_is_refused_with_a_remedy() {
        let mut options = RunOptions {
            nested: 1,
            ..RunOptions::default()
        };
        assert!(check(&options).is_ok());
        options.operator.push("STATUS".to_owned());
        options.stacks = Some(16);
        assert!(check(&options).is_ok());
        options.form = Some(Form::Bios);
        let refusal = check(&options).unwrap_err().to_string();
        assert!(
            refusal.contains("IPLed") && refusal.contains("leave --ipl out"),
            "{refusal}"
        );
        options.nested = 0;
        assert!(check(&options).is_ok());
    }
}
