//! Program-event recording: instructions that change which events are recorded, and events together with other
//! interruptions.

use guests::insn::control::stctg_all;
use guests::interruption::Class;
use guests::psw::{INITIAL, Psw};
use guests::recording::{self, BRANCH, FETCH, REGISTERS, Run, STORE, expect, form, text};
use guests::{lowcore, shows_per};

guests::clause!(
    "Principles of Operation, Program-Event Recording, Identification of Cause and Priority of Indication; System/370 Principles of Operation, Program-Event Recording, Programming Notes",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

/// Stores a doubleword at this distance behind the address in register 1 of a text.
fn put(offset: u64, value: u64) {
    recording::put(offset, &value.to_be_bytes());
}

fn run() {
    // STNSM 0(1),BF; LGHI 2,1: the PER mask becomes zero.
    shows_per!(
        [30, 52, 55],
        expect(
            "STNSM that ends recording is recorded, by the mask before it",
            Run::of(FETCH)
                .execute(&[0xAC, 0xBF, 0x10, 0, 0xA7, 0x29, 0, 1])
                .0,
            &["0080 4 40 0000 0004 cc0", "0001 2 - 000a cc0"],
        )
    );
    shows_per!(
        [57],
        expect(
            "STNSM also alters storage",
            Run::of(FETCH | STORE).execute(&[0xAC, 0xBF, 0x10, 0]).0,
            &["0080 4 60 0000 0004 cc0", "0001 2 - 0006 cc0"],
        )
    );
    put(0, 0);
    shows_per!(
        [30, 52, 54],
        expect(
            "SSM that ends recording is recorded",
            Run::of(FETCH)
                .execute(&[0x80, 0, 0x10, 0, 0xA7, 0x29, 0, 1])
                .0,
            &["0080 4 40 0000 0004 cc0", "0001 2 - 000a cc0"],
        )
    );
    // STNSM 0(1),BF; STOSM 0(1),40; LGHI 2,1: the STOSM itself is not recorded.
    shows_per!(
        [27],
        expect(
            "STOSM that begins recording is not recorded, the next instruction is",
            Run::of(FETCH)
                .execute(&[0xAC, 0xBF, 0x10, 0, 0xAD, 0x40, 0x10, 0, 0xA7, 0x29, 0, 1])
                .0,
            &[
                "0080 4 40 0000 0004 cc0",
                "0080 4 40 0008 000c cc0",
                "0081 2 40 000c 000e cc0",
            ],
        )
    );
    // LCTLG 9,9,0(1) of zeros; LGHI 2,1.
    shows_per!(
        [30, 52, 59],
        expect(
            "LCTLG that ends recording is recorded, by the masks before it",
            Run::of(FETCH)
                .execute(&[0xEB, 0x99, 0x10, 0, 0, 0x2F, 0xA7, 0x29, 0, 1])
                .0,
            &["0080 6 40 0000 0006 cc0", "0001 2 - 000c cc0"],
        )
    );
    put(0, text() + 6);
    // LCTLG 11,11,0(1): the range ends at 6 from then on; LGHI 2,1; LGHI 2,1.
    shows_per!(
        [29],
        expect(
            "a range that is loaded counts from the next instruction on",
            Run::of(FETCH)
                .execute(&[
                    0xEB, 0xBB, 0x10, 0, 0, 0x2F, 0xA7, 0x29, 0, 1, 0xA7, 0x29, 0, 1,
                ])
                .0,
            &[
                "0080 6 40 0000 0006 cc0",
                "0080 4 40 0006 000a cc0",
                "0001 2 - 0010 cc0",
            ],
        )
    );
    // LPSWE 0(1): the same PSW without the PER mask, at 4.
    put(0, form().psw() | 2 << 44);
    put(8, text() + 4);
    shows_per!(
        [30, 52],
        expect(
            "LPSWE that ends recording is recorded, and the old PSW is the one that it loaded",
            Run::of(FETCH | BRANCH)
                .execute(&[0xB2, 0xB2, 0x10, 0, 0xA7, 0x29, 0, 1])
                .0,
            &["0080 4 40 0000 0004 cc2", "0001 2 - 000a cc2"],
        )
    );
    refused();
    // L 2,0(3) from beyond storage; an odd register pair; an access exception.
    shows_per!(
        [37],
        expect(
            "an instruction that is suppressed is indicated as fetched, together with its exception",
            Run::of(FETCH | REGISTERS | 0xFFFF)
                .with(3, 0x1000_0000_0000)
                .under(INITIAL)
                .execute(&[0x58, 0x20, 0x30, 0, 0x1D, 0x32, 0xA7, 0x29, 0, 1])
                .0,
            &[
                "0085 4 40 0000 0004 cc0",
                "0086 2 40 0004 0006 cc0",
                "0080 4 50 0006 000a cc0",
                "0081 2 40 000a 000c cc0",
            ],
        )
    );
    expect(
        "an event that is only one of its registers is none with an exception",
        Run::of(REGISTERS | 0xFFFF)
            .with(3, 0x1000_0000_0000)
            .under(INITIAL)
            .execute(&[0x58, 0x20, 0x30, 0, 0x07, 0])
            .0,
        &["0005 4 - 0004 cc0", "0001 2 - 0008 cc0"],
    );
    // MC 0,5 with the mask of class 5 zero: no operation.
    expect(
        "a monitor call without an effect is recorded like any other instruction",
        Run::of(FETCH).execute(&[0xAF, 5, 0, 0]).0,
        &["0080 4 40 0000 0004 cc0", "0081 2 40 0004 0006 cc0"],
    );
    // The machine performs ECCTR in the supervisor state for the program, whether or not the counter is available,
    // and it performs EPSW 2,3.
    shows_per!(
        [33, 34],
        expect(
            "what is performed for the program alters registers",
            Run::of(REGISTERS | 0x3000)
                .execute(&[0xB9, 0x8D, 0, 0x23, 0xB9, 0x8D, 0, 0x23])
                .0,
            &[
                "0080 4 10 0000 0004 cc0",
                "0080 4 10 0004 0008 cc0",
                "0001 2 - 000a cc0",
            ],
        )
    );
    // LGHI 3,0 (no change); LPP 0(1), which the machine below does not have; and EPSW 2,3 behind BCR 0,0.
    expect(
        "what the machine below does not know is recorded behind an instruction that has no event",
        Run::of(FETCH)
            .within(4, 4)
            .execute(&[0xA7, 0x39, 0, 0, 0xB2, 0x80, 0x10, 0])
            .0,
        &["0080 4 40 0004 0008 cc0", "0001 2 - 000a cc0"],
    );
    expect(
        "and so is what it alters",
        Run::of(REGISTERS | 0x3000)
            .execute(&[0x07, 0x00, 0xB9, 0x8D, 0, 0x23])
            .0,
        &["0080 4 10 0002 0006 cc0", "0001 2 - 0008 cc0"],
    );
    expect(
        "an operation exception behind an instruction that has no event",
        &Run::of(FETCH)
            .within(2, 5)
            .execute(&[0x07, 0x00, 0xB2, 0xFF, 0, 0, 0x07, 0x00])
            .0[..1],
        &["0081 4 40 0002 0006 cc0"],
    );
    // EX of an EX; EXRL 0,* of itself.
    expect(
        "an EXECUTE of an EXECUTE is suppressed",
        Run::of(FETCH).execute(&[0xC6, 0, 0, 0, 0, 0, 0x07, 0]).0,
        &[
            "0083 6 40 0000 0006 cc0",
            "0080 2 40 0006 0008 cc0",
            "0081 2 40 0008 000a cc0",
        ],
    );
    guests::check::check("control register 9 is as before", stctg_all()[9], 0);
}

/// What introduces a PSW that is refused, because bit 0 of it is one: the instruction length is zero, whatever that is.
fn refused() {
    const REFUSED: u64 = 1 << 63;
    let at = text() + 4;
    put(0, REFUSED | form().psw());
    put(8, at);
    put(16, REFUSED | 8 << 48 | form().psw() | at);
    // EXRL 0,*+8, and its target behind a NOPR.
    let executed = |[first, second, third, fourth]: [u8; 4]| {
        [0xC6, 0, 0, 0, 0, 4, 0x07, 0, first, second, third, fourth]
    };
    let lpswe = [0xB2, 0xB2, 0x10, 0];
    let lpsw = [0x82, 0, 0x10, 16];
    let first = |words: &[u8]| &Run::of(FETCH).execute(words).0[..1];
    let together = ["0086 0 40 0000 0004 cc0"];
    let right = [
        expect("LPSWE of a PSW that is refused", first(&lpswe), &together),
        expect("LPSW of one", first(&lpsw), &together),
        expect("EXRL of the LPSWE", first(&executed(lpswe)), &together),
        expect("EXRL of the LPSW", first(&executed(lpsw)), &together),
    ];
    shows_per!([37], right == [true; 4]);
    let usual: Psw = lowcore::read(Class::SupervisorCall.new());
    let new = Psw::new(REFUSED | form().psw(), at);
    lowcore::write(Class::SupervisorCall.new(), new);
    let events = first(&[0x0A, 42, 0x07, 0]);
    let right = expect("SVC whose new PSW is refused", events, &together);
    let old: Psw = lowcore::read(Class::SupervisorCall.old());
    shows_per!([37, 51], right && old.address == text() + 2);
    lowcore::write(Class::SupervisorCall.new(), usual);
    // STNSM 32(1),BF, which ends recording; LPSWE 0(1).
    put(8, text() + 8);
    expect(
        "without an event the length is the same",
        &Run::of(FETCH)
            .execute(&[0xAC, 0xBF, 0x10, 32, 0xB2, 0xB2, 0x10, 0])
            .0[..2],
        &["0080 4 40 0000 0004 cc0", "0006 0 - 0008 cc0"],
    );
}
