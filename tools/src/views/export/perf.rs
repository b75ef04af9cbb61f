//! perf.data, as `perf report` of any computer reads it.
//!
//! Such a file could hold the blocks themselves, but perf reads them only on s390x. So each sample becomes a record:
//! address, process and thread, time, CPU, and the cycles that it stands for. Names come from ELF files beside it
//! ([`super::elf`]), one for each stretch of storage that has routines. The file gives their full paths, so perf
//! finds them without an option.
//!
//! The owner of a sample is a process of the file ([`crate::profile::objects`]). The wait state, a secure guest and
//! the user space of Linux have no routines. All their addresses are mapped under one name, that of their line.
//!
//! Everything is written in the byte order of the PC. Samples are in the order of their times, and the file is
//! written as samples are read.

use std::{
    collections::{HashMap, HashSet},
    fs::{self, File},
    io::{BufWriter, Seek, SeekFrom, Write},
    ops::Range,
    path::{Path, PathBuf},
};

use anyhow::{Context, Result};

use super::{Ticker, elf};
use crate::{
    profile::{
        Profile, Sample,
        blocks::BlockCounts,
        callers::Callers,
        objects::{Object, Owner, SPACE_0},
    },
    symbols::{
        Symbol,
        linux::USER as USER_LINE,
        mapped::Programs,
        names::{Frame, Names},
    },
};

/// The first eight bytes.
const MAGIC: &[u8; 8] = b"PERFILE2";
/// Bytes of the file's header.
const HEADER: u64 = 104;
/// Bytes of the event's attributes: those of Linux 4.1, which any later perf reads.
const ATTRIBUTES: u64 = 112;
/// Bytes of an event with the section of its numbers.
const EVENT: u64 = ATTRIBUTES + 16;
/// The event's number.
const IDENTIFIER: u64 = 1;
/// Where the records begin: behind the header, the number and the event.
const RECORDS: u64 = HEADER + 8 + EVENT;

/// Fields of a sample: IP, TID, TIME, CPU, PERIOD and IDENTIFIER.
const SAMPLE_TYPE: u64 = 1 | 1 << 1 | 1 << 2 | 1 << 7 | 1 << 8 | 1 << 16;
/// The field of a sample with its call stack.
const CALL_CHAIN: u64 = 1 << 5;
/// Flags of the event: mmap, comm, and sample_id_all.
const FLAGS: u64 = 1 << 8 | 1 << 9 | 1 << 18;

/// Types of records.
const MMAP: u32 = 1;
const COMM: u32 = 3;
const SAMPLE: u32 = 9;

/// The address space that an address belongs to.
const KERNEL: u16 = 1;
const USER: u16 = 2;

/// In a call stack: what follows is in the kernel, or in user space.
const CONTEXT_KERNEL: u64 = -128_i64 as u64;
const CONTEXT_USER: u64 = -512_i64 as u64;

/// The feature sections, as the bits of the header number them.
const ARCHITECTURE: u32 = 6;
const EVENT_DESCRIPTION: u32 = 12;

/// The longest mapping: a process cannot map all addresses.
const EVERYTHING: u64 = i64::MAX as u64;

/// perf keeps this many characters of a process's name.
const LONGEST_NAME: usize = 15;

/// The directory with the names of routines that belong to this file.
pub fn symbols_directory(file: &Path) -> PathBuf {
    let mut name = file.file_name().unwrap_or_default().to_owned();
    name.push(".symbols");
    file.with_file_name(name)
}

/// Writes the samples to `new`, which will be called `file`, and the names of routines beside it.
pub fn write(
    profile: &Profile,
    new: &mut File,
    file: &Path,
    ticker: &mut Ticker,
) -> Result<BlockCounts> {
    let directory = symbols_directory(file);
    match fs::remove_dir_all(&directory) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            return Err(error).context(format!("cannot replace {}", directory.display()));
        }
        _ => {}
    }
    fs::create_dir_all(&directory)
        .with_context(|| format!("cannot create {}", directory.display()))?;
    let directory = directory
        .canonicalize()
        .with_context(|| format!("cannot find {}", directory.display()))?;
    let mut writer = Records::new(profile, profile.callers()?, new, directory);
    writer.out.write_all(&[0; RECORDS as usize])?;
    writer.kernel()?;
    let mut samples = profile.by_time();
    for sample in samples.by_ref() {
        ticker.tick();
        writer.sample(&sample?)?;
    }
    writer.finish()?;
    Ok(samples.found())
}

/// A stretch of storage and the file with its names.
struct Image {
    object: Object,
    path: PathBuf,
}

struct Records<'p, 'f> {
    profile: &'p Profile,
    callers: Callers,
    out: BufWriter<&'f mut File>,
    directory: PathBuf,
    images: Vec<Image>,
    /// Bytes of records.
    length: u64,
    /// The time of the first sample.
    start: Option<u64>,
    /// Processes that have been named, and whether their storage is mapped.
    known: HashMap<u32, bool>,
    /// Lines that have a file of their own.
    standalone: HashSet<&'static str>,
}

impl<'p, 'f> Records<'p, 'f> {
    fn new(profile: &'p Profile, callers: Callers, file: &'f mut File, directory: PathBuf) -> Self {
        let mut names = HashSet::new();
        let image = |object: Object| {
            // The name of a program may have any characters, that of a file may not.
            let mut name = object.name.replace(['/', '\0', '\n'], "_");
            if let Some(space) = object.space {
                name = format!("{space:04X}.{name}");
            }
            if matches!(&name[..], "" | "." | "..") {
                name = "program".to_owned();
            }
            let mut end = name.len().min(120);
            while !name.is_char_boundary(end) {
                end -= 1;
            }
            name.truncate(end);
            while !names.insert(name.clone()) {
                name.push('_');
            }
            let path = directory.join(name);
            Image { object, path }
        };
        let images = profile.names.objects().into_iter().map(image).collect();
        Self {
            profile,
            callers,
            out: BufWriter::with_capacity(1 << 16, file),
            directory,
            images,
            length: 0,
            start: None,
            known: HashMap::new(),
            standalone: HashSet::new(),
        }
    }

    fn record(&mut self, kind: u32, whose: u16, body: &[u8]) -> Result<()> {
        let size = 8 + body.len();
        let size = u16::try_from(size).context("a name is too long for perf.data")?;
        self.out.write_all(&kind.to_le_bytes())?;
        self.out.write_all(&whose.to_le_bytes())?;
        self.out.write_all(&size.to_le_bytes())?;
        self.out.write_all(body)?;
        self.length += u64::from(size);
        Ok(())
    }

    /// Writes a record that is not a sample. Its time is zero, so perf heeds it as soon as it reads it.
    fn metadata(
        &mut self,
        kind: u32,
        whose: u16,
        process: u32,
        body: &[u8],
        name: &[u8],
    ) -> Result<()> {
        let mut bytes = body.to_vec();
        bytes.extend(name);
        bytes.push(0);
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        for number in [process, process] {
            bytes.extend(number.to_le_bytes());
        }
        for number in [0, 0, IDENTIFIER] {
            bytes.extend(u64::to_le_bytes(number));
        }
        self.record(kind, whose, &bytes)
    }

    fn map(
        &mut self,
        whose: u16,
        process: u32,
        range: Range<u64>,
        offset: u64,
        path: &Path,
    ) -> Result<()> {
        let mut body = Vec::new();
        body.extend(process.to_le_bytes());
        body.extend(process.to_le_bytes());
        for number in [range.start, range.end - range.start, offset] {
            body.extend(number.to_le_bytes());
        }
        let path = path.as_os_str().as_encoded_bytes().to_vec();
        self.metadata(MMAP, whose, process, &body, &path)
    }

    /// Writes the file of an image, and maps it.
    fn image(&mut self, place: usize, whose: u16, process: u32) -> Result<()> {
        let Image { object, path } = &self.images[place];
        let (range, path) = (object.range(), path.clone());
        let length = range.end - range.start;
        if !path.exists() {
            put(&path, &elf::file(range.start, length, &object.symbols)?)?;
        }
        self.map(whose, process, range, 0, &path)
    }

    /// Maps the files that a process of Linux mapped, beside this file, so that perf finds their own names.
    fn programs(&mut self, programs: &Programs, process: u32) -> Result<()> {
        for mapping in programs.mappings(process) {
            let file = &programs.files()[mapping.file];
            // The number tells files of one name apart.
            let name: String = file.name().chars().take(60).collect();
            let path = self.directory.join(format!("{}.{name}", mapping.file));
            if !path.exists() {
                if file.bytes().is_empty() {
                    continue;
                }
                put(&path, file.bytes())?;
            }
            let range = mapping.start..mapping.end;
            self.map(USER, process, range, mapping.offset, &path)?;
        }
        Ok(())
    }

    /// The kernel of Linux and its modules, which all processes share.
    fn kernel(&mut self) -> Result<()> {
        if matches!(self.profile.names, Names::Linux(_)) {
            for place in 0..self.images.len() {
                self.image(place, KERNEL, u32::MAX)?;
            }
        }
        Ok(())
    }

    /// Names a process, and maps its storage if that is asked for.
    fn owner(&mut self, owner: &Owner<'_>, needs_storage: bool) -> Result<()> {
        let process = owner.number;
        if !self.known.contains_key(&process) {
            let mut body = Vec::new();
            body.extend(process.to_le_bytes());
            body.extend(process.to_le_bytes());
            let mut name = owner.name.replace(char::is_control, " ");
            while name.len() > LONGEST_NAME {
                name.pop();
            }
            self.metadata(COMM, 0, process, &body, name.as_bytes())?;
            self.known.insert(process, false);
        }
        if !needs_storage || self.known.insert(process, true) == Some(true) {
            return Ok(());
        }
        let mut line = owner.only_line;
        if let Names::Linux(names) = &self.profile.names
            && line.is_none_or(|line| line == USER_LINE)
        {
            if names.programs.has(process) {
                return self.programs(&names.programs, process);
            }
            line = Some(USER_LINE);
        }
        if let Some(line) = line {
            let path = self.directory.join(line);
            if self.standalone.insert(line) {
                let symbol = Symbol {
                    start: 0,
                    end: EVERYTHING,
                    module: String::new(),
                    name: line.to_owned(),
                };
                put(&path, &elf::file(0, EVERYTHING, &[symbol])?)?;
            }
            return self.map(USER, process, 0..EVERYTHING, 0, &path);
        }
        for place in 0..self.images.len() {
            let space = self.images[place].object.space;
            let number = |space: u16| if space == 0 { SPACE_0 } else { space.into() };
            if space.is_none_or(|space| number(space) == process) {
                self.image(place, USER, process)?;
            }
        }
        Ok(())
    }

    fn sample(&mut self, sample: &Sample) -> Result<()> {
        let profile = self.profile;
        let owner = profile.names.owner(&sample.entry, &profile.title);
        let callers = self.callers.of(sample)?;
        // The program's part of a call stack needs the program's storage, too.
        let in_program = callers.iter().any(|caller| caller.is_program);
        self.owner(&owner, !owner.is_kernel || in_program)?;
        let start = *self.start.get_or_insert(sample.tod);
        let nanoseconds = u128::from(sample.tod.saturating_sub(start)) * 1000 / 4096;
        // To perf a time of zero means no time.
        let time = nanoseconds as u64 + 1;
        let address = sample.entry.instruction_address.get();
        let mut fields = vec![
            IDENTIFIER,
            address,
            u64::from(owner.number) << 32 | u64::from(owner.number),
            time,
            sample.cpu.into(),
            sample.pace.interval.max(1),
        ];
        if self.callers.are_known() {
            let chain = chain(address, owner.is_kernel, &callers);
            fields.push(chain.len() as u64);
            fields.extend(chain);
        }
        let body: Vec<u8> = fields.into_iter().flat_map(u64::to_le_bytes).collect();
        let whose = if owner.is_kernel { KERNEL } else { USER };
        self.record(SAMPLE, whose, &body)
    }

    /// Writes the part behind the records, and then the part before them.
    fn finish(mut self) -> Result<()> {
        let attributes = self.attributes();
        let features = [
            (ARCHITECTURE, text("s390x")),
            (EVENT_DESCRIPTION, description(&attributes)),
        ];
        let mut at = RECORDS + self.length + 16 * features.len() as u64;
        let mut bits = 0_u64;
        for (feature, section) in &features {
            bits |= 1 << feature;
            self.out.write_all(&at.to_le_bytes())?;
            self.out.write_all(&(section.len() as u64).to_le_bytes())?;
            at += section.len() as u64;
        }
        for (_, section) in &features {
            self.out.write_all(section)?;
        }
        self.out.seek(SeekFrom::Start(0))?;
        self.out.write_all(MAGIC)?;
        let header = [
            HEADER,
            EVENT,
            // The place of the event and of the records. The section of event types is obsolete and empty.
            HEADER + 8,
            EVENT,
            RECORDS,
            self.length,
            0,
            0,
            bits,
            0,
            0,
            0,
            // The event's number follows the header.
            IDENTIFIER,
        ];
        for number in header {
            self.out.write_all(&number.to_le_bytes())?;
        }
        self.out.write_all(&attributes)?;
        for number in [HEADER, 8] {
            self.out.write_all(&number.to_le_bytes())?;
        }
        self.out.flush()?;
        Ok(())
    }

    /// The event: cycles, by the hardware.
    fn attributes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        bytes.extend(0_u32.to_le_bytes());
        bytes.extend((ATTRIBUTES as u32).to_le_bytes());
        let interval = self.profile.pace.interval.max(1);
        let chain = if self.callers.are_known() {
            CALL_CHAIN
        } else {
            0
        };
        for number in [0, interval, SAMPLE_TYPE | chain, 0, FLAGS] {
            bytes.extend(u64::to_le_bytes(number));
        }
        bytes.resize(ATTRIBUTES as usize, 0);
        bytes
    }
}

/// The call chain of a sample: the kernel's part, and then that of the program. Each begins with its context.
fn chain(address: u64, is_kernel: bool, callers: &[Frame]) -> Vec<u64> {
    let mut chain = vec![
        if is_kernel {
            CONTEXT_KERNEL
        } else {
            CONTEXT_USER
        },
        address,
    ];
    let mut is_program = !is_kernel;
    for caller in callers {
        if caller.is_program && !is_program {
            chain.push(CONTEXT_USER);
            is_program = true;
        }
        chain.push(caller.address);
    }
    chain
}

/// A text of a feature section: its length with padding, and the padded text.
fn text(text: &str) -> Vec<u8> {
    let length = (text.len() + 1).next_multiple_of(8);
    let mut bytes = (length as u32).to_le_bytes().to_vec();
    bytes.extend(text.as_bytes());
    bytes.resize(4 + length, 0);
    bytes
}

/// The section that names the event.
fn description(attributes: &[u8]) -> Vec<u8> {
    let mut bytes = 1_u32.to_le_bytes().to_vec();
    bytes.extend((ATTRIBUTES as u32).to_le_bytes());
    bytes.extend(attributes);
    bytes.extend(1_u32.to_le_bytes());
    bytes.extend(text("cycles"));
    bytes.extend(IDENTIFIER.to_le_bytes());
    bytes
}

fn put(path: &Path, bytes: &[u8]) -> Result<()> {
    fs::write(path, bytes).with_context(|| format!("cannot write {}", path.display()))
}
