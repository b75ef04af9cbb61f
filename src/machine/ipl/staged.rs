//! What the host staged: its length decides where the machine moves to. It is then moved into the HSA, so that
//! the guest can use all its storage and the program can be loaded more than once.

use crate::arch::address::{Absolute, PAGE, Real};
use crate::arch::psw::Psw;
use crate::guest::hardware::Hardware;
use crate::guest::state::loaded_program::{LoadedProgram, MOST_SEGMENTS, Segment};
use crate::guest::storage::{self, Piece};
use crate::link::loader::{self, KEPT_ALIGNMENT, LoaderBlock};
use crate::machine::hardware::hsa::{Needs, Plan};
use crate::machine::hardware::instruction;
use crate::machine::io::failure::{WaitState, refuse};
use crate::machine::native::Native;

const _: () = assert!(loader::MOST_SEGMENTS <= MOST_SEGMENTS);

/// How much room the run needs in the HSA: none without an acceptable loader block. Called while the prefix is
/// zero.
pub fn needs() -> Needs {
    // SAFETY: storage in which the host may have staged a block; nothing else is there, and any bytes are bytes
    // of a block to be checked.
    let bytes = unsafe {
        &*core::ptr::with_exposed_provenance::<[u8; loader::BLOCK_LENGTH as usize]>(
            loader::BLOCK_ADDRESS as usize,
        )
    };
    if bytes[..8] != loader::MAGIC.to_be_bytes() {
        return Needs::default();
    }
    LoaderBlock::parse(bytes).map_or_else(
        |_| Needs::default(),
        |block| Needs {
            cpus: block.cpus.get() as usize,
            caches: block.caches_length(),
            kept: block.kept_length(),
            devices: instruction::devices(),
            is_strict: block.has(loader::flags::STRICT),
            stops: block.executes_copies(),
        },
    )
}

/// Moves what is staged into the HSA, unless the host has staged it there; returns the program. The image was IPLed at
/// these addresses.
pub fn keep(
    block: &LoaderBlock,
    plan: &Plan,
    native: &mut Native,
    image: (Absolute, Absolute),
) -> LoadedProgram {
    let mut program = LoadedProgram::new(Psw {
        mask: block.psw_mask.get(),
        address: block.psw_address.get(),
    });
    let fits = |at: u64, length: u64| at.checked_add(length).is_some_and(|end| end <= plan.base);
    let mut kept = plan.kept;
    let mut is_direct = true;
    for (number, segment) in block.segments().iter().enumerate() {
        let (staged, staged_length) = (segment.staged.get(), segment.staged_length.get());
        let (destination, length) = (segment.destination.get(), segment.length.get());
        // The room in the HSA is by the same lengths, so that what begins there ends there.
        let is_kept = staged == kept;
        if !(is_kept || fits(staged, staged_length))
            || !fits(destination, length)
            || staged_length > length
        {
            refuse(
                WaitState::LoaderBlock,
                format_args!(
                    "segment {number} of the guest ({staged_length:X} bytes staged at {staged:X}, \
                     {length:X} at {destination:X}) does not fit below {:X}: give more storage",
                    plan.base
                ),
            );
        }
        let segment = Segment {
            destination: Absolute(destination),
            length,
            kept: Real(kept),
            kept_length: staged_length,
        };
        if !is_kept {
            copy(native, plan, staged, segment.kept, staged_length);
            fill_zero(native, plan, staged, staged_length);
        }
        is_direct &= is_kept;
        // A block has no more segments than a program.
        let _ = program.add(segment);
        kept += staged_length.next_multiple_of(KEPT_ALIGNMENT);
    }
    fill_zero(
        native,
        plan,
        loader::BLOCK_ADDRESS,
        loader::BLOCK_LENGTH.into(),
    );
    // A host that stages there begins the image itself. Elsewhere a loader of its own may have been before.
    program.executed = is_direct.then_some(image);
    program
}

/// Copies bytes of guest storage into the HSA, followed by zeros to the end of the page.
fn copy(native: &mut Native, plan: &Plan, from: u64, to: Real, length: u64) {
    let Some(staged) = guest_storage(plan, from, length) else {
        return;
    };
    let mut done = 0;
    let mut page = [0; PAGE as usize];
    while done < length {
        let count = (length - done).min(PAGE) as usize;
        native.load(staged.at(done), &mut page[..count]);
        page[count..].fill(0);
        native.hsa_store_page(to.offset(done), &page);
        done += PAGE;
    }
}

/// Fills a range of guest storage with zeros.
pub fn fill_zero(native: &mut Native, plan: &Plan, at: u64, length: u64) {
    let Some(mut rest) = guest_storage(plan, at, length) else {
        return;
    };
    while rest.length() != 0 {
        let at = rest.start();
        let part = rest.length().min(PAGE - at.absolute().byte_index());
        native.store(at, &[0; PAGE as usize][..part as usize]);
        rest = rest.after(part);
    }
}

/// A range of what becomes the guest's storage, if all of it lies there.
pub fn guest_storage(plan: &Plan, at: u64, length: u64) -> Option<Piece> {
    storage::checked_at_ipl(&plan.guest, Absolute(at), length)
}
