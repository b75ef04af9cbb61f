//! A purge of everything while there is little to purge.
//!
//! COMPARE AND SWAP AND PURGE, INVALIDATE DAT TABLE ENTRY and PURGE TLB do not name the entry that has
//! changed. A control program that builds its tables issues COMPARE AND SWAP AND PURGE for every single
//! entry, and an emptied shadow costs an exception for each page that is used next: the page of the very
//! instruction, its stack, its tables. So while only a few entries were filled since the shadow was last
//! empty, each of them is translated again, and only those go that the guest's tables no longer say. A TLB
//! that is emptied and forms the same entries again at once may do the same.
//!
//! A TLB forms entries of *attached* tables only: DAT is on, and a control register in use leads to the tables. A control
//! program may change any other table without a purge, so after a purge nothing may be left of one ([`is_attached`]).

use crate::hardware::Hardware;
use crate::state::access::{Access, Space};
use crate::state::configuration::Configuration;
use crate::state::kept::KeptPage;
use crate::state::shadow::recent::REMEMBERED;
use crate::state::vcpu::Vcpu;
use crate::storage::PlacedFrame;
use crate::storage::dat;
use crate::storage::shadow::pool::pool;
use crate::storage::shadow::spaces::empty;
use arch::address::Virtual;
use arch::control::{CR0_SECONDARY_SPACE, asce};
use arch::psw::{AddressSpace, Psw};
use arch::table::PTE_INVALID;

/// Purges this CPU's DAT-on shadow, and what is kept for millicode, of everything that the guest's tables
/// no longer say.
pub fn renew<H: Hardware>(cpu: &mut Vcpu, configuration: &Configuration, hardware: &mut H) {
    renew_entries(cpu, configuration, hardware);
    forget_moved_pages(cpu, configuration, hardware);
}

/// Purges this CPU's DAT-on shadow of everything that the guest's tables no longer say.
pub(super) fn renew_entries<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) {
    if cpu.shadow.recent.count > REMEMBERED {
        empty(cpu, configuration, hardware);
        return;
    }
    let pool = pool(cpu, configuration);
    let mut left = 0;
    for n in 0..cpu.shadow.recent.count {
        let Some(&filled) = cpu.shadow.recent.filled.get(n) else {
            break;
        };
        if hardware.hsa_load(filled.entry) & PTE_INVALID != 0 {
            continue;
        }
        let address = Virtual(filled.at.0 | filled.translation.real.byte_index());
        if !is_attached(cpu, filled.guest)
            || dat::walk(cpu, configuration, hardware, filled.guest, address)
                != Ok(filled.translation)
        {
            pool.invalidate(hardware, filled.entry);
            continue;
        }
        if let Some(place) = cpu.shadow.recent.filled.get_mut(left) {
            *place = filled;
            left += 1;
        }
    }
    cpu.shadow.recent.count = left;
}

/// Whether a TLB may form entries of a space while the CPU has this PSW and these control registers. Real spaces have no
/// tables that could change.
///
/// Where one reading of the architecture attaches more than another, this is the one that attaches less.
#[inline(always)]
fn is_attached(cpu: &Vcpu, guest: u64) -> bool {
    cpu.psw.dat() && guest == cpu.control[1] || is_attached_otherwise(cpu, guest)
}

/// The same for a space that is not the primary one.
#[inline(never)]
fn is_attached_otherwise(cpu: &Vcpu, guest: u64) -> bool {
    if guest & asce::REAL_SPACE != 0 {
        return true;
    }
    let mode = cpu.psw.address_space();
    let has_secondary = cpu.control[0] & CR0_SECONDARY_SPACE != 0;
    cpu.psw.dat()
        && (guest == cpu.control[7] && (has_secondary || mode == AddressSpace::Secondary)
            || guest == cpu.control[13] && mode == AddressSpace::Home)
}

/// Forgets the translations kept for millicode that the guest's tables no longer say.
pub(super) fn forget_moved_pages<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &H,
) {
    // What is kept of programs is looked up in their spaces, which may be others by now.
    cpu.change_programs();
    cpu.kept.real = [KeptPage::NOT_REAL; 2];
    cpu.kept.forget_counters();
    cpu.kept.forget_moved();
    cpu.kept.forget_stepped();
    // Of the pages of text, only that of the purging instruction is sure to be needed again.
    let here = Virtual(cpu.psw.address);
    let kept = cpu.kept.take_text(here);
    if !has_moved(cpu, configuration, hardware, kept, Access::Execute) {
        cpu.kept.keep_text(here, kept);
    }
    // Of those of operands, the last ones are most likely to be.
    let kept = cpu.kept.take_operands();
    for (page, access) in kept.into_iter().zip([Access::Fetch, Access::Store]) {
        if let Some((at, _)) = page.translated()
            && !has_moved(cpu, configuration, hardware, page, access)
        {
            cpu.kept.keep_operand(at, access == Access::Store, page);
        }
    }
}

/// Whether a page that is kept for an access may have moved or become protected.
fn has_moved<H: Hardware>(
    cpu: &Vcpu,
    configuration: &Configuration,
    hardware: &H,
    kept: KeptPage<PlacedFrame>,
    access: Access,
) -> bool {
    let Some((at, mask)) = kept.translated() else {
        return false;
    };
    let psw = Psw { mask, address: 0 };
    if !psw.dat() {
        return false;
    }
    let space = Space::in_mode(psw.address_space(), access);
    let guest = space.asce(cpu);
    if !is_attached(cpu, guest) {
        return true;
    }
    let found = dat::translate(cpu, configuration, hardware, guest, space, at, access);
    let place = hardware.absolute_of(kept.place().real());
    !found.is_ok_and(|found| cpu.absolute(found.real) == place)
}
