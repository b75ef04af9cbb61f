//! Names for the samples of a Linux guest: process, routine of the kernel, or module.
//!
//! Linux keeps the number of the current process in the program parameter, so a sample in problem state belongs to that
//! process. The guest's first process writes the names of all processes at the end. In supervisor state the address is
//! a routine of the kernel, or of the boot stage that ran before it, or a module's.

use std::{borrow::Cow, collections::BTreeMap, ops::Range, path::Path, sync::Arc};

use cpumf::sampling::block::BasicEntry;

use crate::symbols::{
    Routine, Symbol, SymbolTable, UNKNOWN,
    map::Map,
    map_file::Contents,
    mapped::Programs,
    markers::{self, Marker},
};

/// The module of the kernel's routines.
pub const KERNEL: &str = "kernel";

/// The module of the boot stage's routines.
pub const BOOT: &str = "boot stage";

/// The module of the lines of kernel modules.
pub const MODULE: &str = "kernel module";

/// The line of processes without a name.
pub const USER: &str = "(user space)";

/// The name of the system in the map of a collection below Linux.
const SYSTEM: &str = "LINUX";

/// The bit that Linux sets in the left half of the program parameter.
const PROGRAM: u64 = 0x8000_0000;

/// The kernel, modules and processes of a Linux guest.
#[derive(Clone, Debug, Default)]
pub struct LinuxNames {
    boot: SymbolTable,
    kernel: SymbolTable,
    /// The distance by which the kernel was moved.
    moved: u64,
    modules: Vec<(Range<u64>, String)>,
    processes: BTreeMap<u32, String>,
    /// What the processes map, in a run that follows call stacks.
    pub programs: Arc<Programs>,
    /// Whether the guest said where its kernel lies.
    pub is_placed: bool,
}

impl LinuxNames {
    /// Made from the image's routines, and from what the guest wrote on its console.
    pub fn new(symbols: &SymbolTable, console: &str) -> Self {
        let of = |module: &str| {
            let symbols = symbols.symbols().iter();
            SymbolTable::of(
                symbols
                    .filter(|symbol| symbol.module == module)
                    .cloned()
                    .collect(),
            )
        };
        let mut programs = Self {
            boot: of(BOOT),
            kernel: of(KERNEL),
            ..Self::default()
        };
        let first = programs
            .kernel
            .symbols()
            .first()
            .map_or(0, |symbol| symbol.start);
        for marker in markers::of_console(console) {
            match marker {
                Marker::Kernel(at) => {
                    programs.moved = at.wrapping_sub(first);
                    programs.is_placed = true;
                }
                Marker::Process { pid, name } => {
                    programs.processes.insert(pid, name);
                }
                Marker::Module {
                    name,
                    length,
                    start,
                } => programs
                    .modules
                    .push((start..start.saturating_add(length), name)),
                Marker::Command | Marker::Counted { .. } | Marker::Exit(_) | Marker::Mapped(_) => {}
            }
        }
        // The length also counts parts of a module that lie elsewhere.
        programs.modules.sort_by_key(|(range, _)| range.start);
        for place in 1..programs.modules.len() {
            let next = programs.modules[place].0.start;
            let range = &mut programs.modules[place - 1].0;
            range.end = range.end.min(next);
        }
        programs
    }

    /// The same, with what the processes of a run mapped.
    #[must_use]
    pub fn with_programs(self, directory: &Path) -> Self {
        Self {
            programs: Arc::new(Programs::of_run(directory)),
            ..self
        }
    }

    /// Made from the map of a collection below Linux; `None` for another guest.
    pub fn of_map(map: &Map) -> Option<Self> {
        let is_system = |(what, name): &(String, String)| what == "SYS" && name == SYSTEM;
        if !map.information.iter().any(is_system) {
            return None;
        }
        let mut programs = Self {
            is_placed: true,
            ..Self::default()
        };
        let (mut boot, mut kernel) = (Vec::new(), Vec::new());
        for symbol in map.tables().flat_map(|(_, table)| table.symbols()) {
            match &symbol.module[..] {
                // In the map the kernel as a whole covers the addresses between its routines.
                BOOT | KERNEL if symbol.name == symbol.module => {}
                BOOT => boot.push(symbol.clone()),
                KERNEL => kernel.push(symbol.clone()),
                name => programs
                    .modules
                    .push((symbol.start..symbol.end, name.to_owned())),
            }
        }
        programs.boot = SymbolTable::of(boot);
        programs.kernel = SymbolTable::of(kernel);
        let spaces = map.spaces.iter();
        programs.processes = spaces
            .map(|(number, name)| (u32::from(*number), name.clone()))
            .collect();
        Some(programs)
    }

    /// The content of a map, or why there is none. A process is an address space in it, if its number fits into four
    /// digits.
    pub fn contents(&self) -> Result<Contents, &'static str> {
        if !self.has_kernel() {
            return Err("the kernel's routines have no names");
        }
        if !self.is_placed {
            return Err(
                "the guest did not say where its kernel lies, as it does before it runs a command",
            );
        }
        let processes = self.processes.iter();
        Ok(Contents {
            system: SYSTEM,
            spaces: processes
                .filter_map(|(pid, name)| Some((u16::try_from(*pid).ok()?, name.clone())))
                .collect(),
            symbols: SymbolTable::of(self.placed()),
        })
    }

    /// Whether the kernel's routines have names.
    pub fn has_kernel(&self) -> bool {
        !self.kernel.symbols().is_empty()
    }

    /// The line of a sample that was not taken in the wait state: the routine and its module.
    pub fn line(&self, entry: &BasicEntry) -> (Cow<'_, str>, Cow<'_, str>) {
        if entry.problem_state() {
            let parameter = entry.guest_program_parameter.get();
            let (process, _) = self.owner(parameter);
            let address = entry.instruction_address.get();
            return match self.programs.find(process, address) {
                Some(place) => {
                    let name = place.routine().map_or(UNKNOWN, |symbol| &symbol.name);
                    (name.into(), place.file.name().into())
                }
                None => self.process(parameter),
            };
        }
        if let Some(Routine { symbol, .. }) = self.routine(entry) {
            return ((&symbol.name).into(), (&symbol.module).into());
        }
        match self.module(entry.instruction_address.get()) {
            Some(name) => (name.into(), MODULE.into()),
            None => (UNKNOWN.into(), KERNEL.into()),
        }
    }

    /// The routine of the kernel, of the boot stage or of a program, if it is known.
    pub fn routine(&self, entry: &BasicEntry) -> Option<Routine<'_>> {
        let address = entry.instruction_address.get();
        if entry.problem_state() {
            let (process, _) = self.owner(entry.guest_program_parameter.get());
            let place = self.programs.find(process, address)?;
            return Some(Routine {
                symbol: place.routine()?,
                address: place.address,
                file: Some(place.number),
            });
        }
        let in_kernel = address.wrapping_sub(self.moved);
        let (symbol, address) = match self.kernel.find(in_kernel) {
            Some(symbol) => (symbol, in_kernel),
            None if self.module(address).is_some() => return None,
            None => (self.boot.find(address)?, address),
        };
        Some(Routine {
            symbol,
            address,
            file: None,
        })
    }

    /// The name of the kernel's module at an address.
    fn module(&self, address: u64) -> Option<&str> {
        let mut modules = self.modules.iter();
        let (_, name) = modules.find(|(range, _)| range.contains(&address))?;
        Some(name)
    }

    /// Whether it is known what the process of a sample mapped.
    pub fn is_mapped(&self, entry: &BasicEntry) -> bool {
        let (process, _) = self.owner(entry.guest_program_parameter.get());
        self.programs.has(process)
    }

    /// The number and the name of the process that Linux ran. It is the kernel with the number 0 before Linux has
    /// processes, or if Linux does not say.
    pub fn owner(&self, parameter: u64) -> (u32, Cow<'_, str>) {
        match parameter as u32 {
            pid if parameter >> 32 == PROGRAM && pid != 0 => {
                let name = self.processes.get(&pid);
                (pid, name.map_or(USER.into(), |name| name.into()))
            }
            _ => (0, KERNEL.into()),
        }
    }

    /// The numbers and names of the first process with this name and of all that began after it, as far as the guest said
    /// them.
    pub fn since(&self, name: &str) -> impl Iterator<Item = (u32, &str)> {
        let first = self
            .processes
            .iter()
            .find_map(|(pid, known)| (known == name).then_some(*pid));
        let later = first.map(|first| self.processes.range(first..));
        later
            .into_iter()
            .flatten()
            .map(|(pid, name)| (*pid, &name[..]))
    }

    /// Every routine where it lay in the guest, and each module as one routine.
    pub fn placed(&self) -> Vec<Symbol> {
        let mut placed = self.boot.symbols().to_vec();
        let kernel = self.kernel.symbols().iter().cloned();
        placed.extend(kernel.map(|symbol| Symbol {
            start: symbol.start.wrapping_add(self.moved),
            end: symbol.end.wrapping_add(self.moved),
            ..symbol
        }));
        placed.extend(self.modules.iter().map(|(range, name)| Symbol {
            start: range.start,
            end: range.end,
            module: name.clone(),
            name: name.clone(),
        }));
        placed
    }

    fn process(&self, parameter: u64) -> (Cow<'_, str>, Cow<'_, str>) {
        if parameter >> 32 != PROGRAM {
            return (USER.into(), "".into());
        }
        let pid = parameter as u32;
        let name = self.processes.get(&pid);
        (
            name.map_or(USER.into(), |name| name.into()),
            format!("pid {pid}").into(),
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{formats::recognise::Encoding, symbols::map_file};
    use zerocopy::FromZeros;
    use {arch::tod::Tod, cpumf::sampling::block::BASIC_FORMAT};

    /// P of a sample.
    const PROBLEM: u64 = 1 << (63 - 28);

    fn entry(state: u64, address: u64, parameter: u64) -> BasicEntry {
        let mut entry = BasicEntry::new_zeroed();
        entry.head = (u64::from(BASIC_FORMAT) << 48 | state).into();
        entry.instruction_address = address.into();
        entry.guest_program_parameter = parameter.into();
        entry
    }

    fn line(programs: &LinuxNames, state: u64, address: u64, parameter: u64) -> String {
        let entry = entry(state, address, parameter);
        let (symbol, module) = programs.line(&entry);
        format!("{symbol}, {module}")
    }

    #[test]
    fn a_sample_is_a_process_or_a_routine_of_the_kernel_even_when_that_was_moved() {
        let symbols = "0000000000010000\t0000000000010020\tboot stage\tstartup\n\
                       0000000000100000\t0000000000100040\tkernel\tstartup_continue\n\
                       0000000000100040\t0000000000100080\tkernel\tdo_it\n";
        let symbols = SymbolTable::from_text(symbols).unwrap();
        let console = "\x1Emillimeter: kernel 3ffe0000000\n\x1Emillimeter: command\n\x1Emillimeter: exit 0\n\
                       \x1Emillimeter: process 7 sh\n\x1Emillimeter: process 7 perf\n\
                       \x1Emillimeter: module a 8192 0x3ff80000000\n\x1Emillimeter: module b 99 0x3ff80001000\n";
        let programs = LinuxNames::new(&symbols, console);
        assert!(programs.is_placed && programs.has_kernel());
        let pid = |pid: u64| 0x8000_0000 << 32 | pid;
        assert_eq!(line(&programs, 0, 0x3FF_E000_0041, pid(7)), "do_it, kernel");
        assert_eq!(line(&programs, 0, 0x1_0004, 0), "startup, boot stage");
        assert_eq!(line(&programs, 0, 0x3FF_8000_0FFF, 0), "a, kernel module");
        assert_eq!(line(&programs, 0, 0x3FF_8000_1000, 0), "b, kernel module");
        assert_eq!(
            line(&programs, 0, 0x3FF_8000_1900, 0),
            "(unknown address), kernel"
        );
        assert_eq!(
            line(&programs, PROBLEM, 0x3FF_E000_0041, pid(7)),
            "perf, pid 7"
        );
        assert_eq!(
            line(&programs, PROBLEM, 0x1_0004, pid(8)),
            "(user space), pid 8"
        );
        assert_eq!(line(&programs, PROBLEM, 0x1_0004, 8), "(user space), ");
        // The map of a collection run says the same.
        let text = map_file::text(&programs.contents().unwrap(), Tod(0));
        let map = Map::read(&mut text.as_bytes(), Encoding::Ascii).unwrap();
        let read = LinuxNames::of_map(&map).unwrap();
        for (state, address, parameter) in [
            (0, 0x3FF_E000_0041, pid(7)),
            (0, 0x1_0004, 0),
            (0, 0x3FF_8000_0FFF, 0),
            (0, 0x3FF_8000_1000, 0),
            (0, 0x3FF_8000_1900, 0),
            (PROBLEM, 0x3FF_E000_0041, pid(7)),
            (PROBLEM, 0x1_0004, pid(8)),
        ] {
            let expected = line(&programs, state, address, parameter);
            assert_eq!(line(&read, state, address, parameter), expected);
        }
        // Without these lines the kernel is where its image says.
        let programs = LinuxNames::new(&symbols, "");
        assert!(!programs.is_placed && programs.contents().is_err());
        assert_eq!(line(&programs, 0, 0x10_0041, 0), "do_it, kernel");
    }
}
