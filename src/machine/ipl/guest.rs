//! Builds the machine for a guest, starts its CPUs, and runs the guest.

use super::calibrate::{self, Meter};
use super::{caches, quirks, staged};
use crate::arch::address::{Absolute, PAGE};
use crate::arch::condition::ConditionCode;
use crate::arch::cpu::MAXIMUM_CPUS;
use crate::arch::facility::{self, FacilityList};
use crate::cpumf::counters::{CoprocessorGroups, CounterSet};
use crate::cpumf::instruction::CounterInformation;
use crate::cpumf::sampling::request;
use crate::cpumf::{
    ConfigurationLevel, CounterSets, Facility, Installation, Model, load_program_parameter, model,
};
use crate::guest::hardware::Hardware;
use crate::guest::measuring::assist;
use crate::guest::measuring::machine_level;
use crate::guest::state::account::{Account, Charges, Counted, Mode};
use crate::guest::state::assist::Assist;
use crate::guest::state::channels::Channels;
use crate::guest::state::configuration::Configuration;
use crate::guest::state::counting::{Limits, MOST_RANGES, States};
use crate::guest::state::device::{Device, ROOM_LENGTH};
use crate::guest::state::page_frames::PageFrames;
use crate::guest::state::recording::Support;
use crate::guest::state::schedule::AfterSample;
use crate::guest::state::shadow::SharedShadow;
use crate::guest::state::software::SoftwareCounters;
use crate::guest::state::threads::Threads;
use crate::guest::state::vcpu::{CpuState, Vcpu};
use crate::guest::storage::shadow::build_identity;
use crate::guest::storage::{Piece, program};
use crate::guest::turns::Turns;
use crate::his::event::ZOS_COUNTERS;
use crate::link::loader::{self, LoaderBlock, flags, sets};
use crate::link::state::{self, Started};
use crate::machine::hardware::counting;
use crate::machine::hardware::hsa::{Plan, Prefix};
use crate::machine::hardware::instruction;
use crate::machine::hardware::lowcore::Area;
use crate::machine::hardware::sclp::{self, Listener};
use crate::machine::io::console;
use crate::machine::io::failure::{WaitState, refuse, stop};
use crate::machine::io::watchdog;
use crate::machine::native::Native;
use crate::machine::shared::Shared;
use crate::machine::state::blocks::Blocks;
use crate::machine::state::heap;
use crate::machine::state::his::Service;
use crate::machine::state::integrity;
use crate::machine::state::machine::{Cells, Cpu, Machine, sampling_limits};
use crate::machine::state::operator::Operator;
use crate::machine::state::stacks::Stacks;
use crate::machine::{count, his, operator, still, trap, turn, window};
use crate::msa;
use crate::per::{Format, Range};
use core::slice;
use core::sync::atomic::{AtomicU8, AtomicU16, AtomicU32, AtomicU64};
extern crate alloc;
use alloc::boxed::Box;
use alloc::vec::Vec;

/// SIGNAL PROCESSOR orders that start another CPU.
mod order {
    /// Restart.
    pub const RESTART: u8 = 0x06;
    /// Initial CPU reset.
    pub const INITIAL_CPU_RESET: u8 = 0x0B;
    /// Set prefix.
    pub const SET_PREFIX: u8 = 0x0D;
}

/// Facilities that need more of the machine than it does. QEMU has none of them, but Hercules has some.
const NOT_PERFORMED: [u32; 9] = [
    facility::ASN_AND_LX_REUSE,
    facility::ENHANCED_DAT_1,
    facility::CONDITIONAL_SSKE,
    facility::IPTE_RANGE,
    facility::NONQUIESCING_KEY_SETTING,
    facility::CONSTRAINED_TRANSACTIONAL_EXECUTION,
    facility::RESET_REFERENCE_BITS_MULTIPLE,
    facility::TRANSACTIONAL_EXECUTION,
    facility::ENHANCED_DAT_2,
];

/// How many CPUs share a group of coprocessors.
const CPUS_IN_GROUP: u16 = 2;

/// Leaks a zeroed slice of atomics that the plan has room for.
fn zeroed<T>(at: u64, count: u64) -> &'static [T] {
    // SAFETY: storage of the plan that nothing else uses; zeros are valid for the atomics that this
    // is called for.
    unsafe {
        let place = core::ptr::with_exposed_provenance_mut::<T>(at as usize);
        core::ptr::write_bytes(place, 0, count as usize);
        slice::from_raw_parts(place, count as usize)
    }
}

/// The offset of the sequence code in system-information block 1.1.1.
const SEQUENCE_CODE: usize = 80;

/// Builds the configuration, starts the other CPUs, and runs the guest.
pub(super) fn start(
    block: &LoaderBlock,
    plan: Plan,
    mut native: Native,
    facilities: FacilityList,
    image: (Absolute, Absolute),
) -> ! {
    let present = sclp::cpus();
    let cpus = plan.cpus.len();
    if present.len() < cpus {
        refuse(
            WaitState::CpuStart,
            format_args!(
                "{cpus} CPUs are requested, but the machine has {}",
                present.len()
            ),
        );
    }
    if facilities.has(facility::LOAD_PROGRAM_PARAMETER) {
        instruction::lpp(loader::PROGRAM_PARAMETER);
    }
    let shift = (block.icount_shift.get() != loader::NO_ICOUNT).then(|| block.icount_shift.get());
    let shift = if block.has(flags::REAL_TIME) {
        None
    } else {
        shift
    };
    let Some(sequences) = calibrate::storage(&plan) else {
        stop(WaitState::Storage)
    };
    let mode = calibrate::find_mode(&mut native, sequences, shift);
    let below = counting::find(&facilities);
    let below: Option<CounterInformation> = below.map(|block| zerocopy::transmute!(block));
    let counts_below = block.has(flags::NATIVE);
    let cpu_speed = if counts_below {
        require_counting(below.as_ref(), &mut native, sequences)
    } else {
        None
    };
    // The clock of an exact run has a speed of its own.
    let cpu_speed = match (mode, cpu_speed) {
        (Mode::RealTime, Some(speed)) => speed,
        _ => mode.cpu_speed(),
    };
    let meter = match mode {
        Mode::Exact { shift } => Some(Meter::Clock { shift }),
        Mode::RealTime => counts_below.then_some(Meter::Facility),
    };
    let charges = meter.map_or_else(Charges::default, |meter| {
        calibrate::charges(&mut native, sequences, meter)
    });
    let execution_protection = facilities.has(facility::INSTRUCTION_EXECUTION_PROTECTION);
    let per = Support {
        format: if block.has(flags::EVENTS_OF_S370) {
            Format::S370
        } else {
            Format::Z
        },
        // Pages whose instructions are recorded are protected from execution.
        records: execution_protection,
    };
    let quirks = quirks::find(
        &mut native,
        sequences,
        &facilities,
        block.has(flags::STRICT),
    );
    calibrate::clear(&mut native, sequences);
    let program = staged::keep(block, &plan, &mut native, image);

    let exact = matches!(mode, Mode::Exact { .. });
    let frames = plan.guest.end() / PAGE;
    let pages = PageFrames::new(
        zeroed::<AtomicU16>(plan.states, frames),
        zeroed::<AtomicU32>(plan.owners, plan.copy_count),
        plan.copies,
    )
    .with_devices(zeroed::<AtomicU8>(plan.stores, plan.owners - plan.stores));
    let mut prefixes = [0; MAXIMUM_CPUS];
    for (prefix, cpu) in prefixes.iter_mut().zip(&plan.cpus) {
        *prefix = cpu.prefix.address();
    }
    let shadow = SharedShadow::new(
        plan.guest.end(),
        plan.identity,
        plan.private,
        plan.pools,
        plan.pool_length,
        prefixes,
    );
    // The host may have staged something there.
    for room in plan.rooms() {
        native.hsa_fill(room, ROOM_LENGTH, 0);
    }
    let devices = plan.rooms().map(Device::new).map(Box::new).map(Box::leak);
    let channels = Channels::new(plan.programs, devices);
    let mut configuration = Configuration::new(
        plan.guest,
        plan.increment,
        cpus as u16,
        pages,
        shadow,
        channels,
    );
    configuration.machine_end = plan.top;
    configuration.assist = assist(block, &facilities);
    configuration.strict = block.has(flags::STRICT);
    configuration.quirks = quirks;
    configuration.execution_protection = execution_protection;
    let performed = NOT_PERFORMED
        .into_iter()
        .fold(facilities, FacilityList::without);
    configuration.facilities = configuration
        .assist
        .facilities(performed)
        // STORE SYSTEM INFORMATION has no function 15 here.
        .without(facility::CONFIGURATION_TOPOLOGY)
        .without(facility::ENHANCED_MONITOR)
        .with(facility::LOAD_PROGRAM_PARAMETER)
        .with(facility::MEASUREMENT_COUNTER)
        .with(facility::MEASUREMENT_SAMPLING)
        .with(facility::STORE_COUNTER_MULTIPLE);
    configuration.cpu_id = identification(block);
    let machine_type = (configuration.cpu_id >> 16) as u16;
    let model = model::of_type(machine_type).unwrap_or(&model::DEFAULT);
    if model.has_enhanced_monitor() {
        let facilities = configuration.facilities;
        configuration.facilities = facilities.with(facility::ENHANCED_MONITOR);
    }
    configuration.mode = mode;
    configuration.cpu_speed = cpu_speed;
    configuration.native = counts_below;
    configuration.charges = charges;
    configuration.per = per;
    if exact {
        *configuration.groups() = CoprocessorGroups::new(cpus as u16, CPUS_IN_GROUP);
    }
    configuration.virtual_machine = block.level.get() == loader::level::VIRTUAL_MACHINE;
    configuration.limited = block.has(flags::SECURE) && !block.has(flags::FULL_SAMPLES);
    configuration.dedicated = block.has(flags::DEDICATED);
    configuration.threads = Threads::new(block.threads.get() as u16);
    configuration.loaded_program = program;
    configuration.watchdog.present = watchdog::is_present();
    program::load(&configuration, &mut native);
    build_identity(&configuration, &mut native);

    check_threads(block, model);
    let mut account = Account::new(mode, cpu_speed);
    account.counted = counts_below.then(Counted::default);
    let slice = match block.slice.get() {
        0 => loader::DEFAULT_SLICE,
        slice => slice,
    };
    let slice = if cpus > 1 { slice } else { slice.max(100_000) };
    let turns = Turns::new(exact, slice.saturating_mul(u64::from(cpu_speed)));
    let listening = block.has(flags::INTERACTIVE) || !exact;
    sclp::SCCB.set_listener(match (listening, exact) {
        (false, _) => Listener::Nobody,
        (true, true) => Listener::Same,
        (true, false) => Listener::First,
    });
    let (open, open_end) = block.open_part();
    let open = (plan.kept + open, plan.kept + open_end);
    let shared: &'static Shared = Box::leak(Box::new(Shared::new(turns, cpus as u16, listening)));
    if configuration.assist.has_true_random_numbers() {
        let mut seed = [0; 64];
        instruction::prno_trng(&mut seed);
        shared.noise.lock().seed(&seed);
    }
    let Some(cells) = Cells::new(cpus) else {
        stop(WaitState::Storage)
    };
    let machine: &'static Machine = Box::leak(Box::new(Machine {
        configuration,
        model,
        sequence_code: sequence_code(&mut native),
        sums: integrity::sums(&plan, open),
        plan,
        cpus: cells,
        open,
        looked: block.has(flags::CHECK_HSA).then(AtomicU64::default),
        counts_from_words: block.has(flags::COUNT_FROM_WORDS),
        samples_for_host: block.interval.get() != 0,
        shared,
        his: Box::leak(Box::new(Service::new(cpus))),
        operator: Box::leak(Box::new(Operator::new())),
    }));
    let areas = &machine.plan.cpus;
    for ((number, cell), area) in machine.cpus.iter().enumerate().zip(areas) {
        let configuration = &machine.configuration;
        let mut cpu = Cpu {
            vcpu: vcpu(number as u16, configuration, block, model, account, exact),
            native: Native::new(area.prefix, number as u16, Some(shared)),
            blocks: Blocks::new(*area, number as u16, model.dsdes),
            machine,
            stacks: None,
            tally: None,
            paths: None,
            window: None,
        };
        if exact {
            // An accepted block has a valid geometry.
            let geometry = block.geometry().ok().flatten();
            cpu.vcpu.caches =
                geometry.and_then(|geometry| caches::take(&machine.plan, number, geometry));
        }
        activate(&mut cpu, block);
        // SAFETY: no CPU uses the cells yet.
        unsafe { cell.fill(cpu) };
        if number != 0 {
            trap::prepare_lowcore(area, cell.get());
        }
    }
    trap::use_cpu(machine.cpus.of(0).get());
    if block.has(flags::COUNT_TRAPS) {
        for ((number, cell), area) in machine.cpus.iter().enumerate().zip(areas) {
            // This CPU's own prefix area is at real 0.
            let area = if number == 0 {
                Area::OWN
            } else {
                Area::at(area.prefix)
            };
            // SAFETY: the cell was filled above, and no other CPU runs yet.
            count::begin(area, unsafe { &mut *cell.get() });
        }
    }
    let stopping = machine.plan.stopping.filter(|_| exact);
    if (block.window.is_wanted() || stopping.is_some()) && exact {
        let traces = operator::traces::of_window(block.commands().unwrap_or_default());
        for ((number, cell), area) in machine.cpus.iter().enumerate().zip(areas) {
            let area = if number == 0 {
                Area::OWN
            } else {
                Area::at(area.prefix)
            };
            // SAFETY: as above.
            let cpu = unsafe { &mut *cell.get() };
            let at = stopping.map(|first| first.offset(number as u64 * loader::COUNTING_STORAGE));
            let further = match at {
                None => window::Further::Nothing,
                Some(at) if block.has(flags::COUNT_EXECUTIONS) => {
                    window::Further::Counts(at, counted(block))
                }
                Some(at) => window::Further::Traces(at, traces),
            };
            window::begin(area, cpu, &block.window, further);
        }
    }
    if block.has(flags::STILL_CLOCK) && exact {
        for ((number, cell), area) in machine.cpus.iter().enumerate().zip(areas) {
            if block.has(flags::COUNT_PATHS) {
                // SAFETY: as above.
                still::count_paths(unsafe { &mut *cell.get() });
            }
            trap::admit_still(if number == 0 {
                Area::OWN
            } else {
                Area::at(area.prefix)
            });
        }
    }
    heap::seal();
    for (number, area) in (0..).zip(areas).skip(1) {
        start_cpu(number, area.prefix);
    }
    started(machine, block, model, below.as_ref());
    begin(machine, block)
}

/// Which of the guest's instructions are counted.
fn counted(block: &LoaderBlock) -> Limits {
    let states = if block.has(flags::COUNT_PROBLEM_STATE) {
        States::Problem
    } else if block.has(flags::COUNT_SUPERVISOR_STATE) {
        States::Supervisor
    } else {
        States::Both
    };
    let mut limits = Limits {
        states,
        ..Limits::default()
    };
    for range in block.counted_ranges() {
        // There is room.
        let _ = limits.ranges.push(Range {
            start: range.start.get(),
            end: range.end.get(),
        });
    }
    limits
}

const _: () = assert!(loader::MOST_COUNTED_RANGES == MOST_RANGES);

/// Activates the counters of the machine below, or says why that is not possible. Returns how many cycles they count per
/// microsecond.
fn require_counting(
    below: Option<&CounterInformation>,
    native: &mut Native,
    sequences: Piece,
) -> Option<u32> {
    let sets = below.map(|below| CounterSets(below.authorization.get()));
    match sets {
        None => refuse(
            WaitState::Facilities,
            format_args!(
                "the machine below has no CPU-measurement counter facility, so it cannot count with --native; leave --native out, add --nested, or take a logical partition that has the facility"
            ),
        ),
        Some(sets) if !sets.has(CounterSet::ProblemState) => refuse(
            WaitState::Facilities,
            format_args!(
                "the machine below does not authorize the problem-state counter set, which --native needs; authorize it there, or leave --native out"
            ),
        ),
        Some(_) if !counting::begin() || !calibrate::facility_counts(native, sequences) => refuse(
            WaitState::Facilities,
            format_args!(
                "the problem-state counter set of the machine below does not count every instruction; leave --native out"
            ),
        ),
        Some(_) => {}
    }
    let speed = calibrate::facility_speed(native, sequences);
    if speed.is_none() {
        refuse(
            WaitState::Facilities,
            format_args!(
                "the problem-state counter set of the machine below counts no cycles that fit its clock; leave --native out"
            ),
        );
    }
    speed
}

/// The sequence code of the machine below, which STORE SYSTEM INFORMATION also shows the guest.
fn sequence_code(native: &mut Native) -> [u8; 16] {
    let mut block = [0; 4096];
    let _ = native.system_information(1, 1, 1, &mut block);
    let (code, _) = block[SEQUENCE_CODE..]
        .split_first_chunk()
        .unwrap_or((&[0; 16], &[]));
    *code
}

/// The identification of the machine below, with the machine type that the run requests.
fn identification(block: &LoaderBlock) -> u64 {
    let below = instruction::stidp();
    match block.machine_type.get() {
        0 => below,
        wanted => match model::of_type(wanted as u16) {
            Some(_) if wanted >> 16 == 0 => below & !0xFFFF_0000 | u64::from(wanted) << 16,
            _ => refuse(
                WaitState::LoaderBlock,
                format_args!("no known model has the machine type {wanted:04X}"),
            ),
        },
    }
}

/// The MT-diagnostic counter set counts threads, so only a model with that set can have threads.
fn check_threads(block: &LoaderBlock, model: &Model) {
    let threads = block.threads.get();
    if threads > 1 && !model.has_threads() {
        refuse(
            WaitState::LoaderBlock,
            format_args!(
                "{threads} threads of a core are requested, but a {} has one",
                model.name
            ),
        );
    }
}

/// The counter sets that a block requests at the guest's level and that have an honest source.
fn honest(sets: u32) -> CounterSets {
    CounterSets(sets as u16).intersection(CounterSets::HONEST.union(CounterSets::CRYPTO_ACTIVITY))
}

/// The message-security assist. The machine supplies it if the block says so, and whenever the guest
/// can count functions, because a program that counts functions should find some. What the machine
/// counts for itself does not change what the guest finds.
fn assist(block: &LoaderBlock, facilities: &FacilityList) -> Assist {
    let counted = block.guest_sets.get() & (sets::CRYPTO | sets::COPROCESSOR_GROUPS) != 0;
    let below = msa::Instruction::ALL.map(|instruction| {
        if facilities.has(instruction.facility()) {
            instruction::assist_query(instruction)
        } else {
            0
        }
    });
    let supplied = counted || block.has(flags::CRYPTOGRAPHY);
    Assist::new(supplied, below)
}

/// A virtual CPU with its facilities at both levels.
fn vcpu(
    number: u16,
    configuration: &Configuration,
    block: &LoaderBlock,
    model: &'static Model,
    account: Account,
    exact: bool,
) -> Vcpu {
    let limits = sampling_limits(account.cpu_speed);
    let (own, below) = if configuration.virtual_machine {
        (
            ConfigurationLevel::VirtualMachine,
            ConfigurationLevel::LogicalPartition,
        )
    } else {
        (
            ConfigurationLevel::LogicalPartition,
            ConfigurationLevel::BasicMachine,
        )
    };
    let facility = |level| {
        let mut facility = Facility::new(level, model, Installation::ALL, limits);
        // If nothing counts instructions their number is not known, so the sets that show it are not authorized.
        if account.counts_instructions() {
            let sets = block.guest_sets.get();
            let mut authorized = honest(sets);
            if !exact {
                authorized = authorized.without(CounterSets::CRYPTO_ACTIVITY);
            }
            if configuration.threads.installed() {
                let threads = CounterSets(sets as u16).intersection(CounterSets::MT_DIAGNOSTIC);
                authorized = authorized.union(threads);
            }
            facility.authorize_counters(authorized, &account.activity());
            let groups = configuration.groups();
            let has_groups = exact && sets & sets::COPROCESSOR_GROUPS != 0;
            facility.authorize_coprocessor_groups(has_groups, &groups);
        }
        facility.authorize_basic_sampling(true);
        facility
    };
    let mut below = facility(below);
    // HIS may use both.
    below.authorize_diagnostic_sampling(true);
    let mut vcpu = Vcpu::new(number, facility(own), below);
    vcpu.software = SoftwareCounters::new(software_counters());
    vcpu.account = account;
    vcpu.known_as = configuration.threads.address_of(number);
    vcpu
}

/// The software counters of a CPU, for the lifetime of the machine.
fn software_counters() -> &'static [AtomicU64] {
    let counters = (0..ZOS_COUNTERS).map(|_| AtomicU64::new(0));
    counters.collect::<Vec<_>>().leak()
}

/// Activates the machine's own facility.
fn activate(cpu: &mut Cpu, block: &LoaderBlock) {
    let wanted = CounterSets(block.machine_sets.get() as u16);
    machine_level::activate(&mut cpu.vcpu, &cpu.machine.configuration, wanted);
    assist::counting_changed(&cpu.vcpu, &cpu.machine.configuration, &mut cpu.native);
    if matches!(cpu.machine.configuration.mode, Mode::RealTime) {
        cpu.vcpu.sampling.after.add(AfterSample::LATE);
    }
    let interval = block.interval.get();
    if interval != 0 {
        let host = block.has(flags::HOST_INDICATOR);
        let indicator = if host { request::HOST_INDICATOR } else { 0 };
        let controls = request::ENABLE_BASIC | request::ACTIVATE_BASIC | indicator;
        cpu.load_sampling_controls(controls, interval);
        let depth = block.stacks.get();
        if depth != 0 {
            let is_packed = block.has(flags::PACKED_STACKS);
            let copy = block.stack_copy.get();
            let stacks = Stacks::new(cpu.vcpu.address, depth, copy, is_packed);
            cpu.stacks = Some(Box::new(stacks));
            cpu.vcpu.sampling.after.add(AfterSample::STACK);
        }
        if host {
            load_program_parameter(&mut cpu.vcpu.machine, block.host_parameter.get(), false);
        }
    }
}

/// Starts CPU `cpu` at `prefix`, and waits until it runs with its own state.
fn start_cpu(cpu: u16, prefix: Prefix) {
    let accepts = |order, parameter| {
        // SAFETY: the CPU is stopped; its lowcore and its `Cpu` are ready. It is busy until it has been reset.
        let (code, _) = unsafe { instruction::sigp_until_taken(cpu, order, parameter) };
        code == ConditionCode::Zero
    };
    let _ = accepts(order::INITIAL_CPU_RESET, 0);
    if !accepts(order::SET_PREFIX, prefix.address()) || !accepts(order::RESTART, 0) {
        refuse(
            WaitState::CpuStart,
            format_args!("CPU {cpu} does not start"),
        );
    }
}

/// Tells the host that the run begins.
fn started(
    machine: &Machine,
    block: &LoaderBlock,
    model: &Model,
    below: Option<&CounterInformation>,
) {
    let mode = match machine.configuration.mode {
        Mode::RealTime if machine.configuration.native => state::Mode::Native,
        Mode::RealTime => state::Mode::RealTime,
        Mode::Exact { .. } if block.has(flags::INTERACTIVE) => state::Mode::Interactive,
        Mode::Exact { .. } => state::Mode::Exact,
    };
    console::state(&Started {
        mode: mode as u8,
        below: below.map_or(0, |below| {
            state::COUNTER_FACILITY | below.authorization.get() as u8
        }),
        cpus: machine.configuration.cpus.into(),
        cpu_speed: machine.configuration.cpu_speed.into(),
        tod: instruction::stckf().into(),
        guest_storage_end: machine.plan.base.into(),
        hsa_end: machine.plan.end.into(),
        machine_type: ((machine.configuration.cpu_id >> 16) as u16 as u32).into(),
        cfvn: model.cfvn.into(),
        csvn: model.csvn.into(),
    });
    if let Some(below) = below {
        defmt::info!(
            "the machine below has the counter facility, versions {=u16} and {=u16}; it authorizes the sets {=u16:04x}",
            below.cfvn.get(),
            below.csvn.get(),
            below.authorization.get()
        );
    }
    let plan = &machine.plan;
    if plan.guest.has_hole() {
        defmt::info!(
            "a part of the HSA from {=u64:x} to {=u64:x} is a hole in guest storage",
            plan.base,
            plan.end
        );
    }
    defmt::info!(
        "guest storage to {=u64:x}, HSA to {=u64:x}, {=u16} CPUs",
        plan.guest.end(),
        plan.top,
        machine.configuration.cpus
    );
    console::flush();
}

/// Runs the guest on CPU 0 from the requested time, or from the next whole 10 ms of the clock if that is later.
fn begin(machine: &'static Machine, block: &LoaderBlock) -> ! {
    // SAFETY: this is CPU 0, and the cell is its own.
    let cpu = unsafe { &mut *machine.cpus.of(0).get() };
    trap::take_up(cpu);
    // What a window adds to them must not take time behind the beginning.
    let commands = operator::traces::without_window(block.commands().unwrap_or_default());
    let ten_milliseconds = 4096 * 10_000;
    let next = (instruction::stckf() / ten_milliseconds + 2) * ten_milliseconds;
    let begin = next.max(block.begin.get());
    instruction::sckc(begin);
    crate::machine::hardware::wait::load_cr0(crate::arch::control::CR0_CLOCK_COMPARATOR);
    while instruction::stckf() < begin {
        crate::machine::hardware::wait::for_external();
    }
    cpu.vcpu.psw = machine.configuration.loaded_program.psw;
    cpu.vcpu.state = CpuState::Operating;
    machine.configuration.mailboxes[0].state.store(
        CpuState::Operating as u8,
        core::sync::atomic::Ordering::SeqCst,
    );
    turn::start(cpu);
    // A CPU does what is requested now before its first instruction.
    for request in block.profilers() {
        machine.his.ask_for(*request);
    }
    his::work(cpu);
    operator::begin(machine, commands, || his::work(cpu));
    trap::go(cpu)
}
