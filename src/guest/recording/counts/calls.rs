//! Calls: which routine was called from where, and how many instructions were executed until it returned.
//!
//! A *call* is one by the convention of [`linkage`](insn::linkage). It ends when the guest branches to the address to which it
//! returns by a register. Each program has a stack of its own of calls that have not
//! ended, and a clock that counts its instructions; so what another program executes meanwhile is not in them. A program is what has
//! a program parameter, in problem state with an address space, or in supervisor state.
//!
//! An interruption that finds the control program at work is followed like a call, and its instructions are in no call before it.
//!
//! Where calls and returns do not match, the nearest call that does is taken as ended, with all after it: so the stack is right
//! again after a non-local jump.

use super::blocks::{Each, add};
use crate::hardware::Hardware;
use crate::state::copies::{CopiesArea, DEEPEST, SITES};
use crate::state::counting::{Context, Counting, Following, Owner, Phase, Stack, UnmatchedCalls};
use crate::state::shadow::MIX;
use crate::state::vcpu::Vcpu;
use arch::address::Real;
use arch::psw::{PROBLEM, Psw};
use insn::linkage::Kind;
use link::counts::{Calls, Unmatched};

/// How many places are tried for the calls from one place.
const TRIES: u64 = 4;

/// Where the fields are of what is known of the calls of a routine from one place.
const SITE: u64 = 0;
const ROUTINE: u64 = 8;
const PARAMETER: u64 = 2 * 8;
/// The state of the context, and in the right half whether the routine was active already, and one.
const STATE: u64 = 3 * 8;
const TIMES: u64 = 4 * 8;
const INCLUSIVE: u64 = 5 * 8;
/// How many of them have not ended.
const ACTIVE: u64 = 6 * 8;

/// In [`STATE`]: there are calls.
const USED: u64 = 1;

/// In [`STATE`]: of a routine that was active already.
const AGAIN: u64 = 2;

/// Where the fields of a call are that has not ended. The address of a routine has a one in the rightmost bit if an interruption has
/// entered it.
const BACK: u64 = 0;
const ENTERED: u64 = 8;
const BEGAN: u64 = 2 * 8;
/// The number of the place that it came from, plus one; zero if there is no room for that.
const FROM: u64 = 3 * 8;

/// How far from where an interruption has found a program that may go on: behind the instruction, or at it again.
const NEAR: u64 = 6;

/// Whose calls are those in supervisor state, in place of a space.
const SUPERVISOR: u64 = 1;

/// A call.
#[derive(Clone, Copy, Debug)]
pub(super) struct Call {
    /// The address of the branch.
    pub site: u64,
    /// The address to which it returns.
    pub back: u64,
    /// The address to which it leads.
    pub routine: u64,
}

/// The guest has executed a branch at an address, with this text and so many bytes, and goes on at `next`.
pub(super) fn branched<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    (text, site, length): (&[u8; 6], u64, u64),
    next: Psw,
    each: &mut Each<'_>,
) {
    if !counting.limits.have_calls() {
        return;
    }
    let mask = next.address_mask();
    let back = site.wrapping_add(length) & mask;
    let to = next.address & mask;
    match Kind::of(text) {
        Kind::Call => {
            let call = Call {
                site,
                back,
                routine: to,
            };
            begin(hardware, counting, call, 0, each);
        }
        // Not taken.
        Kind::Return(_) if to == back => {}
        Kind::Return(register) => returned(hardware, counting, to, register == 14),
        Kind::Other => {}
    }
}

/// A call, when the program has executed so many instructions more than its clock shows.
pub(super) fn begin<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    call: Call,
    passed: u64,
    each: &mut Each<'_>,
) {
    push(hardware, counting, call, (call.routine & !1, passed), each);
}

/// The program goes on at an address, where an interruption or the beginning of the count has led it.
fn enter<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    back: u64,
    routine: u64,
    each: &mut Each<'_>,
) {
    let call = Call {
        site: 0,
        back,
        routine,
    };
    push(hardware, counting, call, (routine | 1, 0), each);
}

fn push<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    call: Call,
    (entered, passed): (u64, u64),
    each: &mut Each<'_>,
) {
    let Some(now) = counting.following.now else {
        return;
    };
    let area = counting.copies.area;
    let is_again = (0..now.depth).rev().any(|number| {
        let active = area.active(now.number, number);
        (hardware.hsa_load(active.offset(ENTERED)) ^ entered) & !1 == 0
    });
    let from = place(hardware, counting, &call, is_again, each);
    let has_room = now.depth < DEEPEST;
    let following = &mut counting.following;
    if from.is_none() || !has_room {
        following.unmatched.not_followed += 1;
    }
    if let Some(number) = from {
        add(hardware, area.calls(number).offset(TIMES), 1);
        if has_room {
            add(hardware, area.calls(number).offset(ACTIVE), 1);
        }
    }
    if has_room {
        let active = area.active(now.number, now.depth);
        for (field, value) in [
            (BACK, call.back),
            (ENTERED, entered),
            (BEGAN, now.clock.wrapping_add(passed)),
            (FROM, from.map_or(0, |number| number + 1)),
        ] {
            hardware.hsa_store(active.offset(field), value);
        }
    }
    following.now = Some(Stack {
        depth: now.depth + u64::from(has_room),
        deeper: now.deeper + u64::from(!has_room),
        ..now
    });
}

/// The program has branched to an address by a register, and by number 14 if it `is_return`.
fn returned<H: Hardware>(hardware: &mut H, counting: &mut Counting, to: u64, is_return: bool) {
    let area = counting.copies.area;
    let Following {
        now: Some(now),
        unmatched,
        ..
    } = &mut counting.following
    else {
        return;
    };
    if now.deeper != 0 {
        now.deeper -= u64::from(is_return);
        return;
    }
    let ends = |hardware: &H, number: u64| {
        let active = area.active(now.number, number);
        hardware.hsa_load(active.offset(BACK)) == to
            && hardware.hsa_load(active.offset(ENTERED)) & 1 == 0
    };
    let looked = if is_return { now.depth } else { 1 };
    let found = (0..now.depth)
        .rev()
        .take(looked as usize)
        .find(|&number| ends(hardware, number));
    match found {
        Some(number) => {
            unmatched.abandoned += now.depth - number - 1;
            end(hardware, area, now, number);
        }
        None => unmatched.returns += u64::from(is_return),
    }
}

/// All calls of a program end but for the first so many.
fn end<H: Hardware>(hardware: &mut H, area: CopiesArea, stack: &mut Stack, rest: u64) {
    for number in (rest..stack.depth).rev() {
        let active = area.active(stack.number, number);
        let [began, from] = [BEGAN, FROM].map(|field| hardware.hsa_load(active.offset(field)));
        if let Some(number) = from.checked_sub(1) {
            let calls = area.calls(number);
            let inclusive = stack.clock.wrapping_sub(began);
            add(hardware, calls.offset(INCLUSIVE), inclusive);
            add(hardware, calls.offset(ACTIVE), u64::MAX);
        }
    }
    stack.depth = rest;
}

/// The place of the calls of a routine from one place. `None` if there is no room, because calls from each other place have not
/// ended.
fn place<H: Hardware>(
    hardware: &mut H,
    counting: &Counting,
    call: &Call,
    is_again: bool,
    each: &mut Each<'_>,
) -> Option<u64> {
    let area = counting.copies.area;
    let context = counting.context;
    let state = context.state | USED | if is_again { AGAIN } else { 0 };
    let hash = (call.site ^ call.routine.rotate_left(32) ^ context.parameter ^ state)
        .wrapping_mul(MIX)
        >> (64 - SITES.trailing_zeros());
    let places = (hash..hash + TRIES).map(|number| number % SITES);
    let mut empty = None;
    for number in places.clone() {
        let at = area.calls(number);
        let found = hardware.hsa_load(at.offset(STATE));
        if found == 0 {
            empty = empty.or(Some(number));
        } else if found == state
            && hardware.hsa_load(at.offset(SITE)) == call.site
            && hardware.hsa_load(at.offset(ROUTINE)) == call.routine
            && hardware.hsa_load(at.offset(PARAMETER)) == context.parameter
        {
            return Some(number);
        }
    }
    let number = empty.or_else(|| {
        // Another one each time.
        let turn = (counting.counted % TRIES) as usize;
        let mut others = places.cycle().skip(turn).take(TRIES as usize);
        others.find(|&number| hardware.hsa_load(area.calls(number).offset(ACTIVE)) == 0)
    })?;
    let at = area.calls(number);
    give(hardware, at, each);
    for (field, value) in [
        (SITE, call.site),
        (ROUTINE, call.routine),
        (PARAMETER, context.parameter),
        (STATE, state),
        (TIMES, 0),
        (INCLUSIVE, 0),
        (ACTIVE, 0),
    ] {
        hardware.hsa_store(at.offset(field), value);
    }
    Some(number)
}

/// Gives calls to the host, and forgets how many they were.
fn give<H: Hardware>(hardware: &mut H, at: Real, each: &mut Each<'_>) {
    let [site, routine, parameter, state, times, inclusive] =
        [SITE, ROUTINE, PARAMETER, STATE, TIMES, INCLUSIVE]
            .map(|field| hardware.hsa_load(at.offset(field)));
    if times == 0 && inclusive == 0 {
        return;
    }
    let context = Context { parameter, state };
    each(
        Calls {
            site,
            routine,
            times,
            inclusive,
            is_again: state & AGAIN != 0,
            parameter,
            state: context.bits(),
            asn: context.asn(),
        }
        .into(),
    );
    for field in [TIMES, INCLUSIVE] {
        hardware.hsa_store(at.offset(field), 0);
    }
}

/// A trap was handled, and the guest goes on at the PSW of the CPU, and is counted from there on unless that is to be skipped. Whether
/// it was skipped before, and the interruption that the trap has caused: its old PSW, and the address in the new one.
pub(super) fn trapped<H: Hardware>(
    cpu: &Vcpu,
    hardware: &mut H,
    counting: &mut Counting,
    (was_skipped, delivered): (bool, Option<(Psw, u64)>),
    each: &mut Each<'_>,
) {
    let loaded = delivered.map_or(cpu.psw, |(old, _)| old);
    if !was_skipped && !super::is_near(cpu, loaded) {
        went_on(hardware, counting, loaded);
    }
    if counting.phase == Phase::Counts {
        go_on(cpu, hardware, counting, cpu.psw, delivered, each);
    }
}

/// The guest goes on at a PSW and is counted, after an interruption with the old PSW and new address `delivered`, if there was
/// one.
pub(super) fn go_on<H: Hardware>(
    cpu: &Vcpu,
    hardware: &mut H,
    counting: &mut Counting,
    next: Psw,
    delivered: Option<(Psw, u64)>,
    each: &mut Each<'_>,
) {
    counting.context = super::context(cpu, next);
    if !counting.limits.have_calls() {
        return;
    }
    let space = if next.mask & PROBLEM != 0 {
        cpu.control[1] & !SUPERVISOR
    } else {
        SUPERVISOR
    };
    let owner = [counting.context.parameter, space];
    let is_now = (counting.following.now.as_ref()).is_some_and(|now| now.owner == owner);
    let is_new = !is_now && turn_to(hardware, counting, owner);
    let at = next.address & next.address_mask();
    match delivered {
        Some((old, new)) => enter(hardware, counting, old.address, new, each),
        None if is_new => enter(hardware, counting, 0, at, each),
        None => {}
    }
}

/// The program has loaded a PSW. If it goes on where an interruption has found it, or a program in problem state goes on, that
/// interruption is over.
fn went_on<H: Hardware>(hardware: &mut H, counting: &mut Counting, loaded: Psw) {
    let area = counting.copies.area;
    let Some(
        now @ Stack {
            owner: [_, SUPERVISOR],
            ..
        },
    ) = &mut counting.following.now
    else {
        return;
    };
    let of_interruption = |&number: &u64| {
        let active = area.active(now.number, number);
        hardware.hsa_load(active.offset(ENTERED)) & 1 != 0
    };
    let Some(number) = (0..now.depth).rev().find(of_interruption) else {
        return;
    };
    let active = area.active(now.number, number);
    let [back, began] = [BACK, BEGAN].map(|field| hardware.hsa_load(active.offset(field)));
    let distance = loaded.address.wrapping_sub(back);
    let is_there = back != 0 && distance.min(distance.wrapping_neg()) <= NEAR;
    if is_there || loaded.mask & PROBLEM != 0 {
        end(hardware, area, now, number);
        now.deeper = 0;
        now.clock = began;
    }
}

/// The program of an owner goes on. Returns whether it has no calls yet.
fn turn_to<H: Hardware>(hardware: &mut H, counting: &mut Counting, owner: Owner) -> bool {
    let area = counting.copies.area;
    let following = &mut counting.following;
    keep(following);
    following.turns += 1;
    let turn = following.turns;
    let known = following.all.iter().find(|stack| stack.owner == owner);
    let is_new = known.is_none();
    let now = match known {
        Some(known) => Stack { turn, ..*known },
        None => {
            let mut number = following.all.len();
            if following.all.is_full() {
                let oldest = following.all.iter_mut().min_by_key(|stack| stack.turn);
                let Some(oldest) = oldest else { return true };
                end(hardware, area, oldest, 0);
                number = oldest.number;
            }
            Stack {
                number,
                owner,
                depth: 0,
                deeper: 0,
                clock: 0,
                turn,
            }
        }
    };
    if following.all.get(now.number).is_none() {
        let _ = following.all.push(now);
    }
    following.now = Some(now);
    keep(following);
    is_new
}

/// Keeps the calls of the program that the CPU executes with those of the others.
fn keep(following: &mut Following) {
    if let Some(now) = following.now
        && let Some(kept) = following.all.get_mut(now.number)
    {
        *kept = now;
    }
}

/// The counting ends, and all calls with it: gives everything to the host.
pub(super) fn give_all<H: Hardware>(
    hardware: &mut H,
    counting: &mut Counting,
    each: &mut Each<'_>,
) {
    let area = counting.copies.area;
    keep(&mut counting.following);
    counting.following.now = None;
    for stack in &mut counting.following.all {
        end(hardware, area, stack, 0);
    }
    for number in 0..SITES {
        give(hardware, area.calls(number), each);
    }
    let UnmatchedCalls {
        returns,
        abandoned,
        not_followed,
    } = counting.following.unmatched;
    each(
        Unmatched {
            returns,
            abandoned,
            not_followed,
        }
        .into(),
    );
}
