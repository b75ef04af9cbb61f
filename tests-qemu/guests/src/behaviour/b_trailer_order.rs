//! The order in which the update process tests a block: first where the next data entry is, then the block-full
//! indicator, then the room. A full block changes in its overflow count only, also if the program has made it full.

use guests::externals::alerts;
use guests::insn::measurement::{SamplingRequest, lsctl};
use guests::misdirected::{self, Ended, INVALID, no_room};
use guests::sampling::{self, ALERT, FULL, TRAILER, busy};
use guests::shows;

guests::clause!(
    "SA23-2260, Sample-Data-Block Update Process, Process Steps; Trailer Entries",
    native = false
);
guests::case!(run);

const INTERVAL: u64 = misdirected::INTERVAL;
/// What the program keeps in the timestamp and in the sizes of entries.
const STAMP: u64 = 0x0123_4567_89AB_CDEF;
const SIZES: u64 = 0x1234_5678;

/// Samples three times with block 0 made full by the program, from this place on.
fn sample_full(dear: u64, flags: u64) -> SamplingRequest {
    sampling::stop();
    let request = SamplingRequest {
        dear,
        ..sampling::prepare(4, INTERVAL)
    };
    sampling::set_trailer(0, 0, flags | SIZES);
    sampling::set_trailer(0, 2, STAMP);
    sampling::set_trailer(0, 3, !STAMP);
    lsctl(&request);
    busy(3 * INTERVAL + INTERVAL / 2);
    request
}

/// A full block counts the samples as lost, whether there is room in it or not.
fn indicator_before_room() {
    for dear in [sampling::block(0), no_room() - 32] {
        let request = sample_full(dear, FULL);
        shows!(
            "STEP-16",
            misdirected::ended(),
            Ended::active(request.tear, dear)
        );
        shows!(
            "STEP-16",
            (sampling::stored(0), sampling::trailer(0, 1)),
            (0, 3)
        );
    }
    sample_full(no_room(), FULL | ALERT);
    shows!(
        "STEP-17",
        misdirected::ended(),
        Ended::active(sampling::table(), no_room())
    );
    shows!(
        "STEP-17",
        (sampling::trailer(0, 1), sampling::stored(1)),
        (3, 0)
    );
    shows!(
        "TRAILER-16",
        (sampling::trailer(0, 2), sampling::trailer(0, 3)),
        (STAMP, !STAMP)
    );
    shows!("TRAILER-17", sampling::trailer(0, 0), FULL | ALERT | SIZES);
}

/// An entry inside the trailer is invalid, whether the block is full or not.
fn place_before_indicator() {
    for flags in [0, FULL] {
        let dear = no_room() + 16;
        sample_full(dear, flags);
        shows!(
            ["STEP-18", "STEP-21"],
            misdirected::ended(),
            Ended::alert(INVALID, sampling::table(), dear)
        );
        shows!(
            "STEP-18",
            (sampling::trailer(0, 0), sampling::trailer(0, 1)),
            (flags | SIZES, 0)
        );
    }
}

/// A block that becomes full keeps the overflow count that the program left there.
fn count() {
    let request = sampling::prepare(4, INTERVAL);
    sampling::set_trailer(0, 1, 77);
    lsctl(&SamplingRequest {
        dear: sampling::block(0) + TRAILER as u64 - 32,
        ..request
    });
    busy(3 * INTERVAL + INTERVAL / 2);
    shows!(
        "TRAILER-18",
        (sampling::trailer(0, 0) & FULL, sampling::trailer(0, 1)),
        (FULL, 77)
    );
    // It also keeps its time, whatever other blocks become full, and while it loses samples.
    let stamp = [2, 3].map(|doubleword| sampling::trailer(0, doubleword));
    sampling::set_trailer(1, 0, FULL);
    busy(2 * INTERVAL);
    lsctl(&SamplingRequest {
        dear: no_room(),
        ..request
    });
    busy(3 * INTERVAL + INTERVAL / 2);
    shows!(
        ["TRAILER-16", "TRAILER-18"],
        (
            [2, 3].map(|doubleword| sampling::trailer(0, doubleword)),
            sampling::trailer(0, 1)
        ),
        (stamp, 80)
    );
}

/// The alert request counts when the block becomes full, and not later.
fn request() {
    alerts();
    let request = sampling::prepare(2, INTERVAL);
    sampling::set_trailer(1, 0, FULL);
    lsctl(&SamplingRequest {
        dear: no_room(),
        ..request
    });
    busy(2 * INTERVAL);
    sampling::set_trailer(1, 0, FULL | ALERT);
    let lost = sampling::trailer(1, 1);
    busy(3 * INTERVAL);
    shows!("TRAILER-19", sampling::trailer(1, 1) - lost, 3);
    shows!("TRAILER-19", alerts(), (0, 0));
}

fn run() {
    for part in [
        indicator_before_room,
        place_before_indicator,
        count,
        request,
    ] {
        part();
        sampling::stop();
    }
}
