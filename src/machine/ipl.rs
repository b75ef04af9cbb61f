//! From the image's entry to a running guest, or to the operator's prompt.

mod caches;
mod calibrate;
mod guest;
mod probe;
mod quirks;
mod staged;

use crate::arch::address::{Absolute, PREFIX_AREA};
use crate::arch::facility::FacilityList;
use crate::guest::hardware::Hardware;
use crate::link::loader::{self, LoaderBlock, flags};
use crate::machine::hardware::hsa::Plan;
use crate::machine::hardware::instruction;
use crate::machine::hardware::sclp::{self, ConsoleKind};
use crate::machine::io::failure::{WaitState, refuse, stop};
use crate::machine::io::{console, failure};
use crate::machine::native::Native;
use crate::machine::state::heap;
use crate::machine::{operator, trap};

/// Facilities of the machine below without which no guest can run, by bit and name.
const NEEDED: [(u32, &str); 5] = [
    (2, "z/Architecture architectural mode"),
    (7, "store facility list extended"),
    (21, "extended immediate"),
    (25, "store clock fast"),
    (34, "general-instructions extension"),
];

/// Where the image belongs, and the storage that the machine below reported.
#[repr(C)]
struct Home {
    base: u64,
    storage: u64,
    increment: u64,
}

/// Called at the place where the image was loaded: returns where in the HSA it belongs.
#[unsafe(no_mangle)]
extern "C" fn choose_home(home: &mut Home) {
    let needs = staged::needs();
    let plan = sclp::storage().and_then(|(storage, increment)| {
        let base = Plan::new(storage, increment, needs)?.base;
        Some(Home {
            base,
            storage,
            increment,
        })
    });
    match plan {
        Some(plan) => *home = plan,
        None => stop(WaitState::Storage),
    }
}

/// Called when the image is in the HSA; `from` is where it was loaded.
#[unsafe(no_mangle)]
extern "C" fn ipl(from: u64, storage: u64, increment: u64) -> ! {
    let needs = staged::needs();
    let Some(plan) = Plan::new(storage, increment, needs) else {
        stop(WaitState::Storage)
    };
    trap::prepare_lowcore(&plan.cpus[0], core::ptr::null_mut());
    // SAFETY: the lowcore has just been prepared; the heap's storage is the plan's.
    unsafe {
        instruction::spx(plan.cpus[0].prefix.address() as u32);
        heap::give(plan.heap.0, plan.heap.1);
    }
    crate::machine::hardware::wait::load_cr0(0);
    let kind = console::open();
    let mut native = Native::new(plan.cpus[0].prefix, 0, None);
    let mut bytes = [0; loader::BLOCK_LENGTH as usize];
    if let Some(block) = staged::guest_storage(&plan, loader::BLOCK_ADDRESS, bytes.len() as u64) {
        native.load(block.start(), &mut bytes);
    }
    let block = if bytes[..8] == loader::MAGIC.to_be_bytes() {
        Some(LoaderBlock::parse(&bytes))
    } else {
        None
    };
    // A host that reads frames has written the block even if the block is refused.
    let wanted = match &block {
        Some(Ok(block)) => block.has(flags::FRAMES),
        Some(Err(_)) => true,
        None => false,
    };
    let framed = kind != ConsoleKind::None && wanted;
    if framed {
        console::use_frames();
    } else {
        banner(&plan, storage);
    }
    let block = match block {
        Some(Ok(block)) => Some(block),
        Some(Err(error)) => refuse(
            WaitState::LoaderBlock,
            format_args!(
                "the loader block at {:X} is refused: {error}",
                loader::BLOCK_ADDRESS
            ),
        ),
        None => None,
    };
    let image = clear_origin(&mut native, from, &plan);
    let facilities = FacilityList(instruction::stfle());
    let lacking = report_lacking(&facilities);
    match block {
        Some(block) if block.has(flags::START) => {
            if lacking {
                refuse(
                    WaitState::Facilities,
                    format_args!("the machine below lacks facilities that a guest needs"),
                );
            }
            guest::start(block, plan, native, facilities, image)
        }
        _ => operator::prompt(lacking),
    }
}

/// The build, as the tool names it that builds the image.
const BUILD: &str = match option_env!("MILLIMETER_BUILD") {
    Some(build) => build,
    None => "unknown",
};

/// The first lines on a text console.
fn banner(plan: &Plan, storage: u64) {
    console::say(format_args!(
        "Millimeter {} (build {}): the machine under the machine\n\
         storage {} MiB, guest storage to {} MiB, HSA {:X} to {:X}\n",
        env!("CARGO_PKG_VERSION"),
        BUILD,
        storage >> 20,
        plan.guest.end() >> 20,
        plan.base,
        plan.end
    ));
}

/// Names the needed facilities that are absent; returns whether there are any.
fn report_lacking(facilities: &FacilityList) -> bool {
    let mut lacking = false;
    for (bit, name) in NEEDED {
        if !facilities.has(bit) {
            lacking = true;
            console::say(format_args!("This machine lacks facility {bit}, {name}.\n"));
        }
    }
    lacking
}

/// Clears guest storage where the image was loaded, and returns where that is.
fn clear_origin(native: &mut Native, from: u64, plan: &Plan) -> (Absolute, Absolute) {
    let (base, _, end) = failure::image();
    let length = end - base;
    if from < plan.base {
        staged::fill_zero(native, plan, from, length.min(plan.base - from));
    }
    staged::fill_zero(native, plan, 0, PREFIX_AREA);
    (Absolute(from), Absolute(from).offset(length))
}
