//! Accesses by random translation tables, for comparison line by line.
//!
//! The program makes *blocks*: random tables of all types (with invalid and wrong entries, short tables, every
//! protection bit, page frames in prefix areas, tables and frames beyond the end of storage), six address spaces made
//! of them, and 512 *steps* with them. A step loads sixteen registers with addresses in the spaces, and a random PSW
//! (address space, DAT, state, addressing mode) that designates a few random instructions somewhere in them. A
//! supervisor call or the first exception ends the step. Its registers, old PSW, length, code and identification go
//! into the digest of the block, and so do the contents of storage at the end of the block. Between steps tables are
//! changed and purged in every possible way, and control registers and prefixes are set. With two CPUs either may
//! make each step and each change.
//!
//! The program does not know which results are right: with the same seed it must print the same on bare QEMU and
//! above the machine. So it keeps to what both can do. Where QEMU does less than the architecture, the program leaves
//! the case out or does more than it would have to:
//!
//! | what QEMU does | what is done here |
//! |---|---|
//! | IPTE with an address that is more than a page index purges that page, not the other pages that use the entry | the bits that do not matter are zeros; above the machine they are random |
//! | SPX purges the two prefix areas only, as real and not as virtual pages | PTLB follows; above the machine it does not |
//! | TPROT is not privileged; MVCOS, MVCP and MVCS never complete in the problem state | they are issued in the supervisor state only |
//! | an instruction that cannot be fetched for instruction-execution protection has length 2 | length and address of such an old PSW are put together into the instruction's address |
//! | an EXECUTE whose target cannot be fetched, or whose target meets an exception, may have length 2 | above the machine it has its own, so the length of what may be such an exception is left out |
//! | storage keys are kept, and not tested | all are those that storage-protection override lets every key access |
//! | SACF completes with a zero in the secondary-space control | that is a one |
//! | the addresses of tables are absolute, not real; either is permitted | no table is in a prefix area |
//! | IPTE of the page that it stands in lets what follows it be executed | tables are changed with DAT off |
//! | an instruction that stores many bytes (MVC, MVPG) makes it forget the text at the first of them only (7.2) | text is not changed, only data beside it; there is no MVPG |
//! | EXECUTE takes a target at an odd address (7.2) | its address is even |
//! | the instruction address does not wrap in the 24- and 31-bit addressing modes when it is stored, and a page beyond the end of the address space is not purged with the one at the beginning | no instruction crosses a boundary of pages, and none stands in the last page |
//! | LURA and STURA take any address | it is on a boundary |
//! | CSP and CSPG fetch before they store, so that what they meet first differs | they meet no exception |
//! | LRA and LRAG have condition code 3 for all that is no address, and translate nothing with DAT off | LRAG is looked at, with DAT on, for whether there is an address, and which |
//! | CLC of 1, 2, 4 or 8 bytes has spoilt the condition code of what came before it when its second operand cannot be fetched | it compares 7 bytes |
//! | there is no access-register mode, no enhanced DAT, no IPTE range, no CRDTE, no STRAG | they do not occur |
//! | EPSW shows an earlier condition code | it stands where that is the present one; and in the supervisor state, because the machine lets it show its own masks in the other |

use crate::insn::storage::sske;
use crate::sccb::storage_end;
use crate::workload::text::Generator;
use crate::{println, smp};

mod cpus;
mod step;
mod tables;
mod text;

use step::{Step, Trial};
use tables::World;

/// Steps of a block.
const STEPS: u64 = 512;

/// The parameters, which the starter of the program writes into its file behind the mark.
#[repr(C)]
struct Parameters {
    mark: [u8; 24],
    /// Not zero.
    seed: u64,
    blocks: u64,
    /// The number of a block whose steps are printed; there is no block 0.
    traced: u64,
    /// Not zero: one page frame has instructions that the machine replaces.
    replaced: u64,
    /// Not zero: purges only what the architecture requires.
    architected: u64,
}

#[used]
static mut PARAMETERS: Parameters = Parameters {
    mark: *b"random translations from",
    seed: 1,
    blocks: 100,
    traced: 0,
    replaced: 0,
    architected: 0,
};

/// A generator of choices.
pub(crate) struct Random(Generator);

impl Random {
    /// A number below `n`.
    fn below(&mut self, n: u64) -> u64 {
        (self.0.next() >> 20) % n
    }

    /// Whether a case occurs that has one chance in `n`.
    fn one_in(&mut self, n: u64) -> bool {
        self.below(n) == 0
    }

    /// One of several.
    fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.below(from.len() as u64) as usize]
    }

    /// Eight bytes of data. No instruction begins with any of them.
    fn data(&mut self) -> u64 {
        let r = self.0.next();
        (0..8).fold(0, |all, n| {
            all << 8 | [0_u64, 2, 3, 0][(r >> (20 + 2 * n)) as usize & 3]
        })
    }
}

/// A sum that depends on every bit and its place.
struct Digest(u64);

impl Digest {
    fn add(&mut self, value: u64) {
        self.0 = (self.0 ^ value)
            .wrapping_mul(0x9E37_79B9_7F4A_7C15)
            .rotate_left(23);
    }
}

/// Addresses beyond the end of storage, relative to that end, which differs between machines.
fn told(value: u64, end: u64) -> u64 {
    if (end..end + (1 << 20)).contains(&value) {
        value - end + 0xE0D0_0000
    } else {
        value
    }
}

/// Performs all blocks.
pub fn perform_all() {
    // SAFETY: only read, in one place.
    let parameters = unsafe { (&raw const PARAMETERS).read_volatile() };
    let end = storage_end() as u64;
    let cpus = smp::count();
    if cpus > 1 {
        cpus::start();
    }
    for block in (0..end).step_by(4096) {
        sske(tables::STORAGE_KEY, block);
    }
    let mut random = Random(Generator::new(parameters.seed));
    tables::prepare(&mut random, parameters.replaced != 0);
    println!(
        "seed {}, {} blocks of {STEPS} steps, CPUs: {cpus}",
        parameters.seed, parameters.blocks
    );
    let (mut steps, mut completed, mut accesses) = (0_u64, 0_u64, 0_u64);
    for block in 1..=parameters.blocks {
        let mut random = Random(Generator::new(
            parameters.seed.wrapping_mul(0x1_0000_0001) ^ block << 16,
        ));
        for _ in 0..4 {
            random.0.next();
        }
        let traced = block == parameters.traced;
        let mut digest = Digest(block);
        let mut world = World::new(&mut random, end, cpus, parameters.architected != 0);
        if traced {
            world.print();
        }
        let (mut ended, mut made) = (0, 0);
        for number in 0..STEPS {
            world.change(&mut random, traced.then_some(number));
            let step = Step::choose(&mut random, &mut world);
            let Trial { outcome, cpu, .. } = step.perform();
            for value in outcome.told(end) {
                digest.add(value);
            }
            ended += u64::from(outcome.has_completed());
            made += outcome.accesses();
            if traced {
                println!(
                    "guess {:x?}",
                    step.guess(&world)
                        .filter(|&at| at < end)
                        .map(|at| (told(at, end), tables::load(at & !7) >> 32))
                );
                println!("step {number} on CPU {cpu}: {:x?}", step.told(end));
                let mut storage = Digest(0);
                world.sum(|value| storage.add(value));
                println!("  ended by {:x?}", outcome.told(end));
                println!("  storage {:x}", storage.0);
            }
        }
        world.sum(|value| digest.add(value));
        println!("block {block}: {:016x}, {ended} completed", digest.0);
        steps += STEPS;
        completed += ended;
        accesses += made;
    }
    cpus::rest();
    println!("{steps} steps, {completed} completed, accesses: {accesses}");
}
