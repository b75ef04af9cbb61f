//! LOAD PROGRAM PARAMETER: while a sampling function is enabled, samples carry the last loaded parameter, in the
//! guest field, or in the host field if the host indicator is one.

use guests::attempt;
use guests::check::{check, holds};
use guests::insn::measurement::{lpp, lsctl};
use guests::sampling::{self, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, LOAD PROGRAM PARAMETER; Guest Program Parameter; Host Program Parameter",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = 10_000;
/// H, bit 1 of the request block.
const HOST: u64 = 1 << 62;
/// H, bit 34 of a data entry, in its level halfword.
const ENTRY_HOST: u16 = 0x2000;

fn run() {
    for host in [false, true] {
        let mut request = sampling::prepare(4, INTERVAL);
        if host {
            request.state |= HOST;
        }
        check("LSCTL", lsctl(&request), 0);
        lpp(0x1111_2222_3333_4444);
        busy(20 * INTERVAL);
        lpp(0x5555_6666_7777_8888);
        busy(20 * INTERVAL);
        lpp(0);
        check("disable", sampling::stop(), 0);
        let (mut first, mut second, mut other, mut zero) = (0, 0, 0, true);
        for n in 0..sampling::stored(0) {
            let entry = sampling::entry(0, n);
            let (used, unused) = if host {
                (entry.host_parameter, entry.guest_parameter)
            } else {
                (entry.guest_parameter, entry.host_parameter)
            };
            zero &= unused == 0 && (entry.level & ENTRY_HOST != 0) == host;
            match used {
                0x1111_2222_3333_4444 => first += 1,
                0x5555_6666_7777_8888 => second += 1,
                _ => other += 1,
            }
        }
        let loaded = (18..=21).contains(&first) && (18..=21).contains(&second);
        shows!(["LPP-6", "LPP-7"], loaded);
        if host {
            shows!(["SREG-13", "BSDE-31", "LSCTL-3"], loaded);
            shows!(["BSDE-12", "BSDE-29"], zero);
        } else {
            shows!(["SREG-12", "BSDE-28"], loaded);
            shows!(["BSDE-12", "BSDE-32"], zero);
        }
        holds(
            "about twenty samples with the first parameter",
            (18..=21).contains(&first),
        );
        holds(
            "about twenty samples with the second one",
            (18..=21).contains(&second),
        );
        holds("at most two with another", other <= 2);
        holds("the other field is zero and H is as set", zero);
    }
    let bytes = [0_u8; 24];
    let odd = bytes.as_ptr() as u64 + 3;
    shows!(
        "LPP-12",
        attempt!(".insn s,0xb2800000,0({a})", a = in(reg_addr) odd).code(),
        0,
    );
    let far = 0x7000_0000_u64;
    shows!(
        "LPP-13",
        attempt!(".insn s,0xb2800000,0({a})", a = in(reg_addr) far).code(),
        5,
    );
    let cc =
        attempt!("lghi %r1, -1\n ltgr %r1, %r1\n .insn s,0xb2800000,0({a})", a = in(reg_addr) odd);
    shows!("LPP-11", cc.condition_code(), 1);
}
