//! Requests of profilers to HIS: on the host, over the link, and in the guest.

use super::level::Level;
use crate::arch::address::Absolute;
use crate::arch::condition::ConditionCode;
use crate::guest::storage;
use crate::his::registry::Owner;
use crate::his::request::{Function, LONGEST_ANSWER, Request, flags};
use crate::his::{His, Reason};
use crate::machine::state::his::{Profiler, Service, answer};
use crate::machine::state::machine::Cpu;
use core::sync::atomic::Ordering;
use zerocopy::IntoBytes;

/// Refuses the requests of the host: there is no service in real time for several CPUs.
pub(super) fn refuse(service: &Service) {
    loop {
        let next = service.requests.lock().pop_front();
        let Some(mut request) = next else { break };
        request.reason = Reason::NotEnabled.code().into();
        answer(&request, &[]);
    }
}

/// Performs the requests of the host.
pub(super) fn perform_for_host(service: &Service, his: &mut His<Profiler>, level: &mut Level<'_>) {
    loop {
        let next = service.requests.lock().pop_front();
        let Some(mut request) = next else { break };
        if !service.tells_host.swap(true, Ordering::Relaxed) {
            let exit = Profiler::Host {
                acknowledges: false,
            };
            // It is the only one.
            let _ = his.service.add_status_exit(exit);
        }
        his.wanted(level);
        let exit = |request: &Request| Profiler::Host {
            acknowledges: request.flags.get() & flags::ACKNOWLEDGES != 0,
        };
        let mut area = service.area.lock();
        let stored = his.request(level, Owner::Host, &mut request, exit, &mut area);
        if request.function.get() != Function::Done as u32 {
            answer(&request, area.get(..stored).unwrap_or_default());
        }
    }
}

/// Performs the request of a profiler in the guest by DIAGNOSE 700, which has checked that request and answer area are
/// available. This CPU has the turn.
#[cold]
#[inline(never)]
pub fn serve(cpu: &mut Cpu) {
    let machine = cpu.machine;
    let configuration = &machine.configuration;
    let at = Absolute(cpu.vcpu.general[2]);
    let mut request = Request::default();
    let fetched = storage::fetch_absolute(configuration, &cpu.native, at, request.as_mut_bytes());
    if fetched.is_err() {
        return;
    }
    if !super::is_possible(machine) {
        request.reason = Reason::NotEnabled.code().into();
    } else {
        let mut area = machine.his.area.lock();
        let stored = perform_for_guest(cpu, &mut request, &mut area);
        let to = Absolute(request.area.get());
        let answer = area.get(..stored).unwrap_or_default();
        let _ = storage::put_absolute(configuration, &mut cpu.native, to, answer);
    }
    let reason = request.reason.get();
    let _ = storage::put_absolute(configuration, &mut cpu.native, at, request.as_bytes());
    let register = &mut cpu.vcpu.general[0];
    *register = *register >> 32 << 32 | u64::from(reason);
    // The return code is 0, 4, 8 or 12.
    let code = ConditionCode::from_bits((reason >> 10) as u8);
    cpu.vcpu.set_cc(code);
}

fn perform_for_guest(
    cpu: &mut Cpu,
    request: &mut Request,
    area: &mut [u8; LONGEST_ANSWER],
) -> usize {
    let service = cpu.machine.his;
    let mut level = Level::of(cpu);
    let mut his = service.his.lock();
    super::prepare(service, &mut his, &mut level);
    his.wanted(&mut level);
    his.request(&mut level, Owner::Guest, request, |_| Profiler::Guest, area)
}
