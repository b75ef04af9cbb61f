//! The profilers of this machine: HISPROF, those on the host behind the link, and those in the guest.

use super::files::HisprofExit;
use crate::his::exit::{Samples, StateChange};
use crate::his::{Call, Exit, Handling, Inside};
use crate::link::frame::Channel;
use crate::link::service::{self, ServiceHead};
use crate::machine::io::console;
use zerocopy::IntoBytes;

/// The exit of a profiler.
pub enum Profiler {
    /// HISPROF.
    Hisprof(&'static HisprofExit),
    /// On the host.
    Host {
        /// Whether it says when it has finished with a block.
        acknowledges: bool,
    },
    /// In the guest; it is never called.
    Guest,
}

impl Exit for Profiler {
    fn call(&mut self, call: &Call<'_>, service: &mut Inside<'_>) -> Handling {
        match *self {
            Self::Hisprof(exit) => exit.lock().call(call, service),
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

/// Sends a call to a profiler on the host.
pub fn send(head: &ServiceHead, more: &[u8]) {
    console::send(Channel::Service, &[head.as_bytes(), more]);
}
