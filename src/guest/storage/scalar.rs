//! Operands that are one number: bytes, halfwords, words and doublewords.

use super::{Piece, checked_absolute, fetch, keys, low, put, resolve};
use crate::hardware::Hardware;
use crate::state::access::{Access, AccessKey, Fault, Manner, Space};
use crate::state::configuration::Configuration;
use crate::state::vcpu::Vcpu;
use crate::storage::scanner;
use arch::address::{Real, Virtual};

macro_rules! scalar {
    ($type:ty, $fetch:ident, $put:ident, $load:ident, $store:ident, $real:ident, $put_real:ident, $what:literal) => {
        #[doc = concat!("Fetches ", $what, " at a logical address, on any boundary.")]
        ///
        /// # Errors
        /// As [`resolve`].
        #[inline(always)]
        pub fn $fetch<H: Hardware>(
            cpu: &Vcpu,
            configuration: &Configuration,
            hardware: &H,
            at: Virtual,
        ) -> Result<$type, Fault> {
            const LENGTH: usize = size_of::<$type>();
            let claim = resolve(
                cpu,
                configuration,
                hardware,
                at,
                LENGTH as u64,
                Access::Fetch,
            )?;
            if claim.second.length() == 0 {
                return Ok(hardware.$load(claim.first.start()));
            }
            let mut bytes = [0; LENGTH];
            claim.load(hardware, &mut bytes);
            Ok(<$type>::from_be_bytes(bytes))
        }

        #[doc = concat!("Stores ", $what, " at a logical address, on any boundary.")]
        ///
        /// # Errors
        /// As [`resolve`]; storage is unchanged then.
        #[inline(always)]
        pub fn $put<H: Hardware>(
            cpu: &Vcpu,
            configuration: &Configuration,
            hardware: &mut H,
            at: Virtual,
            value: $type,
        ) -> Result<(), Fault> {
            const LENGTH: u64 = size_of::<$type>() as u64;
            let claim = resolve(cpu, configuration, hardware, at, LENGTH, Access::Store)?;
            if claim.second.length() == 0 {
                let place = claim.first.start();
                scanner::store_into(configuration, hardware, place.absolute());
                hardware.$store(place, value);
            } else {
                claim.store(configuration, hardware, &value.to_be_bytes());
            }
            Ok(())
        }

        #[doc = concat!("Fetches ", $what, " at a real address on its boundary.")]
        ///
        /// The addressing mode is not applied: the instruction has done that. Entries of tables are fetched with key
        /// zero.
        ///
        /// # Errors
        /// Addressing, protection.
        #[inline(always)]
        pub fn $real<H: Hardware>(
            cpu: &Vcpu,
            configuration: &Configuration,
            hardware: &H,
            key: AccessKey,
            at: Real,
        ) -> Result<$type, Fault> {
            const LENGTH: u64 = size_of::<$type>() as u64;
            let place = checked_absolute(configuration, cpu.absolute(at), LENGTH)?;
            if !key.is_zero() {
                let manner = Manner::real(Access::Fetch, key);
                let piece = Piece::new(place, LENGTH);
                keys::test(cpu, configuration, hardware, manner, Virtual(at.0), piece)?;
            }
            Ok(hardware.$load(place))
        }

        #[doc = concat!("Stores ", $what, " at a real address on its boundary.")]
        ///
        /// The addressing mode is not applied: the instruction has done that. Low-address
        /// protection applies, in whatever space the program is.
        ///
        /// # Errors
        /// Protection of low addresses, addressing, protection by the storage key.
        #[inline(always)]
        pub fn $put_real<H: Hardware>(
            cpu: &Vcpu,
            configuration: &Configuration,
            hardware: &mut H,
            key: AccessKey,
            at: Real,
            value: $type,
        ) -> Result<(), Fault> {
            const LENGTH: u64 = size_of::<$type>() as u64;
            if low(cpu, at.0) {
                return Err(Fault::low_address_protection(Virtual(at.0), Space::Primary));
            }
            let place = checked_absolute(configuration, cpu.absolute(at), LENGTH)?;
            if !key.is_zero() {
                let manner = Manner::real(Access::Store, key);
                let piece = Piece::new(place, LENGTH);
                keys::test(cpu, configuration, hardware, manner, Virtual(at.0), piece)?;
            }
            let stored = (value.into(), LENGTH);
            scanner::store_value_into(configuration, hardware, place.absolute(), stored);
            hardware.$store(place, value);
            Ok(())
        }
    };
}

scalar!(
    u64,
    fetch_u64,
    put_u64,
    load_u64,
    store_u64,
    real_u64,
    put_real_u64,
    "a doubleword"
);
scalar!(
    u32,
    fetch_u32,
    put_u32,
    load_u32,
    store_u32,
    real_u32,
    put_real_u32,
    "a word"
);

/// Fetches a halfword at a logical address, on any boundary.
///
/// # Errors
/// As [`resolve`].
#[inline(always)]
pub fn fetch_u16<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Result<u16, Fault> {
    let mut bytes = [0; 2];
    fetch(cpu, configuration, hardware, at, &mut bytes)?;
    Ok(u16::from_be_bytes(bytes))
}

/// Fetches a byte at a logical address.
///
/// # Errors
/// As [`resolve`].
#[inline(always)]
pub fn fetch_u8<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    at: Virtual,
) -> Result<u8, Fault> {
    let mut byte = [0];
    fetch(cpu, configuration, hardware, at, &mut byte)?;
    Ok(byte[0])
}

/// Stores a byte at a logical address.
///
/// # Errors
/// As [`resolve`].
#[inline(always)]
pub fn put_u8<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
    value: u8,
) -> Result<(), Fault> {
    put(cpu, configuration, hardware, at, &[value])
}

/// Stores a halfword at a logical address, on any boundary.
///
/// # Errors
/// As [`resolve`]; storage is unchanged then.
#[inline(always)]
pub fn put_u16<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
    at: Virtual,
    value: u16,
) -> Result<(), Fault> {
    let claim = resolve(cpu, configuration, hardware, at, 2, Access::Store)?;
    if claim.second.length() == 0 {
        let place = claim.first.start();
        scanner::store_into(configuration, hardware, place.absolute());
        hardware.store_u16(place, value);
    } else {
        claim.store(configuration, hardware, &value.to_be_bytes());
    }
    Ok(())
}
