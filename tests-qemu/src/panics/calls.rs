//! Which function of the image reaches which, and the calls of panics.
//!
//! A function reaches those that it calls or jumps to. Through an address a trap may reach every function whose address
//! some function takes, or that stands in data: nobody has to know who calls the routines of which table.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail};
use object::{Object, ObjectSection, ObjectSymbol, SymbolKind};

/// The routines that the entries of `src/machine/trap.rs` call.
const ROOTS: [&str; 10] = [
    "program_interruption",
    "program_interruption_counted",
    "supervisor_call_interruption",
    "supervisor_call_interruption_counted",
    "external_interruption",
    "external_interruption_counted",
    "io_interruption",
    "io_interruption_counted",
    "restart_interruption",
    "machine_check_interruption",
];

/// The routine with which a started CPU begins.
const STARTED: &str = "cpu_started";

/// A routine that every image has, because it reports the machine's own failures by it.
const PANIC: &str = "core::panicking::panic_fmt";

/// How the names of the functions of Rust's own libraries begin.
const LIBRARIES: [&str; 5] = ["core::", "alloc::", "<core::", "<alloc::", "__rustc::"];

/// What an instruction does with an address that it designates.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    Call,
    Jump,
    Take,
}

/// An address that an instruction designates.
struct Reference {
    at: u64,
    target: u64,
    how: Use,
}

struct Function {
    name: String,
    references: Vec<Reference>,
    /// Whether it returns, or a function does to which it jumps.
    returns: bool,
}

impl Function {
    /// Whether it is a routine of Rust's own libraries that never returns.
    fn is_panic(&self) -> bool {
        !self.returns && LIBRARIES.iter().any(|start| self.name.starts_with(start))
    }
}

/// What the image's functions refer to.
pub struct Calls {
    /// By the address of the first byte.
    functions: BTreeMap<u64, Function>,
    /// The addresses in data.
    pointers: Vec<u64>,
}

impl Calls {
    /// Reads the functions of the image.
    pub fn read(elf: &object::File<'_>) -> Result<Self> {
        let text = elf
            .section_by_name(".text")
            .context("the image has no text")?;
        let (base, bytes) = (text.address(), text.data()?);
        let mut functions = BTreeMap::new();
        for symbol in elf.symbols() {
            if symbol.kind() != SymbolKind::Text || symbol.size() == 0 {
                continue;
            }
            let (start, end) = (symbol.address(), symbol.address() + symbol.size());
            let range = usize::try_from(start - base)?..usize::try_from(end - base)?;
            let body = bytes.get(range).context("a function outside the text")?;
            let name = format!("{:#}", rustc_demangle::demangle(symbol.name()?));
            let (references, returns) = decode(body, start);
            functions.insert(
                start,
                Function {
                    name,
                    references,
                    returns,
                },
            );
        }
        find_returns(&mut functions);
        let pointers = elf
            .dynamic_relocations()
            .context("the image has no relocations")?
            .map(|(_, relocation)| relocation.addend().cast_unsigned())
            .collect();
        Ok(Self {
            functions,
            pointers,
        })
    }

    /// The panics that the trap entries reach: the function, the address of the call, and what it calls.
    pub fn panics(&self) -> Result<Vec<(String, u64, String)>> {
        let knows = |name| {
            let mut panics = self
                .functions
                .values()
                .filter(|function| function.is_panic());
            panics.any(|panic| panic.name == name)
        };
        if !knows(PANIC) {
            bail!("{PANIC} is not seen as a panic: see tests-qemu/src/panics/calls.rs");
        }
        let mut found = Vec::new();
        for address in self.reached()? {
            let function = &self.functions[&address];
            for reference in &function.references {
                if let Some(called) = self.functions.get(&reference.target)
                    && called.is_panic()
                    && reference.how != Use::Take
                {
                    found.push((function.name.clone(), reference.at, called.name.clone()));
                }
            }
        }
        Ok(found)
    }

    /// The functions that the trap entries reach, without the panics.
    fn reached(&self) -> Result<BTreeSet<u64>> {
        let mut open = Vec::new();
        for root in ROOTS.iter().chain([&STARTED]) {
            let found = self
                .functions
                .iter()
                .find(|(_, function)| function.name == *root);
            match found {
                Some((start, _)) => open.push(*start),
                None => {
                    bail!("the image has no routine {root}: see tests-qemu/src/panics/calls.rs")
                }
            }
        }
        open.extend(&self.pointers);
        let references = self
            .functions
            .values()
            .flat_map(|function| &function.references);
        let taken = references.filter(|reference| reference.how == Use::Take);
        open.extend(taken.map(|reference| reference.target));
        let mut reached = BTreeSet::new();
        while let Some(address) = open.pop() {
            let Some(function) = self.functions.get(&address) else {
                continue; // data, a label, or a place in the same function
            };
            if !function.is_panic() && reached.insert(address) {
                open.extend(function.references.iter().map(|reference| reference.target));
            }
        }
        Ok(reached)
    }
}

/// A function returns if one does to which it jumps.
fn find_returns(functions: &mut BTreeMap<u64, Function>) {
    loop {
        let returning: Vec<u64> = functions
            .iter()
            .filter(|(start, function)| {
                !function.returns
                    && function.references.iter().any(|reference| {
                        reference.how == Use::Jump
                            && reference.target != **start
                            && functions
                                .get(&reference.target)
                                .is_some_and(|to| to.returns)
                    })
            })
            .map(|(start, _)| *start)
            .collect();
        if returning.is_empty() {
            return;
        }
        for start in returning {
            if let Some(function) = functions.get_mut(&start) {
                function.returns = true;
            }
        }
    }
}

/// The branches and addresses of a function's instructions, and whether it returns.
fn decode(body: &[u8], start: u64) -> (Vec<Reference>, bool) {
    let mut references = Vec::new();
    let mut returns = false;
    let mut place = 0;
    while let Some(&[first, second]) = body.get(place..).and_then(|rest| rest.first_chunk()) {
        let length = match first >> 6 {
            0 => 2,
            1 | 2 => 4,
            _ => 6,
        };
        let at = start + place as u64;
        let target = |halfwords: i64| at.wrapping_add_signed(halfwords * 2);
        let near = body
            .get(place + 2..)
            .and_then(|rest| rest.first_chunk())
            .map(|bytes| target(i16::from_be_bytes(*bytes).into()));
        let far = body
            .get(place + 2..)
            .and_then(|rest| rest.first_chunk())
            .map(|bytes| target(i32::from_be_bytes(*bytes).into()));
        let (target, how) = match (first, second & 0xF) {
            (0xC0, 0x0) => (far, Use::Take),  // LARL
            (0xC4, 0x8) => (far, Use::Take),  // LGRL, of an address
            (0xC0, 0x5) => (far, Use::Call),  // BRASL
            (0xA7, 0x5) => (near, Use::Call), // BRAS
            (0xC0, 0x4) => (far, Use::Jump),  // BRCL
            (0xA7, 0x4) => (near, Use::Jump), // BRC
            _ => (None, Use::Jump),
        };
        // BCR with register 14 returns, and with another one jumps to a routine or within this one.
        returns |= first == 0x07 && second & 0xF != 0 && second >> 4 != 0;
        references.extend(target.map(|target| Reference { at, target, how }));
        place += length;
    }
    (references, returns)
}
