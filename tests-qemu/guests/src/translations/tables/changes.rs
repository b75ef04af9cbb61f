//! Changes between the steps: of tables, text and prefixes.

use super::*;
use crate::insn::storage::{ipte, ptlb, sturg};
use core::arch::asm;

/// The data that a CPU needs to make a change.
struct Change {
    entry: Entry,
    value: u64,
    how: u64,
    noise: u64,
    spaces: [u64; SPACES],
}

/// The address of the present [`Change`].
static CHANGE: AtomicU64 = AtomicU64::new(0);

fn idte(table: u64, selection: u64, element: u64) {
    // SAFETY: the tables are the steps'.
    unsafe {
        asm!(".insn rrf,0xb98e0000,{t},{s},{e},0", t = in(reg) table, s = in(reg) selection, e = in(reg) element)
    }
}

/// COMPARE AND SWAP AND PURGE (64), with a purge.
fn cspg(at: u64, old: u64, new: u64) {
    // SAFETY: an entry of a table.
    unsafe {
        asm!(".insn rre,0xb98a0000,%r2,{a}", a = in(reg) at | 1, inout("r2") old => _, in("r3") new)
    }
}

/// COMPARE AND SWAP AND PURGE (32) of the right half of an entry, with a purge.
fn csp(at: u64, old: u64, new: u64) {
    // SAFETY: an entry of a table.
    unsafe {
        asm!(".insn rre,0xb2500000,%r2,{a}", a = in(reg) (at + 4) | 1, inout("r2") old => _, in("r3") new)
    }
}

/// Invalidates an entry, and the entries behind it if its table is of a higher level.
fn invalidate(change: &Change) {
    let Entry {
        level,
        origin,
        index,
    } = change.entry;
    if level == PAGE {
        ipte(origin, index << 12 | change.noise);
    } else {
        let more = [0, 0, 0, 1, 3, 0x7FF][change.how as usize % 6];
        // Clearing is limited to no more than the invalidation needs.
        idte(
            origin | (level as u64) << 2,
            index << (20 + 11 * level) | more,
            0,
        );
    }
}

/// Entries that are changed behind one purge.
const TOGETHER: u64 = 12;

/// Purges the TLBs of all CPUs.
fn purge_all(cpus: u16, how: u64, spaces: [u64; SPACES]) {
    match how {
        0 => {
            let mut operand = 0_u64;
            cspg(&raw mut operand as u64, 0, 0);
        }
        1 => spaces.into_iter().for_each(|space| idte(0, 0x800, space)),
        _ => cpus::on_all(cpus, |_| ptlb()),
    }
}

/// Makes the present change. Returns whether other CPUs still have to purge.
fn make(answer: &mut u64) {
    // SAFETY: the requesting CPU waits for this.
    let change = unsafe { &*(CHANGE.load(Ordering::Relaxed) as *const Change) };
    let at = change.entry.at();
    let old = load(at);
    *answer = 0;
    if old & change.entry.invalid() != 0 {
        if change.how & 1 == 0 {
            store(at, change.value);
        } else {
            sturg(change.value, at);
        }
        return;
    }
    match change.how / 16 {
        0 | 1 => {
            invalidate(change);
            store(at, change.value);
        }
        2 => invalidate(change),
        3 => cspg(at, old, change.value),
        4 if old >> 32 == change.value >> 32 => csp(at, old, change.value),
        5 => {
            store(at, change.value);
            for space in change.spaces {
                idte(0, 0x800, space);
            }
        }
        _ => {
            store(at, change.value);
            *answer = 1;
        }
    }
}

/// Gives CPU 0 another prefix area with the contents of the former one, and clears the former one.
pub(super) fn set_prefix(prefix: u64) {
    let before = u64::from(stpx());
    if prefix == before {
        spx(prefix as u32);
        return;
    }
    // Absolute 0 is at the real address of a prefix that is not zero.
    let new = if prefix == 0 { before } else { prefix };
    for n in (0..0x2000).step_by(8) {
        store(new + n, load(n));
    }
    spx(prefix as u32);
    let left = if before == 0 { prefix } else { before };
    for n in (0..0x1000).step_by(8) {
        store(left + n, 0);
    }
}

impl World {
    /// Changes something before one step out of five.
    pub(in super::super) fn change(&mut self, random: &mut Random, traced: Option<u64>) {
        if self.purges != 0 {
            self.purges -= 1;
            self.change_purged(random, traced);
            return;
        }
        match random.below(64) {
            0..=9 => self.change_entry(random, traced),
            10 => cpus::on_all(self.cpus, |_| ptlb()),
            // A few purges in a row, with few translations between them.
            11 => self.purges = 1 + random.below(5),
            12 if self.cpus == 1 => {
                let prefix = random.pick(&[0, area(0), area(1)]);
                if let Some(step) = traced {
                    println!("before step {step}: prefix {prefix:x}");
                }
                set_prefix(prefix);
                if !self.architected {
                    ptlb();
                }
            }
            13 => {
                self.controls ^= random.pick(&CONTROLS);
            }
            _ => {}
        }
    }

    /// Purges, and changes tables afterwards: DAT is off on every CPU, so none can have formed an entry between.
    fn change_purged(&mut self, random: &mut Random, traced: Option<u64>) {
        let how = random.below(4);
        if let Some(step) = traced {
            println!("before step {step}: behind purge {how}");
        }
        purge_all(self.cpus, how, self.spaces);
        for _ in 0..TOGETHER {
            let entry = self.entry(random);
            let value = self.value(random, entry.level);
            if let Some(step) = traced {
                let value = super::super::told(value, self.end);
                println!("before step {step}: {entry:x?} to {value:x}");
            }
            store(entry.at(), value);
        }
    }

    fn change_entry(&mut self, random: &mut Random, traced: Option<u64>) {
        let entry = self.entry(random);
        let value = self.value(random, entry.level);
        let how = random.below(7 * 16);
        let noise = random.0.next() & !0xF_FFFF;
        let cpu = random.below(self.cpus.min(2).into()) as u16;
        let change = Change {
            entry,
            value,
            how,
            noise: if self.architected { noise } else { 0 },
            spaces: self.spaces,
        };
        if let Some(step) = traced {
            let value = super::super::told(value, self.end);
            println!("before step {step}, CPU {cpu}: {entry:x?} to {value:x}, by {how:x}");
        }
        CHANGE.store(&raw const change as u64, Ordering::Relaxed);
        if cpus::on(cpu, make, 0) != 0 {
            cpus::on_all(self.cpus, |_| ptlb());
        }
    }

    /// Passes everything that steps may have changed to `add`.
    pub(in super::super) fn sum(&self, mut add: impl FnMut(u64)) {
        for at in self.frames() {
            let data = (8..0x200).chain(text::DATA..text::CROSSING & !7).step_by(8);
            data.for_each(|n| add(load(at + n)));
        }
        let told = |value| super::super::told(value, self.end);
        for (n, level) in levels().enumerate() {
            for index in self.used[level] {
                add(told(load(table(n) + 8 * index)));
            }
        }
        for n in 0..PAGE_TABLES {
            for index in self.used[PAGE] {
                add(told(load(page_table(n) + 8 * index)));
            }
        }
        (text::DATA..0x1000).step_by(8).for_each(|at| add(load(at)));
    }

    /// Prints spaces and indices.
    pub(in super::super) fn print(&self) {
        let end = self.end;
        let told = |value| super::super::told(value, end);
        println!(
            "spaces {:x?}, indices {:x?}, controls {:x}",
            self.spaces.map(told),
            self.used,
            self.controls
        );
        for (n, level) in levels().enumerate() {
            let entries = self.used[level].map(|index| told(load(table(n) + 8 * index)));
            println!("level {level} table at {:x}: {entries:x?}", table(n));
        }
        for n in 0..PAGE_TABLES {
            let entries = self.used[PAGE].map(|index| told(load(page_table(n) + 8 * index)));
            println!("page table at {:x}: {entries:x?}", page_table(n));
        }
        for at in (0..FRAMES).map(frame) {
            for n in 0..COUNT {
                let at = at + SEQUENCES + text::APART * n;
                let text = [0, 8, 16, 24].map(|n| load(at + n));
                println!("text at {at:x}: {text:016x?}");
            }
        }
    }
}
