//! Staging: what QEMU puts into storage before the machine starts.
//!
//! The guest cannot be loaded where it belongs, because the image is IPLed low in storage and QEMU
//! writes there too. Its bytes are staged at the end of storage, where the machine keeps them, and the loader block
//! says what goes where. If the end of storage is not known, they are staged above everything that is copied.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result, bail, ensure};
use arch::tod::{UNITS_PER_MICROSECOND, UNIX_EPOCH};
use link::{
    loader::{
        AddressRange, BLOCK_ADDRESS, COMMANDS_LENGTH, IN_WINDOW, KEPT_ALIGNMENT, LOWEST_STAGE,
        LoaderBlock, MOST_STAGED, NO_ICOUNT, Segment, WHEN_WAITING, flags, kept_at,
    },
    service::Request,
    state::Mode,
};
use zerocopy::IntoBytes;

use crate::{
    building::forms::{Carried, Form, Part},
    computer::temporary::Temporary,
    machine::{guest::Guest, monitor::Socket},
    numbers::quantities::LOAD_LIMIT,
    options::{
        EventForm, RunOptions,
        count::{self, Counted},
        emulator::Emulator,
    },
};

/// Room for the HSA of a machine with this storage and so many CPUs in the check that a guest fits: slightly more than the
/// machine takes, which has the last word.
pub const fn room_for_hsa(storage: u64, cpus: u64) -> u64 {
    const SHARED: u64 = 16 << 20;
    const OF_A_CPU: u64 = 5 << 19;
    SHARED + storage / 128 + cpus * (OF_A_CPU + storage * 3 / 512)
}

/// The layout of storage when the machine starts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<'g> {
    /// The sealed block.
    pub block: LoaderBlock,
    /// Bytes of the guest and the absolute address at which they are staged.
    pub staged: Vec<(u64, &'g [u8])>,
}

/// Where bytes are staged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Above everything that is copied. The machine moves them.
    AboveGuest,
    /// Where the machine keeps them.
    Kept,
}

impl Stage {
    /// QEMU has the storage that it is given if that is a whole number of its increments, of which the largest below 2 GiB
    /// is this.
    const LARGEST_INCREMENT: u64 = 4 << 20;

    /// For a run with these options in the emulator that the tool starts itself.
    pub fn of(options: &RunOptions) -> Self {
        let is_direct =
            options.below == Emulator::Qemu && matches!(options.form, None | Some(Form::Elf));
        let is_known = options.storage.0 >= LOAD_LIMIT
            || options.storage.0.is_multiple_of(Self::LARGEST_INCREMENT);
        if is_direct && is_known {
            Self::Kept
        } else {
            Self::AboveGuest
        }
    }
}

/// Decides what lies where.
pub fn plan<'g>(
    guest: &'g Guest,
    options: &RunOptions,
    profilers: &[Request],
    stage: Stage,
) -> Result<Plan<'g>> {
    let mut block = LoaderBlock::new();
    for request in profilers {
        ensure!(
            block.add_profiler(*request),
            "{} profilers cannot start together; there can be {MOST_STAGED} at once",
            profilers.len()
        );
    }
    block.set_name(&guest.name);
    block.flags = (flags::FRAMES
        | flags::START
        | match options.mode {
            Mode::Exact => 0,
            Mode::Interactive => flags::INTERACTIVE,
            Mode::RealTime => flags::REAL_TIME,
            Mode::Native => flags::REAL_TIME | flags::NATIVE,
        }
        | if options.cryptography {
            flags::CRYPTOGRAPHY
        } else {
            0
        }
        | match options.events.form {
            EventForm::Z => 0,
            EventForm::S370 => flags::EVENTS_OF_S370,
        }
        | if options.strict { flags::STRICT } else { 0 }
        | if guest.is_linux && options.stacks.is_some() {
            flags::PACKED_STACKS
        } else {
            0
        }
        | if options.still_clock {
            flags::STILL_CLOCK
        } else {
            0
        }
        | if options.count_traps {
            flags::COUNT_TRAPS
        } else {
            0
        }
        | if options.check_hsa {
            flags::CHECK_HSA
        } else {
            0
        }
        | if options.count_paths {
            flags::COUNT_PATHS
        } else {
            0
        }
        | options.count.as_ref().map_or(0, Counted::flags))
    .into();
    block.icount_shift = if options.mode.is_real_time() {
        NO_ICOUNT
    } else {
        0
    }
    .into();
    block.cpus = options.cpus_for(&guest.name, guest.cpus)?.into();
    count::check_storage(options, block.cpus.get())?;
    block.psw_mask = guest.psw_mask.into();
    block.psw_address = guest.psw_address.into();
    block.interval = options.sampling.cycles().into();
    block.stacks = options.stacks.unwrap_or(0).into();
    if options.stack_copy != 0 && !guest.is_linux {
        bail!(
            "--stacks=dwarf unwinds programs of Linux, and {} is not Linux; choose --stacks, which follows the back chain",
            guest.name
        );
    }
    block.stack_copy = options.stack_copy.into();
    block.machine_sets = options.counter_sets().into();
    block.guest_sets = options.honest_guest_sets().into();
    options.configuration.stage(&mut block);
    if let Some(geometry) = &options.exact_caches {
        block.set_geometry(geometry);
    }
    if let Some(again) = &options.again {
        block.window = again.window;
    }
    let ranges = options.count.iter().flat_map(|count| &count.ranges);
    for (place, range) in block.counted_ranges.iter_mut().zip(ranges) {
        *place = AddressRange {
            start: (*range.start()).into(),
            end: (*range.end()).into(),
        };
        block.counted_range_count += 1;
    }
    block.slice = options.slice.into();
    block.begin = options.rtc.seconds().map_or(0, begin).into();
    let later = options.when_waiting.iter();
    let later = later.map(|command| format!("{WHEN_WAITING}{command}"));
    let traces = options.again.iter().flat_map(|again| &again.traces);
    let traces = traces.map(|command| format!("{IN_WINDOW}{command}"));
    let counts = options.count.as_ref().and_then(Counted::order);
    let commands = options.operator.iter().cloned().chain(counts);
    for command in commands.chain(later).chain(traces) {
        if command.contains(['\n', '\0']) || !block.add_command(&command) {
            bail!(
                "the operator's command {command:?} cannot be given in advance: a command is one line, and all of them together have at most {COMMANDS_LENGTH} bytes"
            );
        }
    }

    // The machine keeps what is staged, to load it anew.
    let kept = guest.pieces.iter().map(|piece| piece.bytes.len() as u64);
    let kept: u64 = kept
        .map(|length| length.next_multiple_of(KEPT_ALIGNMENT))
        .sum();
    let storage = options.storage.0.min(LOAD_LIMIT);
    let cpus = block.cpus.get();
    let storage_end = storage.saturating_sub(room_for_hsa(storage, cpus.into()) + kept);
    let too_large = || {
        format!(
            "the guest {} does not fit into {} of storage beside a machine of {cpus} CPUs; choose more with --storage (a guest is loaded below 2G)",
            guest.name, options.storage
        )
    };
    if guest.end() > storage_end {
        bail!(too_large());
    }
    let above_guest = guest
        .end()
        .max(LOWEST_STAGE)
        .next_multiple_of(KEPT_ALIGNMENT);
    let (mut place, end) = match stage {
        Stage::AboveGuest => (above_guest, storage_end),
        Stage::Kept => (kept_at(storage, kept).with_context(too_large)?, storage),
    };
    let mut staged = Vec::new();
    if guest.pieces.len() > block.segments.len() {
        bail!(
            "the guest {} has {} pieces, more than can be staged; link it with fewer segments",
            guest.name,
            guest.pieces.len()
        );
    }
    for (piece, segment) in guest.pieces.iter().zip(&mut block.segments) {
        let length = piece.bytes.len() as u64;
        *segment = Segment {
            staged: place.into(),
            staged_length: length.into(),
            destination: piece.destination.into(),
            length: piece.length.into(),
        };
        if !piece.bytes.is_empty() {
            staged.push((place, &piece.bytes[..]));
        }
        place = (place + length).next_multiple_of(KEPT_ALIGNMENT);
        if place > end {
            bail!(too_large());
        }
    }
    block.segment_count = (guest.pieces.len() as u32).into();
    block.open_segment = guest
        .open_piece
        .map_or(0, |number| number as u32 + 1)
        .into();
    block.seal();
    // The machine would refuse the block at IPL; here the file can be named.
    let bytes = zerocopy::transmute_ref!(&block);
    LoaderBlock::parse(bytes)
        .with_context(|| format!("the guest {} cannot be loaded", guest.file.display()))?;
    Ok(Plan { block, staged })
}

/// What a form of the image carries to run this guest on a console of text, where a person reads it.
pub fn carried(guest: &Guest, options: &RunOptions) -> Result<Carried> {
    let Plan { mut block, staged } = plan(guest, options, &[], Stage::AboveGuest)?;
    block.flags = (block.flags.get() & !flags::FRAMES).into();
    block.seal();
    let part = |(address, bytes): (u64, &[u8])| Part {
        address,
        bytes: bytes.to_vec(),
    };
    let parts = [(BLOCK_ADDRESS, block.as_bytes())]
        .into_iter()
        .chain(staged)
        .map(part)
        .collect();
    Ok(Carried {
        guest: guest.name.clone(),
        storage: options.storage.0,
        cpus: block.cpus.get(),
        parts,
    })
}

/// The TOD clock, bits 0-63, at so many seconds from 1970.
pub const fn begin(seconds: u64) -> u64 {
    UNIX_EPOCH + seconds * 1_000_000 * UNITS_PER_MICROSECOND
}

/// The staged bytes as files that QEMU can load. They are deleted when this is dropped.
pub struct Staging {
    directory: Temporary,
    files: Vec<(u64, PathBuf)>,
}

impl Staging {
    /// A directory for the files.
    pub fn new() -> Result<Self> {
        Ok(Self {
            directory: Temporary::new()?,
            files: Vec::new(),
        })
    }

    /// Writes the files.
    pub fn write(&mut self, plan: &Plan<'_>) -> Result<()> {
        let block = (BLOCK_ADDRESS, plan.block.as_bytes());
        let segments = plan.staged.iter().copied();
        for (address, bytes) in std::iter::once(block).chain(segments) {
            let path = self.directory.path().join(format!("at-{address:X}"));
            fs::write(&path, bytes).with_context(|| {
                format!(
                    "cannot write {}; set TMPDIR to a directory with free space",
                    path.display()
                )
            })?;
            self.files.push((address, path));
        }
        Ok(())
    }

    /// A place for QEMU's monitor beside the files.
    pub fn monitor(&self) -> Option<Socket> {
        Socket::within(self.directory.path())
    }

    /// Where the files are.
    pub fn directory(&self) -> &Path {
        self.directory.path()
    }

    /// What the files hold.
    pub fn parts(&self) -> Result<Vec<Part>> {
        let read = |(address, path): &(u64, PathBuf)| {
            let bytes =
                fs::read(path).with_context(|| format!("cannot read {}", path.display()))?;
            Ok(Part {
                address: *address,
                bytes,
            })
        };
        self.files.iter().map(read).collect()
    }

    /// QEMU's options that load the files.
    pub fn arguments(&self) -> Vec<String> {
        self.files
            .iter()
            .flat_map(|(address, path)| loader_device(*address, path))
            .collect()
    }
}

fn loader_device(address: u64, path: &Path) -> [String; 2] {
    // QEMU reads a doubled comma as a comma of the name.
    let path = path.to_string_lossy().replace(',', ",,");
    [
        "-device".to_owned(),
        format!("loader,file={path},addr={address:#X},force-raw=on"),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        machine::guest::Piece,
        numbers::quantities::{Sampling, Storage},
        symbols::{SymbolTable, places::PlaceNames},
    };
    use cache::Geometry;

    fn guest(pieces: Vec<Piece>) -> Guest {
        Guest {
            nonce: None,
            open_piece: None,
            archives: Vec::new(),
            name: "g".to_owned(),
            file: "/tmp/g".into(),
            psw_mask: 0x1_8000_0000,
            psw_address: 0x20_0000,
            pieces,
            symbols: SymbolTable::default(),
            names: PlaceNames::default(),
            is_linux: false,
            cpus: 1,
        }
    }

    fn piece(destination: u64, length: u64, bytes: usize) -> Piece {
        Piece {
            destination,
            length,
            bytes: vec![1; bytes],
        }
    }

    #[test]
    fn segments_are_staged_above_everything_that_is_copied() {
        let big = guest(vec![
            piece(0x20_0000, 0x180_0000, 0x1001),
            piece(0x1A0_0000, 0x1000, 0),
            piece(0x1B0_0000, 2, 2),
        ]);
        let plan = plan(&big, &RunOptions::default(), &[], Stage::AboveGuest).unwrap();
        assert_eq!(plan.staged.len(), 2, "a piece without bytes needs no file");
        assert_eq!(plan.staged[0].0, 0x1B0_1000);
        assert_eq!(plan.staged[1].0, 0x1B0_3000);
        assert_eq!(plan.block.segments()[1].length.get(), 0x1000);
    }

    #[test]
    fn segments_are_staged_at_the_end_of_a_storage_that_is_known() {
        let two = guest(vec![
            piece(0x20_0000, 0x180_0000, 0x1001),
            piece(0x1B0_0000, 2, 2),
        ]);
        let staged = |storage: u64| {
            let mut options = RunOptions::new("g");
            options.storage = Storage(storage);
            let plan = plan(&two, &options, &[], Stage::of(&options)).unwrap();
            let kept = kept_at(storage, plan.block.kept_length());
            assert_eq!(Some(plan.staged[0].0), kept);
            plan.staged.iter().map(|part| part.0).collect::<Vec<_>>()
        };
        assert_eq!(staged(512 << 20), [0x1FFF_D000, 0x1FFF_F000]);
        assert_eq!(staged(4 << 30), [0x7FFF_D000, 0x7FFF_F000]);
    }

    #[test]
    fn what_another_loads_is_staged_above_the_guest() {
        let stage = |change: fn(&mut RunOptions)| {
            let mut options = RunOptions::new("g");
            change(&mut options);
            Stage::of(&options)
        };
        assert_eq!(stage(|_| ()), Stage::Kept);
        assert_eq!(stage(|options| options.form = Some(Form::Elf)), Stage::Kept);
        let changes: [fn(&mut RunOptions); 3] = [
            |options| options.below = Emulator::Hercules,
            |options| options.form = Some(Form::Bios),
            // QEMU has less, because an increment is larger.
            |options| options.storage = Storage(1027 << 20),
        ];
        assert_eq!(changes.map(stage), [Stage::AboveGuest; 3]);
    }

    #[test]
    fn a_guest_that_does_not_fit_is_refused_with_the_option_that_helps() {
        let mut options = RunOptions::new("g");
        options.storage = Storage(64 << 20);
        let error = plan(
            &guest(vec![piece(0x20_0000, 48 << 20, 9)]),
            &options,
            &[],
            Stage::AboveGuest,
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("64M") && error.contains("--storage"),
            "{error}"
        );
        options.cpus = Some(16);
        let error = plan(
            &guest(vec![piece(0x20_0000, 0x1000, 9)]),
            &options,
            &[],
            Stage::AboveGuest,
        )
        .unwrap_err()
        .to_string();
        assert!(
            error.contains("16 CPUs") && error.contains("--storage"),
            "{error}"
        );
    }

    #[test]
    fn overlapping_segments_are_refused_with_the_file() {
        let twice = guest(vec![
            piece(0x20_0000, 0x1000, 9),
            piece(0x20_0800, 0x1000, 9),
        ]);
        let error = format!(
            "{:#}",
            plan(&twice, &RunOptions::default(), &[], Stage::AboveGuest).unwrap_err()
        );
        assert!(
            error.contains("/tmp/g") && error.contains("overlapping"),
            "{error}"
        );
    }

    #[test]
    fn the_block_says_how_time_passes() {
        let small = guest(vec![piece(0x20_0000, 4, 4)]);
        let mut options = RunOptions::new("g");
        options.sampling = Sampling::Off;
        for (mode, bits, shift) in [
            (Mode::Exact, 3, 0),
            (Mode::Interactive, 0xB, 0),
            (Mode::RealTime, 7, NO_ICOUNT),
        ] {
            options.mode = mode;
            let block = plan(&small, &options, &[], Stage::AboveGuest)
                .unwrap()
                .block;
            assert_eq!((block.flags.get(), block.icount_shift.get()), (bits, shift));
            assert_eq!(block.interval.get(), 0);
        }
    }

    #[test]
    fn the_block_says_how_deep_stacks_are_followed_and_that_a_kernel_packs_them() {
        let mut small = guest(vec![piece(0x20_0000, 4, 4)]);
        let mut options = RunOptions::new("g");
        let of = |guest: &Guest, options: &RunOptions| {
            let block = plan(guest, options, &[], Stage::AboveGuest).unwrap().block;
            (block.stacks.get(), block.has(flags::PACKED_STACKS))
        };
        assert_eq!(of(&small, &options), (0, false));
        options.stacks = Some(16);
        assert_eq!(of(&small, &options), (16, false));
        small.is_linux = true;
        assert_eq!(of(&small, &options), (16, true));
    }

    #[test]
    fn stacks_are_copied_for_programs_of_linux_only() {
        let mut small = guest(vec![piece(0x20_0000, 4, 4)]);
        let mut options = RunOptions::new("g");
        (options.stacks, options.stack_copy) = (Some(64), 4096);
        let refusal = plan(&small, &options, &[], Stage::AboveGuest)
            .unwrap_err()
            .to_string();
        for word in ["--stacks=dwarf", "g is not Linux", "choose --stacks"] {
            assert!(refusal.contains(word), "{refusal}");
        }
        small.is_linux = true;
        let block = plan(&small, &options, &[], Stage::AboveGuest)
            .unwrap()
            .block;
        assert_eq!((block.stacks.get(), block.stack_copy.get()), (64, 4096));
    }

    #[test]
    fn the_block_says_when_the_guest_begins() {
        let small = guest(vec![piece(0x20_0000, 4, 4)]);
        let mut options = RunOptions::new("g");
        // 46,021 days from 1900.
        let date = 46_021 * 86_400_000_000 * 4096;
        for (rtc, begin) in [("now", 0), ("2026-01-01T00:00:00", date)] {
            options.rtc = rtc.parse().unwrap();
            let block = plan(&small, &options, &[], Stage::AboveGuest)
                .unwrap()
                .block;
            assert_eq!(block.begin.get(), begin, "{rtc}");
        }
    }

    #[test]
    fn the_block_says_which_caches_are_modelled() {
        let small = guest(vec![piece(0x20_0000, 4, 4)]);
        let mut options = RunOptions::new("g");
        for text in [None, Some("i=96K/6/256/12,d=16K/4/64/1")] {
            options.exact_caches = text.map(|text| Geometry::parse(text).unwrap());
            let block = plan(&small, &options, &[], Stage::AboveGuest)
                .unwrap()
                .block;
            let staged = block.geometry().unwrap();
            assert_eq!(staged.map(|staged| staged.to_string()).as_deref(), text);
        }
    }

    #[test]
    fn staged_files_hold_the_bytes_and_vanish() {
        let small = guest(vec![piece(0x20_0000, 4, 4)]);
        let plan = plan(&small, &RunOptions::default(), &[], Stage::AboveGuest).unwrap();
        let mut staging = Staging::new().unwrap();
        staging.write(&plan).unwrap();
        let files = staging.files.clone();
        assert_eq!(fs::read(&files[0].1).unwrap().len(), 4096);
        assert_eq!(fs::read(&files[1].1).unwrap(), [1; 4]);
        assert!(staging.arguments()[1].ends_with("addr=0x1F0000,force-raw=on"));
        drop(staging);
        assert!(!files[0].1.exists());
    }

    #[test]
    fn a_comma_in_a_path_is_doubled_for_qemu() {
        assert!(loader_device(0, Path::new("/a,b"))[1].contains("file=/a,,b,"));
    }
}
