//! Instructions at the end of a page whose later halfwords read as those of other instructions: EXTRACT PSW, STORE FACILITY
//! LIST EXTENDED, SET ADDRESS SPACE CONTROL FAST and others. Each does there what it does in the middle of a page, whatever is
//! known of the next page: not executed, executed before, executed from its first halfword on, changed since, another frame,
//! invalid at first, or the first page of the address space behind the last one.

use core::cell::Cell;
use core::ptr::{read_volatile, write_volatile};

use guests::check::check;
use guests::dat::{self, INVALID, PageTable, SEGMENT_INVALID, WINDOW};
use guests::insn::control::{lctlg_all, stctg_all};
use guests::insn::cpu::Page;
use guests::interruption::{self, Class, Registers, old_psw, set_old_psw};
use guests::psw::{self, Psw};
use guests::{lowcore, println};

guests::clause!(
    "Principles of Operation, Instruction Formats; Address Size and Wraparound; EXTRACT PSW",
    native = true,
    options = "; --strict"
);
guests::case!(run);

/// The halfwords: EPSW, STFLE, SACF, TPROT, PCKMO, MVPG, PRNO; EX and EXRL that modify their targets.
const READ_AS: [u16; 9] = [
    0xB98D, 0xB2B0, 0xB279, 0xE501, 0xB928, 0xB254, 0xB93C, 0x4490, 0xC650,
];

/// Stands for the halfword.
const HERE: u16 = 0xFFFF;
/// The base and displacement of another operand of the same instruction.
const OTHER: u16 = 0x5040;
/// The base and the first half of a displacement of 20 bits, whose other half is in the third halfword.
const LONG: u16 = 0xB000;

/// Instructions of each format in which a halfword can be anything.
const FORMS: [(&str, [u16; 3]); 27] = [
    ("RR LR", [0x1823, 0, 0]),
    ("RX LA", [0x4120, HERE, 0]),
    ("RX L", [0x5820, HERE, 0]),
    ("RX ST", [0x5030, HERE, 0]),
    ("RX BC never", [0x4700, HERE, 0]),
    ("RS LM", [0x9823, HERE, 0]),
    ("SI MVI", [0x9255, HERE, 0]),
    ("SI CLI", [0x9507, HERE, 0]),
    ("RI LHI", [0xA728, HERE, 0]),
    ("RI AGHI", [0xA72B, HERE, 0]),
    ("RI BRC never", [0xA704, HERE, 0]),
    ("RIL LGFI", [0xC021, HERE, 0x0001]),
    ("RIL LGFI", [0xC021, 0x0001, HERE]),
    ("RIL CGFI", [0xC22C, HERE, 0x0001]),
    ("RIL BRCL never", [0xC004, 0x0001, HERE]),
    ("SIL MVGHI", [0xE548, HERE, 0x1234]),
    ("SIL MVGHI", [0xE548, OTHER, HERE]),
    ("RXY LG", [0xE320, HERE, 0x0004]),
    ("RXY STG", [0xE330, HERE, 0x0024]),
    ("RXY CHY NY LLGC STY", [0xE320, LONG, HERE]),
    ("RSY LMG", [0xEB23, HERE, 0x0004]),
    ("RSY SLLG", [0xEB23, HERE, 0x000D]),
    ("RIE AHIK", [0xEC23, HERE, 0x00D8]),
    ("RIE CGIJ never", [0xEC20, HERE, 0x007C]),
    ("RRS CGRB never", [0xEC23, HERE, 0x00E4]),
    ("SS MVC", [0xD207, HERE, OTHER]),
    ("SS XC", [0xD707, OTHER, HERE]),
];

/// An instruction that is executed.
#[derive(Clone, Copy)]
struct Text {
    halfwords: [u16; 3],
    read_as: u16,
}

impl Text {
    fn new(form: [u16; 3], read_as: u16) -> Option<Self> {
        // Only some of these are assigned.
        if form[1] == LONG && !matches!(read_as & 0xFF, 0x79 | 0x54 | 0x90 | 0x50) {
            return None;
        }
        Some(Self {
            halfwords: form.map(|part| if part == HERE { read_as } else { part }),
            read_as,
        })
    }

    const fn length(self) -> usize {
        [1, 2, 2, 3][(self.halfwords[0] >> 14) as usize]
    }

    /// Its halfwords, and what follows them.
    fn all(self) -> impl Iterator<Item = u16> {
        let halfwords = self.halfwords.into_iter().take(self.length());
        halfwords.chain([SVC])
    }

    fn put(self, at: usize) {
        for (at, halfword) in (at..).step_by(2).zip(self.all()) {
            put(at, halfword);
        }
    }

    /// Whether EXTRACT PSW begins the second page, with registers 15 and 14, if the instruction is at this offset of the first.
    fn begins_second_with_epsw(self, offset: usize) -> bool {
        self.all().skip((0x1000 - offset) / 2).eq([0xB98D, SVC])
    }

    /// The registers that it is executed with.
    fn registers(self) -> Registers {
        let mut registers = [0; 16];
        registers[1] = SCRATCH;
        registers[2] = 0x2222_2222_0000_0123;
        registers[3] = 0x3333_4444_5555_6666;
        registers[5] = operands() + 0x40 - u64::from(OTHER & 0xFFF);
        let (base, displacement) = if self.halfwords[1] == LONG {
            (LONG, i64::from((self.read_as >> 8) as i8) << 12)
        } else {
            (self.read_as, i64::from(self.read_as & 0xFFF))
        };
        registers[usize::from(base >> 12)] = operands().wrapping_sub_signed(displacement);
        registers
    }
}

/// Three pages of text: an instruction extends from the first into the second one.
static mut TEXT: [Page; 3] = [const { Page([0; 4096]) }; 3];
/// Text in the middle of the third page.
const MIDDLE: usize = 0x2400;
/// In the second page.
const SECOND: usize = 0x1800;
/// SUPERVISOR CALL, behind the instruction.
const SVC: u16 = 0x0AFE;

/// What the instructions load, store and compare, with storage for what they store elsewhere.
static mut OPERANDS: [Page; 3] = [const { Page([0; 4096]) }; 3];
const OPERANDS_LENGTH: usize = 0x60;
/// Storage in which PCKMO and PRNO put what they can do.
const SCRATCH: u64 = 0x60_0000;

fn operands() -> u64 {
    &raw const OPERANDS as u64 + 0x1000
}

fn text() -> u64 {
    &raw const TEXT as u64
}

fn put(at: usize, halfword: u16) {
    // SAFETY: inside the pages, which are this program's own, and nothing refers to them.
    unsafe { write_volatile((text() + at as u64) as *mut u16, halfword) }
}

/// Fields in the prefix page: registers and address of this program, registers and PSW of the text.
const SAVED: usize = 0xC80;
const BACK: usize = 0xD00;
const REGISTERS: usize = 0xD80;
const PSW: usize = 0xE00;

static mut LEFT: (Registers, u64) = ([0; 16], 0);

/// The text has ended: this program goes on.
fn ended(class: Class, code: u16, registers: &mut Registers) {
    let condition_code = old_psw(class).condition_code();
    // SAFETY: only this CPU, between two texts.
    unsafe {
        write_volatile(
            &raw mut LEFT,
            (*registers, u64::from(code) << 8 | u64::from(condition_code)),
        );
    }
    *registers = lowcore::read(SAVED);
    set_old_psw(class, Psw::new(psw::INITIAL, lowcore::read(BACK)));
}

extern "C" fn supervisor_call(registers: &mut Registers) {
    ended(Class::SupervisorCall, 0, registers);
}

/// A page that is invalid becomes valid, and the text goes on.
extern "C" fn program(registers: &mut Registers) {
    const PAGE_TRANSLATION: u16 = 0x11;
    let code: u16 = lowcore::read(lowcore::PROGRAM_CODE);
    let at: u64 = lowcore::read(lowcore::TRANSLATION_EXCEPTION);
    if code == PAGE_TRANSLATION && at & !0xFFF == WINDOW + 0x1000 {
        dat::set_window(1, text() + 0x1000);
        return;
    }
    ended(Class::Program, code, registers);
}

/// Executes from an address on. Returns the registers, the interruption code and the condition code.
fn execute(mask: u64, at: u64, registers: Registers) -> (Registers, u64) {
    lowcore::write(REGISTERS, registers);
    lowcore::write(PSW, Psw::new(mask, at));
    // SAFETY: the handlers load every register again and go on at 31.
    unsafe {
        core::arch::asm!(
            "stmg %r0, %r15, 0xC80(%r0)",
            "larl %r1, 31f",
            "stg %r1, 0xD00(%r0)",
            "lmg %r0, %r15, 0xD80(%r0)",
            "lpswe 0xE00(%r0)",
            "31:",
            out("r1") _,
        );
        read_volatile(&raw const LEFT)
    }
}

/// A number that stands for everything that a text leaves.
fn perform(mask: u64, at: u64, text: Text) -> u64 {
    let operand = |n: usize| (operands() + n as u64) as *mut u8;
    for n in 0..OPERANDS_LENGTH {
        // SAFETY: inside the operands, to which nothing refers.
        unsafe { write_volatile(operand(n), (7 * n + 3) as u8) };
    }
    let (registers, ended) = execute(mask, at, text.registers());
    let mut sum = registers[2] ^ registers[3].rotate_left(21) ^ ended.rotate_left(40);
    for n in 0..OPERANDS_LENGTH {
        // SAFETY: as above.
        let byte = unsafe { read_volatile(operand(n)) };
        sum = sum.wrapping_mul(0x1_0000_01B3).wrapping_add(byte.into());
    }
    sum
}

/// The last page of the address space.
const LAST: u64 = 0_u64.wrapping_sub(0x1000);

/// How the text is executed: the mask of its PSW, and the address of its first page.
struct Mode {
    name: &'static str,
    mask: u64,
    first: u64,
}

/// Executes the second page, which is at `frame`, from its first halfword on, if that is EPSW, PCKMO or PRNO: with these
/// registers each stores nothing that matters, whatever its operands are.
fn execute_second(mode: &Mode, frame: u64, text_is: Text) -> Option<Registers> {
    // SAFETY: inside the pages.
    let begin = unsafe { read_volatile(frame as *const u16) };
    let at = mode.first.wrapping_add(0x1000);
    matches!(begin, 0xB98D | 0xB928 | 0xB93C).then(|| execute(mode.mask, at, text_is.registers()).0)
}

/// One form with one halfword in one mode, and with another one in its place. Returns what it does, and in how many cases it
/// does something else.
fn test(mode: &Mode, one: Text, other: Text) -> (u64, u64) {
    let &Mode { name, mask, first } = mode;
    let [one, other] = [one, other].map(|text| {
        text.put(MIDDLE);
        let at = first.wrapping_add(MIDDLE as u64);
        (text, perform(mask, at, text))
    });
    let second = text() + 0x1000;
    let wrong = Cell::new(0);
    for offset in [0xFF8, 0xFFA, 0xFFC, 0xFFE] {
        let fails = |case: &str, text: Text| {
            println!(
                "wrong: {name}, {:04x?} at {offset:x}, {case}",
                text.halfwords
            );
            wrong.set(wrong.get() + 1);
        };
        let does = |case: &str, (text, expected): (Text, u64)| {
            if perform(mask, first + offset as u64, text) != expected {
                fails(case, text);
            }
        };
        let execute_in_second = || execute(mask, first.wrapping_add(SECOND as u64), [0; 16]);
        one.0.put(offset);
        put(SECOND, SVC);
        does("the next page not executed", one);
        does("again", one);
        one.0.put(offset);
        put(SECOND, SVC);
        execute_in_second();
        does("the next page executed before", one);
        does("again then", one);
        one.0.put(offset);
        if let Some(left) = execute_second(mode, second, one.0) {
            does("the next page executed from its beginning", one);
            execute_second(mode, second, one.0);
            does("again from there", one);
            let is_epsw = one.0.begins_second_with_epsw(offset);
            if is_epsw && (left[15] ^ mask >> 32) as u32 & !0x3000 != 0 {
                fails("EPSW at the beginning of the next page", one.0);
            }
        }
        other.0.put(offset);
        does("changed", other);
        execute_second(mode, second, other.0);
        does("executed from its beginning since", other);
        one.0.put(offset);
        does("as before", one);
        if first != WINDOW {
            continue;
        }
        dat::replace_window(1, INVALID);
        does("the next page invalid at first", one);
        let in_first = (0x1000 - offset) / 2;
        let begins = [one, other].map(|(text, _)| text.all().take(in_first));
        let [one_begins, other_begins] = begins;
        if one_begins.eq(other_begins) {
            let all = other.0.all().skip(in_first);
            for (at, halfword) in (0x2000..).step_by(2).zip(all) {
                put(at, halfword);
            }
            dat::replace_window(1, text() + 0x2000);
            does("another frame", other);
            execute_second(mode, text() + 0x2000, other.0);
            does("another frame, executed from its beginning", other);
            dat::replace_window(1, text() + 0x1000);
            does("the former frame", one);
        }
    }
    (one.1, wrong.get())
}

/// All forms, each with every third halfword, and from the next one on in the next mode.
fn test_all(number: usize, mode: &Mode) {
    const THIRD: usize = 3;
    for (m, (name, form)) in FORMS.into_iter().enumerate() {
        let (mut sum, mut wrong) = (0_u64, 0);
        let halfwords = READ_AS.iter().enumerate();
        for (n, &read_as) in halfwords.skip((number + m) % THIRD).step_by(THIRD) {
            let others = (1..READ_AS.len()).map(|m| READ_AS[(n + m) % READ_AS.len()]);
            let other = others.filter_map(|other| Text::new(form, other)).next();
            let (Some(one), Some(other)) = (Text::new(form, read_as), other) else {
                continue;
            };
            let (does, not) = test(mode, one, other);
            sum = sum.wrapping_mul(31).wrapping_add(does);
            wrong += not;
        }
        println!("{} {name} {form:04x?}: {sum:016x}", mode.name);
        check("  wrong at the end of a page", wrong, 0);
    }
}

#[repr(C, align(16384))]
struct Table([u64; 2048]);

/// A space whose last page is followed by its first one: region-first to segment tables for both ends.
static mut LOW: [Table; 4] = [const { Table([0; 2048]) }; 4];
static mut HIGH: [Table; 3] = [const { Table([0; 2048]) }; 3];
static mut FIRST_PAGES: PageTable = PageTable([INVALID; 256]);
static mut LAST_PAGES: PageTable = PageTable([INVALID; 256]);

/// Builds the space: the last page is the first one of the text, the first page the second one.
fn build() -> u64 {
    // SAFETY: the tables are used by no space yet.
    unsafe {
        let (low, high) = (&mut *(&raw mut LOW), &mut *(&raw mut HIGH));
        let origins = [0, 1, 2].map(|n| &raw const low[n] as u64);
        for (level, table) in low.iter_mut().enumerate() {
            table.0.fill(SEGMENT_INVALID | (level as u64) << 2);
            if level > 0 {
                table.0[0] = origins[level - 1] | (level as u64) << 2 | 3;
            }
        }
        let origins = [0, 1, 2].map(|n| &raw const high[n] as u64);
        for (level, table) in high.iter_mut().enumerate() {
            table.0.fill(SEGMENT_INVALID | (level as u64) << 2);
            if level > 0 {
                table.0[2047] = origins[level - 1] | (level as u64) << 2 | 3;
            }
        }
        low[3].0[2047] = origins[2] | 3 << 2 | 3;
        for (segment, entry) in low[0].0.iter_mut().enumerate().take(16) {
            *entry = read_volatile(dat::segment_entry(segment) as *const u64);
        }
        let pages = &mut *(&raw mut FIRST_PAGES);
        for (page, entry) in (0..).zip(&mut pages.0) {
            *entry = page << 12;
        }
        pages.0[0] = text() + 0x1000;
        pages.0[1] = text() + 0x2000;
        low[0].0[0] = &raw const FIRST_PAGES as u64;
        high[0].0[2047] = &raw const LAST_PAGES as u64;
        (*(&raw mut LAST_PAGES)).0[255] = text();
        &raw const low[3] as u64 | 3 << 2 | 3
    }
}

fn run() {
    interruption::replace(Class::SupervisorCall, supervisor_call);
    interruption::replace(Class::Program, program);
    dat::prepare();
    for page in 0..3 {
        dat::set_window(page, text() + 0x1000 * page as u64);
    }
    let supervisor = psw::INITIAL | psw::DAT;
    let modes = [
        ("DAT off", psw::INITIAL, text()),
        ("a window", supervisor, WINDOW),
        ("a program's window", supervisor | psw::PROBLEM, WINDOW),
        ("the last page", supervisor, LAST),
        ("a program's last page", supervisor | psw::PROBLEM, LAST),
    ];
    let kept = stctg_all();
    let mut registers = kept;
    for (number, (name, mask, first)) in modes.into_iter().enumerate() {
        if first == LAST && registers == kept {
            let space = build();
            for register in [1, 7, 13] {
                registers[register] = space;
            }
            lctlg_all(&registers);
        }
        test_all(number, &Mode { name, mask, first });
    }
    lctlg_all(&kept);
}
