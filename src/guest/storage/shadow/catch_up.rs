//! Updates the shadow of a CPU after changes by other CPUs.

use crate::hardware::Hardware;
use crate::state::configuration::Configuration;
use crate::state::pending_work::PendingWork;
use crate::state::shadow::requests::Request;
use crate::state::shadow::spaces::SPACES;
use crate::state::vcpu::Vcpu;
use crate::storage::shadow::pool::pool;
use crate::storage::shadow::renewal::{forget_moved_pages, renew_entries};
use crate::storage::shadow::spaces::{drop_space, empty};
use arch::control::asce;

/// Updates this CPU's DAT-on shadow for the requests that were posted since the last update. Returns
/// whether one of them may have changed what a guest's tables say.
pub(super) fn catch_up<H: Hardware>(
    cpu: &mut Vcpu,
    configuration: &Configuration,
    hardware: &mut H,
) -> bool {
    let pool = pool(cpu, configuration);
    let posted = configuration.shadow.requests.posted();
    let mut purged = false;
    let mut tables = false;
    if configuration.is_concurrent() {
        cpu.pending_work |= PendingWork::PASSED;
    }
    while cpu.shadow.seen != posted {
        let Some(request) = configuration.shadow.requests.get(cpu.shadow.seen) else {
            // This CPU is too far behind.
            cpu.shadow.seen = posted;
            empty(cpu, configuration, hardware);
            return true;
        };
        cpu.shadow.seen += 1;
        purged |= !matches!(request, Request::Frame(_));
        tables |= request == Request::All;
        match request {
            Request::Frame(at) => {
                // So the scanner is told of the next store into the page, whose state has changed.
                cpu.kept.forget_operands_in(at, hardware.real_of(at));
                pool.invalidate_frame(hardware, at);
            }
            Request::Entry(at) => {
                cpu.kept.forget_entry(at);
                pool.invalidate_entry(hardware, at);
            }
            Request::Space(origin) => {
                cpu.kept.forget_space(origin);
                for at in 0..SPACES {
                    if cpu.shadow.spaces.spaces[at].guest & asce::ORIGIN == origin {
                        drop_space(cpu, pool, hardware, at);
                    }
                }
            }
            Request::All => renew_entries(cpu, configuration, hardware),
        }
    }
    if tables {
        forget_moved_pages(cpu, configuration, hardware);
    }
    purged
}
