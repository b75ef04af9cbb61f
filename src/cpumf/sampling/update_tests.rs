//! Each rule of the update process.

use super::super::alert::Alert;
use super::super::configuration_level::ConfigurationLevel;
use super::super::facility::Facility;
use super::super::fixtures::{active, partition};
use super::super::state::ControlState;
use super::fixtures::SparseStorage;
use super::request::{
    ACTIVATE_BASIC, ENABLE_BASIC, HOST_INDICATOR, MAXIMUM_BUFFER_SIZE, SamplingRequest,
};
use super::update::{ATTEMPTS, Sampled};
use super::{Diagnosis, Snapshot};
use crate::instruction::load_sampling_controls;
use arch::psw::Psw;
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::U64;

const TABLE: u64 = 0x1_0000;
const FIRST: u64 = 0x2_0000;
const SECOND: u64 = 0x3_0000;
const TRAILER: u64 = 4032;
const F: u64 = 1 << 63;
const A: u64 = 1 << 62;
const T: u64 = 1 << 61;
const SIZES: u64 = 32 << 16 | 112;

const SNAPSHOT: Snapshot = Snapshot {
    psw: Psw {
        mask: 0x0400_0001_8000_0000,
        address: 0x1234,
    },
    cr4: 0xFFFF,
    program_parameter: 0x77,
    host_program_parameter: 0,
    level: ConfigurationLevel::LogicalPartition,
    limited: false,
};

/// A ring of two blocks: block link, block link, table link to the beginning.
fn ring() -> SparseStorage {
    let mut storage = SparseStorage::new(0..0x100_0000);
    storage.put_u64(TABLE, FIRST);
    storage.put_u64(TABLE + 8, SECOND);
    storage.put_u64(TABLE + 16, TABLE | 1);
    storage
}

fn sample(facility: &mut Facility, storage: &mut SparseStorage) -> Sampled {
    facility.sample(&SNAPSHOT, Diagnosis::default, storage)
}

/// The facility whose next entry would be in the trailer of the first block: no space.
fn at_the_end() -> Facility {
    active(TABLE, FIRST + TRAILER)
}

#[test]
fn a_sample_is_stored_at_the_data_entry_address_which_advances() {
    let (mut facility, mut storage) = (active(TABLE, FIRST), ring());
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Stored);
    assert_eq!(
        storage.bytes_at::<32>(FIRST),
        SNAPSHOT.entry(false).as_bytes()
    );
    assert_eq!(facility.sampling().dear(), FIRST + 32);
    assert_eq!(storage.u64_at(FIRST + TRAILER), 0);
    assert!(!facility.alerts().any());
}

#[test]
fn a_block_takes_126_samples_and_becomes_full_with_the_127th() {
    let (mut facility, mut storage) = (active(TABLE, FIRST), ring());
    for _ in 0..126 {
        assert_eq!(sample(&mut facility, &mut storage), Sampled::Stored);
    }
    assert_eq!(facility.sampling().dear(), FIRST + TRAILER);
    assert_eq!(storage.u64_at(FIRST + TRAILER), 0);
    assert_eq!(
        sample(&mut facility, &mut storage),
        Sampled::StoredInNextBlock
    );
    assert_eq!(storage.u64_at(FIRST + TRAILER), F | T | SIZES);
    assert_eq!(storage.bytes_at::<16>(FIRST + TRAILER + 16), [0xC0; 16]);
    assert_eq!(facility.sampling().tear(), TABLE + 8);
    assert_eq!(facility.sampling().dear(), SECOND + 32);
    assert!(!facility.alerts().any());
}

#[test]
fn making_a_block_full_leaves_the_rest_of_the_trailer_unchanged() {
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.put(
        FIRST + TRAILER,
        &[0x1F, 1, 2, 3, 9, 9, 9, 9, 0, 0, 0, 0, 0, 0, 0, 5],
    );
    storage.put(FIRST + TRAILER + 32, &[0xEE; 32]);
    sample(&mut facility, &mut storage);
    let head = storage.bytes_at::<16>(FIRST + TRAILER);
    assert_eq!(head, [0xBF, 1, 2, 3, 0, 32, 0, 112, 0, 0, 0, 0, 0, 0, 0, 5]);
    assert_eq!(storage.bytes_at::<32>(FIRST + TRAILER + 32), [0xEE; 32]);
}

#[test]
fn a_block_that_becomes_full_alerts_only_if_its_trailer_requests_it() {
    for (request, parameter) in [(0, 0), (A, 0x2000_0000)] {
        let (mut facility, mut storage) = (at_the_end(), ring());
        storage.put_u64(FIRST + TRAILER, request);
        sample(&mut facility, &mut storage);
        assert_eq!(facility.take_alerts(), parameter);
        assert_eq!(facility.sampling().basic(), ControlState::Active);
    }
}

#[test]
fn the_table_link_leads_back_to_the_beginning_of_the_ring() {
    let (mut facility, mut storage) = (active(TABLE + 8, SECOND + TRAILER), ring());
    assert_eq!(
        sample(&mut facility, &mut storage),
        Sampled::StoredInNextBlock
    );
    assert_eq!(facility.sampling().tear(), TABLE);
    assert_eq!(facility.sampling().dear(), FIRST + 32);
}

#[test]
fn a_full_block_counts_the_sample_as_lost_and_nothing_else() {
    let (mut facility, mut storage) = (active(TABLE, FIRST), ring());
    storage.put_u64(FIRST + TRAILER, F | A);
    for count in 1..=3 {
        assert_eq!(sample(&mut facility, &mut storage), Sampled::Discarded);
        assert_eq!(storage.u64_at(FIRST + TRAILER + 8), count);
    }
    assert_eq!(storage.u64_at(FIRST + TRAILER), F | A);
    assert_eq!(facility.sampling().dear(), FIRST);
    assert_eq!(storage.u64_at(FIRST), 0);
    assert!(!facility.alerts().any());
}

#[test]
fn when_the_next_block_is_full_too_the_sample_is_counted_there() {
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.put_u64(SECOND + TRAILER, F);
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Discarded);
    assert_eq!(storage.u64_at(FIRST + TRAILER + 8), 0);
    assert_eq!(storage.u64_at(SECOND + TRAILER + 8), 1);
    assert_eq!(facility.sampling().tear(), TABLE + 8);
    assert_eq!(facility.sampling().dear(), SECOND);
}

#[test]
fn a_carry_out_of_the_overflow_count_is_ignored() {
    let (mut facility, mut storage) = (active(TABLE, FIRST), ring());
    storage.put_u64(FIRST + TRAILER, F);
    storage.put_u64(FIRST + TRAILER + 8, u64::MAX);
    sample(&mut facility, &mut storage);
    assert_eq!(storage.u64_at(FIRST + TRAILER), F);
    assert_eq!(storage.u64_at(FIRST + TRAILER + 8), 0);
}

/// Expects one alert, sampling inactive, and the controls kept.
fn stops(mut facility: Facility, mut storage: SparseStorage, alert: Alert) {
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Stopped);
    assert_eq!(facility.alerts().parameter(), alert as u32);
    assert_eq!(facility.sampling().basic(), ControlState::Inactive);
    assert_eq!(sample(&mut facility, &mut storage), Sampled::NotActive);
}

#[test]
fn a_data_entry_inside_the_trailer_is_an_invalid_entry_address() {
    for offset in [TRAILER + 1, TRAILER + 32, 4095] {
        stops(
            active(TABLE, FIRST + offset),
            ring(),
            Alert::InvalidEntryAddress,
        );
    }
}

#[test]
fn an_entry_address_of_0_to_8191_is_invalid() {
    for address in [0, 0x20, 0x1F00] {
        stops(active(TABLE, address), ring(), Alert::InvalidEntryAddress);
    }
    stops(
        active(0x1000, FIRST + TRAILER),
        ring(),
        Alert::InvalidEntryAddress,
    );
    let mut storage = ring();
    storage.put_u64(TABLE + 8, 0x1000);
    stops(at_the_end(), storage, Alert::InvalidEntryAddress);
    let mut storage = ring();
    storage.put_u64(TABLE + 8, 0x1001);
    stops(at_the_end(), storage, Alert::InvalidEntryAddress);
}

#[test]
fn an_entry_address_of_8192_is_valid() {
    const LOWEST: u64 = 8192;
    // As the address of a data entry, in a block with space and in a full one.
    let (mut facility, mut storage) = (active(TABLE, LOWEST), ring());
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Stored);
    let (mut facility, mut storage) = (active(TABLE, LOWEST), ring());
    storage.put_u64(LOWEST + TRAILER, F);
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Discarded);
    assert_eq!(storage.u64_at(LOWEST + TRAILER + 8), 1);
    // As the origin of the next block.
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.put_u64(TABLE + 8, LOWEST);
    let next = Sampled::StoredInNextBlock;
    assert_eq!(sample(&mut facility, &mut storage), next);
    assert_eq!(facility.sampling().dear(), LOWEST + 32);
    // As the address of a table entry.
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.put_u64(TABLE + 8, LOWEST | 1);
    storage.put_u64(LOWEST, SECOND);
    assert_eq!(sample(&mut facility, &mut storage), next);
    assert_eq!(facility.sampling().tear(), LOWEST);
    assert!(!facility.alerts().any());
}

#[test]
fn a_block_of_one_mebibyte_at_0_becomes_full_at_its_trailer() {
    let controls = MAXIMUM_BUFFER_SIZE | ENABLE_BASIC | ACTIVATE_BASIC;
    let request = SamplingRequest::new(controls, 1000, TABLE, 0xF_FFC0);
    let mut facility = partition();
    load_sampling_controls(&mut facility, request.as_bytes().try_into().unwrap()).unwrap();
    let mut storage = ring();
    storage.put_u64(TABLE + 8, 0x20_0000);
    let next = Sampled::StoredInNextBlock;
    assert_eq!(sample(&mut facility, &mut storage), next);
    assert_eq!(storage.u64_at(0xF_FFC0), F | T | SIZES);
    assert_eq!(facility.sampling().dear(), 0x20_0020);
}

#[test]
fn a_timestamp_indicator_that_is_one_already_stays_one() {
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.put_u64(FIRST + TRAILER, T | 0xFFFF_FFFF);
    sample(&mut facility, &mut storage);
    assert_eq!(storage.u64_at(FIRST + TRAILER), F | T | SIZES);
}

#[test]
fn storage_that_is_not_available_is_an_invalid_entry_address() {
    let beyond = 0x100_0000;
    stops(active(TABLE, beyond), ring(), Alert::InvalidEntryAddress);
    stops(
        active(beyond, FIRST + TRAILER),
        ring(),
        Alert::InvalidEntryAddress,
    );
    let mut storage = ring();
    storage.put_u64(TABLE + 8, beyond);
    stops(at_the_end(), storage, Alert::InvalidEntryAddress);
    let mut storage = ring();
    storage.put_u64(TABLE + 8, beyond | 1);
    stops(at_the_end(), storage, Alert::InvalidEntryAddress);
}

#[test]
fn a_data_entry_that_is_not_available_is_invalid_though_the_trailer_is() {
    let mut storage = ring();
    storage.ranges = vec![0..FIRST, FIRST + 0x800..0x100_0000];
    stops(
        active(TABLE, FIRST),
        storage.clone(),
        Alert::InvalidEntryAddress,
    );
    // But a full block needs no data entry: the sample is only counted.
    storage.put_u64(FIRST + TRAILER, F);
    let counted = sample(&mut active(TABLE, FIRST), &mut storage);
    assert_eq!(counted, Sampled::Discarded);
}

#[test]
fn a_carry_out_of_an_address_is_ignored() {
    // The table-entry address wraps to 0, which is an invalid entry address.
    stops(
        active(u64::MAX - 7, FIRST + TRAILER),
        ring(),
        Alert::InvalidEntryAddress,
    );
    stops(
        active(TABLE, u64::MAX - 15),
        ring(),
        Alert::InvalidEntryAddress,
    );
}

#[test]
fn a_table_link_to_a_table_link_is_an_incorrect_table_entry() {
    let mut storage = ring();
    storage.put_u64(TABLE + 8, (TABLE + 16) | 1);
    stops(at_the_end(), storage, Alert::IncorrectTableEntry);
}

#[test]
fn a_block_link_as_the_last_entry_before_the_boundary_is_an_incorrect_table_entry() {
    let mut storage = ring();
    storage.put_u64(TABLE + 0xFF8, SECOND);
    stops(
        active(TABLE + 0xFF0, FIRST + TRAILER),
        storage,
        Alert::IncorrectTableEntry,
    );
}

#[test]
fn the_last_entry_before_the_boundary_may_be_a_table_link() {
    let (mut facility, mut storage) = (active(TABLE + 0xFF0, FIRST + TRAILER), ring());
    storage.put_u64(TABLE + 0xFF8, (TABLE + 0x800) | 1);
    storage.put_u64(TABLE + 0x800, SECOND);
    assert_eq!(
        sample(&mut facility, &mut storage),
        Sampled::StoredInNextBlock
    );
    assert_eq!(facility.sampling().tear(), TABLE + 0x800);
}

#[test]
fn a_program_request_alert_is_recognized_also_when_the_process_ends_in_an_error() {
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.put_u64(FIRST + TRAILER, A);
    storage.put_u64(TABLE + 8, 0x100_0000);
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Stopped);
    assert_eq!(facility.take_alerts(), 0xA000_0000);
}

#[test]
fn with_the_maximum_buffer_size_indicator_blocks_are_one_mebibyte() {
    let mut facility = partition();
    let request = SamplingRequest {
        controls: U64::new(MAXIMUM_BUFFER_SIZE | HOST_INDICATOR | ENABLE_BASIC | ACTIVATE_BASIC),
        ..SamplingRequest::basic(true, true, 1000, TABLE, 0x20_0000 + 0xF_FFA0)
    };
    load_sampling_controls(&mut facility, request.as_bytes().try_into().unwrap()).unwrap();
    let mut storage = ring();
    storage.put_u64(TABLE + 8, 0x3F_FFFE);
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Stored);
    assert_eq!(
        storage.bytes_at::<32>(0x2F_FFA0),
        SNAPSHOT.entry(true).as_bytes()
    );
    assert_eq!(
        sample(&mut facility, &mut storage),
        Sampled::StoredInNextBlock
    );
    assert_eq!(storage.u64_at(0x2F_FFC0), F | T | SIZES);
    assert_eq!(facility.sampling().dear(), 0x30_0020);
}

#[test]
fn the_program_may_change_the_trailer_during_the_update() {
    // It sets the alert request between the fetch and the swap: the swap is tried again.
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.interference = vec![u128::from(A) << 64];
    assert_eq!(
        sample(&mut facility, &mut storage),
        Sampled::StoredInNextBlock
    );
    assert_eq!(storage.u64_at(FIRST + TRAILER), F | A | T | SIZES);
    assert_eq!(facility.take_alerts(), 0x2000_0000);

    // It empties the block while the sample is about to be counted as lost: there is space now.
    let (mut facility, mut storage) = (active(TABLE, FIRST), ring());
    storage.put_u64(FIRST + TRAILER, F);
    storage.interference = vec![u128::from(A) << 64];
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Stored);
    assert_eq!(storage.u64_at(FIRST + TRAILER), A);
    assert_eq!(storage.u64_at(FIRST + TRAILER + 8), 0);
}

#[test]
fn a_program_that_never_leaves_the_trailer_alone_loses_sample_data() {
    let (mut facility, mut storage) = (at_the_end(), ring());
    storage.interference = (1..=ATTEMPTS as u128).collect();
    assert_eq!(sample(&mut facility, &mut storage), Sampled::Stopped);
    assert_eq!(facility.take_alerts(), 0x0040_0000);
    assert!(storage.interference.is_empty());
}
