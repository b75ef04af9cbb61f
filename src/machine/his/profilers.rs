//! The profilers of this machine: HISPROF, those on the host behind the link, and those in the guest.

use super::files::HISPROF;
use super::level::Level;
use super::{ATTENTION, HIS};
use crate::arch::address::Absolute;
use crate::arch::condition::ConditionCode;
use crate::guest::state::account::Mode;
use crate::guest::storage;
use crate::his::exit::{Samples, StateChange};
use crate::his::registry::Owner;
use crate::his::request::{Function, LONGEST_ANSWER, Request, flags};
use crate::his::{Call, Exit, Handling, His, Inside, Reason};
use crate::link::frame::Channel;
use crate::link::service::{self, ServiceHead};
use crate::machine::io::console;
use crate::machine::state::cpu::Cpu;
use core::sync::atomic::{AtomicBool, Ordering};
use spin::Mutex;
use zerocopy::IntoBytes;

/// Requests of the host that are kept until a CPU looks: that it is done with all blocks that it can have, and
/// something else.
const MOST_KEPT: usize = 40;

/// What the host has asked for and nobody has done.
static ASKED: Mutex<heapless::Deque<Request, MOST_KEPT>> = Mutex::new(heapless::Deque::new());

/// Where answers are made.
static AREA: Mutex<[u8; LONGEST_ANSWER]> = Mutex::new([0; LONGEST_ANSWER]);

/// Whether the host is told when the service comes or goes: it has had a profiler.
static TELLS_HOST: AtomicBool = AtomicBool::new(false);

/// The exit of a profiler.
pub(super) enum Profiler {
    /// HISPROF.
    Hisprof,
    /// On the host.
    Host {
        /// Whether it says when it is done with a block.
        acknowledges: bool,
    },
    /// In the guest, which nothing calls.
    Guest,
}

impl Exit for Profiler {
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling {
        match *self {
            Self::Hisprof => HISPROF.lock().call(call, service),
            Self::Host { acknowledges } => {
                tell_host(call, service);
                match call {
                    Call::Samples(_) if acknowledges => Handling::Pending,
                    _ => Handling::Done,
                }
            }
            Self::Guest => Handling::Done,
        }
    }
}

/// Calls a profiler on the host.
fn tell_host(call: &Call<'_>, service: &Inside<'_>) {
    let token = service.token().map_or(0, |token| token.0).into();
    let head = |call: service::Call| ServiceHead {
        call: call as u8,
        token,
        ..ServiceHead::default()
    };
    match *call {
        Call::State(StateChange { action, reasons }) => {
            let code = action as u8;
            let number = reasons.0.into();
            let head = head(service::Call::State);
            send(
                &ServiceHead {
                    code,
                    number,
                    ..head
                },
                &[],
            );
        }
        Call::Samples(Samples {
            cpu,
            block,
            samples,
            missed,
        }) => {
            let (cpu, number, missed) = (cpu.into(), samples.into(), missed.into());
            let head = ServiceHead {
                cpu,
                number,
                missed,
                ..head(service::Call::Samples)
            };
            send(&head, block);
        }
        Call::Status(status) => {
            let code = status as u8;
            let head = head(service::Call::Status);
            send(&ServiceHead { code, ..head }, &[]);
        }
        Call::Step(_) => {}
    }
}

fn send(head: &ServiceHead, more: &[u8]) {
    console::send(Channel::Service, &[head.as_bytes(), more]);
}

fn answer(request: &Request, area: &[u8]) {
    let head = ServiceHead {
        call: service::Call::Answer as u8,
        token: request.token,
        ..ServiceHead::default()
    };
    console::send(
        Channel::Service,
        &[head.as_bytes(), request.as_bytes(), area],
    );
}

/// Keeps a request of the host until a CPU looks.
pub fn ask_for(mut request: Request) {
    if ASKED.lock().push_back(request).is_err() {
        request.reason = Reason::TooManyRequests.code().into();
        answer(&request, &[]);
    }
    ATTENTION.store(true, Ordering::Relaxed);
}

/// Refuses what the host has asked for: there is no service in real time.
pub(super) fn refuse() {
    loop {
        let next = ASKED.lock().pop_front();
        let Some(mut request) = next else { break };
        request.reason = Reason::NotEnabled.code().into();
        answer(&request, &[]);
    }
}

/// Does what the host has asked for.
pub(super) fn perform_for_host(his: &mut His<Profiler>, level: &mut Level<'_>) {
    loop {
        let next = ASKED.lock().pop_front();
        let Some(mut request) = next else { break };
        if !TELLS_HOST.swap(true, Ordering::Relaxed) {
            let exit = Profiler::Host {
                acknowledges: false,
            };
            // It is the only one.
            let _ = his.service.add_status_exit(exit);
        }
        his.service.enable(level);
        let exit = |request: &Request| Profiler::Host {
            acknowledges: request.flags.get() & flags::ACKNOWLEDGES != 0,
        };
        let mut area = AREA.lock();
        let stored = his.request(level, Owner::Host, &mut request, exit, &mut area);
        if request.function.get() != Function::Done as u32 {
            answer(&request, &area[..stored]);
        }
    }
}

/// Does what a profiler in the guest asks for by DIAGNOSE 700, which has found request and answer area available. This CPU
/// has the turn.
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
    if configuration.mode == Mode::RealTime {
        request.reason = Reason::NotEnabled.code().into();
    } else {
        let mut area = AREA.lock();
        let stored = perform_for_guest(cpu, &mut request, &mut area);
        let to = Absolute(request.area.get());
        let _ = storage::put_absolute(configuration, &mut cpu.native, to, &area[..stored]);
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
    let mut level = Level::of(cpu);
    let mut his = HIS.lock();
    super::prepare(&mut his, &mut level);
    his.service.enable(&mut level);
    his.request(&mut level, Owner::Guest, request, |_| Profiler::Guest, area)
}
