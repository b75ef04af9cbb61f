//! REQUEST=QUERY: what the service and its profilers are doing, and the counters.

pub use super::answer::Answered;
use super::answer::{
    Area, CpuEntry, EventBody, EventEntry, Kind, ProfilerEntry, SampleBody, SetHead,
};
use super::event::{Event, Events};
use super::machine::Machine;
use super::reason::Reason;
use super::registry::{Profiler, Registry, Token};
use arch::bits::{bit32, bit64};
use zerocopy::IntoBytes;
use zerocopy::byteorder::big_endian::U64;

/// The type of a query.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Query {
    /// TYPE=EVENT: the event types.
    Event,
    /// TYPE=SAMPLE: the sample types and the sampling controls.
    Sample,
    /// TYPE=PROFILERS: the profilers.
    Profilers,
    /// TYPE=EVENTDATA: the counters of a profiler's event types, as they are now.
    EventData {
        /// PROFILETKN: the profiler.
        token: Token,
        /// CPUMASK: the CPUs; bit 0 (the leftmost) is CPU 0. `None` stands for ALL.
        cpus: Option<u64>,
    },
}

impl Registry {
    /// Answers a query into `area`, whose length is ANSLEN.
    ///
    /// # Errors
    /// * [`Reason::NotEnabled`];
    /// * [`Reason::AnswerArea`]: head and body of the answer do not fit into the area;
    /// * for [`Query::EventData`] also [`Reason::Token`] and [`Reason::Cpus`].
    pub fn query(
        &mut self,
        machine: &mut dyn Machine,
        query: &Query,
        area: &mut [u8],
    ) -> Result<Answered, Reason> {
        if !self.enabled {
            return Err(Reason::NotEnabled);
        }
        match *query {
            Query::Event => self.query_event(machine, area),
            Query::Sample => self.query_sample(machine, area),
            Query::Profilers => self.query_profilers(area),
            Query::EventData { token, cpus } => self.query_event_data(machine, token, cpus, area),
        }
    }

    fn query_event(&self, machine: &dyn Machine, area: &mut [u8]) -> Result<Answered, Reason> {
        let state = machine.events();
        let body = EventBody {
            authorized: state.authorized.0.into(),
            usable: self.usable.0.into(),
            enabled: self.counting.0.into(),
            cfvn: state.cfvn.into(),
            csvn: state.csvn.into(),
        };
        let mut area = Area::new(area, &body)?;
        for event in Event::ALL {
            let range = machine.counters(event);
            if range.count > 0 {
                area.push(&EventEntry {
                    event: event.bit().0.into(),
                    first: range.first.into(),
                    count: range.count.into(),
                });
            }
        }
        Ok(area.finish(Kind::Event))
    }

    fn query_sample(&self, machine: &dyn Machine, area: &mut [u8]) -> Result<Answered, Reason> {
        let state = machine.sampling();
        let body = SampleBody {
            authorized: state.authorized.0.into(),
            enabled: self.sampling.map_or(0, |order| order.types.0).into(),
            types: self.controls.types.0.into(),
            frequency: self.controls.frequency.into(),
            buffers: u32::from(self.controls.buffers).into(),
            cpu_speed: state.limits.cpu_speed.into(),
            interval: self.sampling.map_or(0, |order| order.interval).into(),
            minimum: state.limits.minimum.into(),
            maximum: state.limits.maximum.into(),
            bsdes: state.bsdes.into(),
            dsdes: state.dsdes.into(),
            ..SampleBody::default()
        };
        Ok(Area::new(area, &body)?.finish(Kind::Sample))
    }

    fn query_profilers(&self, area: &mut [u8]) -> Result<Answered, Reason> {
        let mut area = Area::new(area, &())?;
        for profiler in self.profilers() {
            area.push(&entry(profiler));
        }
        Ok(area.finish(Kind::Profilers))
    }

    fn query_event_data(
        &mut self,
        machine: &mut dyn Machine,
        token: Token,
        cpus: Option<u64>,
        area: &mut [u8],
    ) -> Result<Answered, Reason> {
        let place = self.place(token)?;
        let cpus = machine.cpus() & cpus.unwrap_or(u64::MAX);
        if cpus == 0 {
            return Err(Reason::Cpus);
        }
        let mut area = Area::new(area, &())?;
        let asked = self.profilers[place]
            .as_ref()
            .map_or(Events::NONE, |profiler| profiler.registration.events);
        let events = asked.intersection(self.counting);
        for cpu in (0..64).filter(|&cpu| cpus & bit64(cpu) != 0) {
            let events = machine.thread(cpu as u16).counted(events);
            let length = events.iter().fold(size_of::<CpuEntry>(), |length, event| {
                length + size_of::<SetHead>() + 8 * usize::from(machine.counters(event).count)
            });
            if let Some(entry) = area.next(length) {
                store_cpu(machine, cpu as u16, events, entry);
            }
        }
        let now = machine.tod();
        if let Some(profiler) = &mut self.profilers[place] {
            profiler.note_query(now);
        }
        Ok(area.finish(Kind::EventData))
    }
}

/// Stores the counters of a CPU into an entry of exactly their length.
///
/// A CPU that was removed after the mask was tested has an entry without counter sets.
fn store_cpu(machine: &mut dyn Machine, cpu: u16, events: Events, entry: &mut [u8]) {
    entry.fill(0);
    let length = entry.len();
    let mut at = [size_of::<CpuEntry>(); Event::ALL.len()];
    let mut next = size_of::<CpuEntry>();
    for event in events.iter() {
        let range = machine.counters(event);
        let head = SetHead {
            event: event.bit().0.into(),
            first: range.first.into(),
            count: range.count.into(),
        };
        let counters = next + size_of::<SetHead>();
        let _ = head.write_to_prefix(&mut entry[next..]);
        at[event as usize] = counters;
        next = counters + 8 * usize::from(range.count);
    }
    let tod = machine.read(cpu, events, &mut |event, value| {
        let place = &mut at[event as usize];
        let bytes = entry.get_mut(*place..).unwrap_or_default();
        let _ = U64::new(value).write_to_prefix(bytes);
        *place += 8;
    });
    let head = CpuEntry {
        cpu: cpu.into(),
        sets: (tod.map_or(0, |_| events.iter().count()) as u16).into(),
        cpu_speed: machine.sampling().limits.cpu_speed.into(),
        tod: tod.unwrap_or_default().0.into(),
        length: (length as u32).into(),
        ..CpuEntry::default()
    };
    let _ = head.write_to_prefix(entry);
}

fn entry(profiler: &Profiler) -> ProfilerEntry {
    let mut name = [b' '; 8];
    let named = profiler.registration.name.as_bytes();
    name[..named.len()].copy_from_slice(named);
    ProfilerEntry {
        name,
        events: profiler.registration.events.0.into(),
        flags: if profiler.registration.samples {
            bit32(0).into()
        } else {
            0.into()
        },
        started: profiler.started.0.into(),
        queries: profiler.queries.into(),
        between_queries: profiler.between_queries().into(),
        blocks: profiler.blocks.into(),
        per_block: profiler.per_block().into(),
        missed: profiler.missed.into(),
    }
}
