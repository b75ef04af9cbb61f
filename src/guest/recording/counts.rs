//! Exact counts: how often each instruction of the guest is executed, in a run that stays as it is.
//!
//! The guest runs freely up to a branch at which it stops, because the machine has replaced it in the page from which it is
//! fetched ([`copied`]), and the machine performs the branch. It knows *how many* instructions were executed since, by the clock,
//! and where the guest stopped. Both must agree with one way from the address at which the guest went on; what does not is not
//! counted, and is shown as unmatched.
//!
//! Behind a branch that the machine has performed, the guest is in a region (`counts/regions.rs`), which has all ways up to the next
//! stops. Elsewhere, and where the text needs it, it is in a chain of blocks (`counts/blocks.rs`), which has one way.
//!
//! A branch that leads back to where the guest has gone on is left as it is: the guest goes round freely, and the number of
//! instructions says how often.
//!
//! Calls and returns are among the branches that it counts; `counts/calls.rs` follows them.
//!
//! Any other trap comes as in a run without counting, and is handled as there. Instructions up to it are counted in the same
//! way. The CPU, its account and its shadow are those of that run: everything here is beside them, and the caller sets the
//! clock back by what it takes.
//!
//! Only what the machine can lose sight of is left out: the target of an EXECUTE that is a branch, and what a guest executes
//! that records events itself.

mod blocks;
mod calls;
mod regions;

use crate::delivery;
use crate::hardware::Hardware;
use crate::recording::copies::{
    self, Interrupted, Performed, Text, as_first_run, as_next, executed, is_replaced,
    leave_uncopied, missed_instruction, overhead, overhead_of_missed, perform, put_back, rest,
    spaces,
};
use crate::state::configuration::Configuration;
use crate::state::counting::{Context, Counting, Limits, Phase};
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::copied;
use arch::address::{PAGE, Real, Virtual};
use arch::interruption::ProgramInterruption;
use arch::psw::{ADDRESSING_64, DAT, PROBLEM, Psw};
use blocks::{Block, Each, Lasting};
use link::counts;

/// The most bytes between where the guest was interrupted and where its instructions end: an instruction that the machine
/// performs may be before or behind the address that the hardware shows, and the next one with it.
const NEAR: u64 = 16;

/// The counting within these limits begins. Nothing else uses the
/// [`COUNTING_STORAGE`](link::loader::COUNTING_STORAGE) bytes at `at`.
pub fn begin<H: Hardware>(hardware: &mut H, at: Real, limits: Limits) -> Counting {
    let counting = Counting::new(at, limits);
    let (zeros, length) = counting.copies.area.zeros();
    hardware.hsa_fill(zeros, length, 0);
    counting
}

/// A trap was handled as in a run without counting, and the guest goes on at the PSW of the CPU, for which the
/// hardware would have the PSW `real`. Counts what it has executed. What it executes now is counted if that `is_wanted`, and
/// its state is. Returns the PSW that the hardware is to have.
pub fn trapped<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    (real, is_wanted): (Psw, bool),
    each: &mut Each<'_>,
) -> Psw {
    let delivered = delivered(cpu, configuration, hardware);
    let also = also_performed(cpu, hardware, counting, delivered);
    let others = also.map_or(0, Also::instructions);
    arrive(cpu, hardware, counting, others, each);
    if let Some(Also::Return(texts)) = also {
        for (at, bytes) in texts {
            account_for_one(hardware, counting, at, bytes, each);
        }
    }
    counting.behind_branch = false;
    counting.copies.epoch += 1;
    let was_skipped = counting.phase != Phase::Counts;
    counting.phase = phase(counting, is_wanted, cpu.psw);
    calls::trapped(cpu, hardware, counting, (was_skipped, delivered), each);
    if let Some(Also::First(at, bytes)) = also {
        account_for_one(hardware, counting, at, bytes, each);
    }
    go_on(cpu, configuration, hardware, counting, cpu.psw, real, each)
}

/// How the guest is left that goes on at a PSW, if it `is_wanted` that it is counted.
fn phase(counting: &Counting, is_wanted: bool, next: Psw) -> Phase {
    if !(is_wanted && counting.limits.states.have(next)) {
        Phase::Rests
    } else if counting
        .limits
        .have(Virtual(next.address & next.address_mask()))
    {
        Phase::Counts
    } else {
        Phase::Waits
    }
}

/// Whether the guest would be near the instruction at which it was trapped if it went on at a PSW.
fn is_near(cpu: &Vcpu, psw: Psw) -> bool {
    let old = cpu.interruption.old;
    let mask = old.address_mask();
    let ahead = psw.address.wrapping_sub(old.address) & mask;
    ahead.min(ahead.wrapping_neg() & mask) <= NEAR
}

/// The old PSW of an interruption that the trap has caused, and the address in the new one.
fn delivered<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
) -> Option<(Psw, u64)> {
    if is_near(cpu, cpu.psw) {
        return None;
    }
    // The machine may have performed the first instruction of the handler.
    delivery::last(cpu, configuration, hardware, NEAR)
}

/// What the machine has performed in a trap in addition to the instruction that trapped (`millicode/fast_path.rs`): where each
/// instruction is, and its bytes.
#[derive(Clone, Copy, Debug)]
enum Also {
    /// The first instruction of the handler of an interruption.
    First(u64, u64),
    /// The branch to the prefix area and the LOAD PSW EXTENDED there, with which a control program returns to a program.
    Return([(u64, u64); 2]),
}

impl Also {
    const fn instructions(self) -> u64 {
        match self {
            Self::First(..) => 1,
            Self::Return(_) => 2,
        }
    }
}

/// The opcode of STORE CPU TIMER.
const STORE_CPU_TIMER: u64 = 0xB209;

/// What the machine has performed in the trap that it has just handled, in addition.
fn also_performed<H: Hardware>(
    cpu: &Vcpu,
    hardware: &H,
    counting: &Counting,
    delivered: Option<(Psw, u64)>,
) -> Option<Also> {
    if let Some((_, new)) = delivered {
        let bytes = cpu.psw.address.wrapping_sub(new);
        return (bytes != 0).then_some(Also::First(new, bytes));
    }
    if counting.phase != Phase::Counts || is_near(cpu, cpu.psw) {
        return None;
    }
    let old = cpu.interruption.old;
    let at = old.address & old.address_mask();
    if let Some(region) = counting.region {
        // The branch is where the region ends, and the one to which it leads was performed, too.
        let done = cpu
            .account
            .total()
            .wrapping_sub(counting.total + counting.done);
        let leaf = regions::leaf(hardware, counting, region, (at, done.wrapping_sub(1)))?;
        return returns(at, u16::from_be_bytes([leaf.text[2], leaf.text[3]]).into());
    }
    // Only after a STORE CPU TIMER, and the text is that of the copy, in which the first halfword of the branch is replaced.
    let copy = copied::last_found(&counting.copies, counting.space, Virtual(at))?;
    let halfword = |offset: u64| {
        let doubleword = hardware.hsa_load(copy.offset(offset & !7));
        doubleword >> (48 - 8 * (offset & 6)) & 0xFFFF
    };
    let offset = Virtual(at).byte_index();
    if !(4..PAGE - 2).contains(&offset) || halfword(offset - 4) != STORE_CPU_TIMER {
        return None;
    }
    returns(at, halfword(offset + 2))
}

/// The branch at an address, with this base and displacement, if it leads to the prefix area, and the instruction there.
fn returns(at: u64, target: u64) -> Option<Also> {
    let has_no_base = target >> 12 == 0;
    has_no_base.then_some(Also::Return([(at, 4), (target, 4)]))
}

/// One instruction with so many bytes, at an address in the program of the counting, was performed: counts it, or notes that it was to
/// be skipped.
fn account_for_one<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    at: u64,
    bytes: u64,
    each: &mut Each<'_>,
) {
    if counting.phase != Phase::Counts {
        counting.skipped = counting.skipped.wrapping_add(1);
        return;
    }
    let block = Block::single(counting.context, at, bytes);
    blocks::count_part(hardware, counting, &block, each);
    counting.counted += 1;
    counting.following.pass(1);
}

/// The guest goes on at a PSW, for which the hardware would have the PSW `real`, and is counted or skipped. Returns the PSW that
/// the hardware is to have.
fn go_on<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    next: Psw,
    real: Psw,
    each: &mut Each<'_>,
) -> Psw {
    match counting.phase {
        Phase::Counts => follow(cpu, configuration, hardware, counting, next, real, each),
        Phase::Waits => wait(cpu, configuration, hardware, counting, next, real),
        Phase::Rests => {
            counting.chain.clear();
            rest(cpu, hardware, &mut counting.copies, real)
        }
    }
}

/// The guest goes on at a PSW, for which the hardware would have the PSW `real`, and stops when it comes to a page that is counted.
/// Returns the PSW that the hardware is to have.
fn wait<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    next: Psw,
    real: Psw,
) -> Psw {
    counting.chain.clear();
    counting.region = None;
    if !copies::is_possible(cpu) {
        return rest(cpu, hardware, &mut counting.copies, real);
    }
    // Nothing is known of what it executes.
    counting.reads_clock = true;
    counting.space = spaces(cpu).0;
    let at = Virtual(next.address & next.address_mask());
    counting.behind_branch &= !copied::is_there(hardware, counting.space, at);
    leave_uncopied(cpu, configuration, hardware, &mut counting.copies, real)
}

/// The guest was interrupted only for the counts, with this old PSW, when it had executed so many instructions since the
/// machine left to it. Counts them. What it executes now is counted if that `is_wanted`, and its state is. Returns the PSW that
/// the hardware is to have.
pub fn interrupted<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    (old, executed, is_wanted): (Psw, u64, bool),
    each: &mut Each<'_>,
) -> Psw {
    let next = cpu.interrupted_psw(old);
    let phase = phase(counting, is_wanted, next);
    if (phase == Phase::Rests) == (counting.phase == Phase::Rests) {
        return old;
    }
    let done = executed.wrapping_sub(counting.done);
    account_for(hardware, counting, done, next, each);
    counting.done = executed;
    counting.phase = phase;
    if phase == Phase::Counts {
        calls::go_on(cpu, hardware, counting, next, None, each);
    }
    let real = as_first_run(cpu, old);
    go_on(cpu, configuration, hardware, counting, next, real, each)
}

/// An external interruption of the run has come, with this old PSW. After a branch from which the guest cannot go on, the run
/// without counting has the exception of that first: QEMU looks for the next instruction before it looks whether a timer is
/// due, but not after an instruction that traps. If it is so, returns the PSW with which the hardware is to try that.
pub fn look(counting: &mut Counting, old: Psw) -> Option<Psw> {
    let goes_on = counting.region.is_some() || !counting.chain.is_empty();
    if !counting.copies.is_on || !counting.behind_branch || goes_on {
        return None;
    }
    Some(copies::look(&mut counting.copies, old))
}

/// A program interruption has come, and nothing but the general registers and the clock has been stored. If it is for the
/// counts only, the guest goes on at the PSW that this returns for the hardware.
pub fn stopped<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    interrupted: &Interrupted,
    each: &mut Each<'_>,
) -> Option<(Psw, u64)> {
    if !counting.copies.is_on {
        return None;
    }
    let code = interrupted.code();
    if counting.phase == Phase::Waits {
        came(cpu, configuration, hardware, counting, interrupted, each)
    } else if code == ProgramInterruption::Operation.code() {
        if let Some(region) = counting.region
            && let Some(stopped) = at_leaf(
                cpu,
                configuration,
                hardware,
                counting,
                region,
                interrupted,
                each,
            )
        {
            return Some(stopped);
        }
        if let Some(region) = counting.region {
            regions::doubt(hardware, counting, region);
        }
        at_branch(cpu, configuration, hardware, counting, interrupted, each)
    } else {
        copies::missed(
            cpu,
            configuration,
            hardware,
            &mut counting.copies,
            interrupted,
        )
    }
}

/// The guest waits for a page that is counted, and an access exception has come. If it has shown only that the machine has not mapped a
/// page of instructions, the guest goes on: it is counted if the page is.
fn came<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    interrupted: &Interrupted,
    each: &mut Each<'_>,
) -> Option<(Psw, u64)> {
    let at = missed_instruction(interrupted)?;
    let of = counting.space;
    if !copied::is_there(hardware, of, at)
        || copied::is_uncopied(hardware, &counting.copies, of, at)
    {
        return None;
    }
    let copies = &mut counting.copies;
    let overhead = overhead_of_missed(cpu, configuration, hardware, copies, interrupted, at);
    if !counting.limits.have(at) {
        copied::uncopied_page(hardware, copies, of, at)?;
        // To map it may have made room, and the space may be another one.
        let real = leave_uncopied(cpu, configuration, hardware, copies, interrupted.old);
        return Some((real, overhead));
    }
    let account = &cpu.account;
    let span = account.ticks(account.left, account.entered);
    let executed = span.wrapping_sub(overhead);
    let next = cpu.interrupted_psw(interrupted.old);
    let done = executed.wrapping_sub(counting.done);
    account_for(hardware, counting, done, next, each);
    counting.done = executed;
    counting.behind_branch = false;
    // The instruction may begin before the page, or be the EXECUTE that leads to it.
    counting.phase = Phase::Counts;
    calls::go_on(cpu, hardware, counting, next, None, each);
    let real = as_first_run(cpu, interrupted.old);
    let real = follow(cpu, configuration, hardware, counting, next, real, each);
    Some((real, overhead))
}

/// The counting ends: gives everything to the host.
pub fn finish<H: Hardware>(
    cpu: &Vcpu,
    hardware: &mut H,
    counting: &mut Counting,
    each: &mut Each<'_>,
) {
    arrive(cpu, hardware, counting, 0, each);
    calls::give_all(hardware, counting, each);
    blocks::give_all(hardware, counting, each);
    regions::give_all(hardware, counting, each);
}

/// The guest goes on at a PSW, for which the hardware would have the PSW `real`. Finds the blocks that it comes to, and loads
/// what the hardware needs to stop at the end of the last one.
fn follow<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    next: Psw,
    real: Psw,
    each: &mut Each<'_>,
) -> Psw {
    counting.chain.clear();
    if !copies::is_possible(cpu) {
        return rest(cpu, hardware, &mut counting.copies, real);
    }
    let (of, _) = spaces(cpu);
    let place = regions::Place {
        of,
        mask: next.address_mask(),
    };
    let addressing = next.mask & ADDRESSING_64;
    if counting.addressing != addressing {
        counting.addressing = addressing;
        counting.copies.change();
    }
    counting.space = of;
    counting.from = next.address & place.mask;
    copies::leave(
        cpu,
        configuration,
        hardware,
        counting,
        real,
        |hardware, counting| {
            counting.chain.clear();
            counting.reads_clock = false;
            counting.region = None;
            let start = counting.from;
            match regions::enter(configuration, hardware, counting, &place, start, each) {
                Ok(region) => counting.region = Some(region),
                Err(lasting) => find_chain(configuration, hardware, counting, next, lasting, each),
            }
        },
    )
}

/// For which program the guest executes instructions, and in which state.
fn context(cpu: &Vcpu, next: Psw) -> Context {
    let mut state = 0;
    for (bit, what) in [(PROBLEM, counts::PROBLEM), (DAT, counts::DAT)] {
        if next.mask & bit != 0 {
            state |= what;
        }
    }
    let parameter = cpu.own.program_parameter();
    Context::new(parameter, cpu.control[4] as u16, state)
}

/// Finds the blocks from an address on, up to the first branch, or up to what the hardware will miss.
fn find_chain<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    next: Psw,
    lasting: Lasting,
    each: &mut Each<'_>,
) {
    let of = counting.space;
    let mask = next.address_mask();
    let (mut at, mut may_loop) = (next.address & mask, true);
    while !counting.chain.is_full() {
        let Some(page) = copied::page(
            configuration,
            hardware,
            &mut counting.copies,
            of,
            Virtual(at),
        ) else {
            return;
        };
        if at & 1 != 0 {
            // No instruction is there. QEMU 7.2 executes what is there all the same, and then it is not counted.
            return;
        }
        let beyond = Virtual(at.wrapping_add(PAGE) & mask).page();
        // An instruction may extend into the next page.
        let near_end = Virtual(at).byte_index() + 2 * counts::LONGEST_RUN + 6 > PAGE;
        let behind = if near_end {
            copied::page(configuration, hardware, &mut counting.copies, of, beyond)
        } else {
            None
        };
        let found = blocks::enter(
            configuration,
            hardware,
            counting,
            &Text {
                page: &page,
                behind: behind.as_ref(),
            },
            (at, may_loop, lasting),
            each,
        );
        let Some((number, block)) = found else { return };
        let _ = counting.chain.push(number);
        may_loop &= !block.loops();
        counting.reads_clock |= block.reads_clock();
        let end = block.end() & mask;
        if let Some(behind) = behind
            && Virtual(end).page() == beyond
            && Virtual(end).byte_index() != 0
        {
            blocks::renew_beginning(hardware, counting, &behind, Virtual(end).byte_index());
        }
        if block.ends() {
            return;
        }
        at = end;
    }
}

/// An operation exception. If what it met was replaced by the counting, it is performed.
fn at_branch<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    interrupted: &Interrupted,
    each: &mut Each<'_>,
) -> Option<(Psw, u64)> {
    let (of, _) = spaces(cpu);
    let old = cpu.interrupted_psw(interrupted.old);
    let mask = old.address_mask();
    let here = old.address.wrapping_sub(interrupted.length()) & mask;
    let instruction = executed(
        cpu,
        configuration,
        hardware,
        &mut counting.copies,
        (of, mask),
        here,
    )?;
    let (from, own_length) = (instruction.from, instruction.length);
    let mut should = 1;
    let mut charged = configuration.charges.of(interrupted.code()) as u64;
    if instruction.is_executed() {
        should = 2;
        charged += u64::from(configuration.charges.execute);
    }
    let page = copied::page(
        configuration,
        hardware,
        &mut counting.copies,
        of,
        Virtual(from),
    )?;
    if !is_replaced(hardware, &page, from) {
        return None;
    }
    let account = &cpu.account;
    let span = account.ticks(account.left, account.entered);
    let until = span.wrapping_sub(overhead(configuration, charged));
    let at = Psw {
        address: here,
        ..old
    };
    let performed = perform(
        cpu,
        configuration,
        hardware,
        at,
        own_length,
        (&instruction.text, from),
    );
    let (mut next, mut executed, mut end) = (at, until, here);
    match performed {
        Performed::To(psw) => {
            next = psw;
            executed += should;
            end = here.wrapping_add(own_length) & mask;
        }
        Performed::Never => {
            counting.chain.clear();
            counting.region = None;
            let again = Psw {
                address: here,
                ..interrupted.old
            };
            let real = rest(cpu, hardware, &mut counting.copies, again);
            return Some((as_first_run(cpu, real), overhead(configuration, charged)));
        }
        // It was replaced for another instruction, or it is another one now.
        Performed::Other => restore(configuration, hardware, counting, of, from),
    }
    let is_performed = matches!(performed, Performed::To(_));
    let done = executed.wrapping_sub(counting.done);
    attribute(hardware, counting, done, end, 0, each);
    counting.done = executed;
    counting.behind_branch = is_performed;
    if is_performed {
        let branch = (&instruction.text, here, own_length);
        calls::branched(hardware, counting, branch, next, each);
    }
    counting.phase = phase(counting, true, next);
    let real = as_first_run(cpu, as_next(interrupted.old, next));
    let real = go_on(cpu, configuration, hardware, counting, next, real, each);
    // The clock has charged for the branch what it would have charged without counting.
    let own = if is_performed { should } else { 0 };
    let taken = overhead(configuration, charged).saturating_sub(own);
    Some((real, taken))
}

/// An operation exception in a region. If it is at a place at which the guest can stop, and the guest has come there by a way that
/// leads there, performs the branch.
fn at_leaf<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    region: u16,
    interrupted: &Interrupted,
    each: &mut Each<'_>,
) -> Option<(Psw, u64)> {
    let old = cpu.interrupted_psw(interrupted.old);
    let mask = old.address_mask();
    let here = old.address.wrapping_sub(interrupted.length()) & mask;
    let overhead = overhead(
        configuration,
        configuration.charges.of(interrupted.code()) as u64,
    );
    let account = &cpu.account;
    let executed = account
        .ticks(account.left, account.entered)
        .wrapping_sub(overhead)
        + 1;
    let done = executed.wrapping_sub(counting.done);
    let leaf = regions::leaf(hardware, counting, region, (here, done))?;
    let at = Psw {
        address: here,
        ..old
    };
    let length = interrupted.length();
    let performed = perform(cpu, configuration, hardware, at, length, (&leaf.text, here));
    let Performed::To(next) = performed else {
        return None;
    };
    regions::count(hardware, counting, region, &leaf, each);
    counting.counted += done;
    counting.following.pass(done);
    counting.done = executed;
    counting.behind_branch = true;
    let real = as_next(interrupted.old, next);
    counting.region = None;
    let branch = (&leaf.text, here, length);
    calls::branched(hardware, counting, branch, next, each);
    counting.phase = phase(counting, true, next);
    if counting.phase == Phase::Counts && (next.mask ^ old.mask) & ADDRESSING_64 == 0 {
        counting.region = regions::find(hardware, counting, next.address);
    }
    if counting.region.is_some() {
        return Some((real, overhead - 1));
    }
    let real = as_first_run(cpu, real);
    let real = go_on(cpu, configuration, hardware, counting, next, real, each);
    Some((real, overhead - 1))
}

/// Puts back what was replaced at an address, and around it: an instruction may begin in one doubleword and end in the next.
fn restore<H: Hardware>(
    configuration: &Configuration,
    hardware: &mut H,
    counting: &mut Counting,
    of: u64,
    at: u64,
) {
    counting.copies.change();
    for at in [at, at.wrapping_add(4)] {
        let found = copied::page(
            configuration,
            hardware,
            &mut counting.copies,
            of,
            Virtual(at),
        );
        if let Some(page) = found {
            let offset = Virtual(at).byte_index() & !7;
            let original = copied::load(hardware, page.source, offset);
            hardware.hsa_store(page.copy.offset(offset), original);
        }
    }
}

/// Counts what the guest has executed, unless it was to be skipped, up to a trap that was handled as in a run without counting.
/// The machine has performed so many `others` after those.
fn arrive<H: Hardware>(
    cpu: &Vcpu,
    hardware: &mut H,
    counting: &mut Counting,
    others: u64,
    each: &mut Each<'_>,
) {
    let total = cpu.account.total();
    let done = total.wrapping_sub(counting.total + counting.done + others);
    account_for(hardware, counting, done, cpu.interruption.old, each);
    (counting.total, counting.done) = (total, 0);
}

/// Counts so many instructions, up to the one that this PSW designates, or notes that they were to be skipped.
fn account_for<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    done: u64,
    old: Psw,
    each: &mut Each<'_>,
) {
    if counting.phase != Phase::Counts {
        counting.skipped = counting.skipped.wrapping_add(done);
    } else {
        let here = old.address & old.address_mask();
        attribute(hardware, counting, done, here, NEAR, each);
    }
}

/// Where in a chain the guest is.
#[derive(Clone, Copy, Debug)]
struct Place {
    /// How many bytes from where it should be.
    distance: u64,
    /// How many blocks it has executed as a whole, once.
    whole: usize,
    /// The part of the next one.
    part: Option<Block>,
    /// How often it has gone round the loop in addition.
    rounds: u64,
    /// How many EXECUTEs have counted one.
    less: u64,
}

/// The rounds of a loop of so many instructions, or of none, in which so many instructions were executed.
const fn rounds(instructions: u64, of: u64) -> Option<u64> {
    match instructions.checked_rem(of) {
        Some(0) => Some(instructions / of),
        None if instructions == 0 => Some(0),
        _ => None,
    }
}

/// The place behind the whole chain, if the guest is there after so many instructions.
fn behind<H: Hardware>(hardware: &H, counting: &Counting, done: u64, here: u64) -> Option<Place> {
    let (mut all, mut of_loop, mut end) = (0, 0, None);
    for &number in &counting.chain {
        let block = blocks::of(hardware, counting, number);
        all += block.instructions();
        if block.loops() {
            of_loop = block.instructions();
        }
        end = Some(block.end());
    }
    if end != Some(here) {
        return None;
    }
    Some(Place {
        distance: 0,
        whole: counting.chain.len(),
        part: None,
        rounds: rounds(done.checked_sub(all)?, of_loop)?,
        less: 0,
    })
}

/// The place nearest to `here` at which the guest can be after so many instructions.
fn nearest<H: Hardware>(hardware: &H, counting: &Counting, done: u64, here: u64) -> Option<Place> {
    let mut found: Option<Place> = None;
    let (mut before, mut may_be_less, mut of_loop) = (0, 0, 0);
    for (whole, &number) in counting.chain.iter().enumerate() {
        let block = blocks::of(hardware, counting, number);
        if block.loops() {
            of_loop = block.instructions();
        }
        let all = block.begins.count_ones();
        for count in 0..=all {
            let part = block.first(count);
            let ahead = here.wrapping_sub(part.end());
            let distance = ahead.min(ahead.wrapping_neg());
            let counts = before + part.instructions();
            let most_less = may_be_less + part.may_count_less();
            let fitting = (0..=most_less).find_map(|less| {
                let more = (done + less).checked_sub(counts)?;
                Some((less, rounds(more, of_loop)?))
            });
            if let Some((less, rounds)) = fitting
                && found.is_none_or(|found| distance < found.distance)
            {
                let is_whole = count == all;
                found = Some(Place {
                    distance,
                    whole: whole + usize::from(is_whole),
                    part: (!is_whole && count != 0).then_some(part),
                    rounds,
                    less,
                });
            }
        }
        before += block.instructions();
        may_be_less += block.may_count_less();
    }
    found
}

/// The guest has executed so many instructions since it was left with the chain, and the next one is `near` bytes from `here`
/// at most: counts them.
fn attribute<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    done: u64,
    here: u64,
    near: u64,
    each: &mut Each<'_>,
) {
    put_back(hardware, &mut counting.copies);
    let region = counting.region.take();
    // Some exceptions are charged less than the machine has found at IPL: then there is less than nothing.
    if (done as i64) <= 0 {
        return;
    }
    find_executed(hardware, counting, region, (done, here, near), each);
    counting.following.pass(done);
}

/// Counts so many instructions, of a region or of the chain.
fn find_executed<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    region: Option<u16>,
    (done, here, near): (u64, u64, u64),
    each: &mut Each<'_>,
) {
    if let Some(region) = region {
        if regions::attribute(hardware, counting, region, (done, here, near), each) {
            counting.counted += done;
        } else {
            counting.unmatched += done;
        }
        return;
    }
    if done == 1 && counting.chain.is_empty() {
        // The machine performs some instructions that the hardware could not fetch.
        let block = Block::single(counting.context, counting.from, 0);
        blocks::count_part(hardware, counting, &block, each);
        counting.counted += 1;
        return;
    }
    let found = behind(hardware, counting, done, here)
        .or_else(|| nearest(hardware, counting, done, here))
        .filter(|found| found.distance <= near);
    let Some(found) = found else {
        counting.chain.clear();
        counting.unmatched += done;
        return;
    };
    let mut less = found.less;
    for place in 0..=found.whole {
        let Some(&number) = counting.chain.get(place) else {
            break;
        };
        let block = blocks::of(hardware, counting, number);
        let once = u64::from(place < found.whole);
        let fewer = block.may_count_less().min(less);
        if block.loops() {
            blocks::count(hardware, counting, number, once + found.rounds);
        } else if once != 0 && fewer == 0 {
            blocks::count(hardware, counting, number, 1);
        } else if once != 0 {
            less -= fewer;
            blocks::count_part(hardware, counting, &block.with_less(fewer), each);
        }
    }
    if let Some(part) = found.part {
        blocks::count_part(hardware, counting, &part.with_less(less), each);
    }
    counting.chain.clear();
    counting.counted += done;
}

#[cfg(test)]
mod tests;
