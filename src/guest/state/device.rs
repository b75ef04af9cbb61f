//! A virtio device of the guest: what its program has told it, and where its rings are in the HSA.

use arch::address::Real;
use heapless::Vec;

/// Bytes of HSA for one device: its indicators, the machine's records of its queues, and its rings.
pub const ROOM_LENGTH: u64 = 0x13_0000;

/// The most queues of a device for which there is room.
pub const QUEUES: usize = 64;

/// The most entries of a queue.
pub const MOST_ENTRIES: u16 = 1024;

/// Number of a queue: less than [`QueueNumber::END`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct QueueNumber(u16);

impl QueueNumber {
    /// The first number that no queue of a device has.
    pub const END: u16 = 1024;

    /// The number that a program uses, if it can be that of a queue.
    #[must_use]
    pub const fn new(number: u64) -> Option<Self> {
        if number < Self::END as u64 {
            Some(Self(number as u16))
        } else {
            None
        }
    }

    /// The number.
    #[must_use]
    #[inline(always)]
    pub const fn get(self) -> u16 {
        self.0
    }
}

/// Whether the guest sees a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sight {
    /// Nobody has asked the device yet what it is.
    #[default]
    Unknown,
    /// The guest sees it.
    Shown,
    /// It is of a type whose rings the machine does not know, or it has no room for them.
    Hidden,
}

/// How a device announces that it has used buffers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Indicators {
    /// Not at all: the program looks for itself.
    #[default]
    None,
    /// A bit for each queue in the doubleword at this address, and an interruption of the subchannel.
    Subchannel(u64),
    /// An adapter interruption.
    Adapter {
        /// The byte that says that there is an indicator.
        summary: u64,
        /// Where the indicators are.
        at: u64,
        /// The number of the bit of queue 0.
        first: u64,
        /// The interruption subclass.
        subclass: u8,
    },
}

/// Where the three parts of a queue are in guest storage, as the program says.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Rings {
    /// The descriptors.
    pub descriptors: u64,
    /// The buffers that the program offers.
    pub offered: u64,
    /// The buffers that the device has used.
    pub used: u64,
}

/// Storage of a queue in the HSA. Nothing else has it until the device is reset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct QueuePlace {
    /// Where the device's rings begin.
    pub rings: Real,
    /// Where the machine's records of them begin.
    pub records: Real,
}

/// A queue of a device. The device has rings of the same size in the HSA.
#[derive(Clone, Copy, Debug)]
pub struct Queue {
    /// Its number.
    pub number: QueueNumber,
    /// How many entries it has, according to the device.
    pub size: u16,
    /// The program's rings; none if the queue is turned off.
    pub rings: Option<Rings>,
    /// Its storage in the HSA.
    pub place: QueuePlace,
    /// How many buffers the device has been given: the index of its ring, which wraps.
    pub offered: u16,
    /// How many of them the program was given back.
    pub returned: u16,
    /// Into how many bytes of storage the device may store by them.
    pub lent: u64,
    /// The program has offered what no device accepts: nothing more is taken from it until the device is reset.
    pub is_broken: bool,
}

/// What the machine knows of a virtio device of the guest.
#[derive(Debug)]
pub struct Device {
    /// Where its room in the HSA begins. Its indicators are in the first page. The records follow, and its rings are at the
    /// end.
    pub room: Real,
    /// Whether it offers to be a device of version 1. That stays as long as the device is there.
    pub offers_version_1: bool,
    /// The revision of its commands that its program has chosen, or zero.
    pub revision: u16,
    /// The status that its program has set.
    pub status: u8,
    /// The feature bits that its program has accepted and the device has taken over.
    pub features: u64,
    /// The queues that its program has ever turned on.
    pub queues: Vec<Queue, QUEUES>,
    /// Its indicators in guest storage.
    pub indicators: Indicators,
    /// The doubleword in guest storage that indicates a change of its configuration.
    pub configuration: Option<u64>,
}

/// Status bit: the features are final.
pub const FEATURES_OK: u8 = 8;

/// Feature: the device conforms to version 1, so numbers have the rightmost byte first.
pub const VERSION_1: u64 = 1 << 32;

/// What program and device have agreed on.
#[derive(Clone, Copy, Debug)]
pub struct Agreed {
    /// The features that the program has accepted.
    pub features: u64,
    /// Whether the device has taken them over for good. Only a device of version 1 says so: it offers that feature to every
    /// program that has chosen a later revision of its commands. Another device ignores what a program says of that.
    pub is_final: bool,
}

impl Device {
    /// What has been agreed on.
    #[must_use]
    pub const fn agreed(&self) -> Agreed {
        Agreed {
            features: self.features,
            is_final: self.offers_version_1
                && self.status & FEATURES_OK != 0
                && self.revision != 0
                && self.features & VERSION_1 != 0,
        }
    }

    /// A device with [`ROOM_LENGTH`] bytes of HSA.
    #[must_use]
    pub const fn new(room: Real) -> Self {
        Self {
            room,
            offers_version_1: false,
            revision: 0,
            status: 0,
            features: 0,
            queues: Vec::new(),
            indicators: Indicators::None,
            configuration: None,
        }
    }

    /// The device was reset: it has forgotten everything that a program told it, but for the revision.
    pub fn forget(&mut self) {
        self.status = 0;
        self.features = 0;
        self.queues.clear();
        self.indicators = Indicators::None;
        self.configuration = None;
    }

    /// The queue with a number.
    pub fn queue(&self, number: QueueNumber) -> Option<&Queue> {
        self.queues.iter().find(|queue| queue.number == number)
    }

    /// The same, to be changed.
    pub fn queue_mut(&mut self, number: QueueNumber) -> Option<&mut Queue> {
        self.queues.iter_mut().find(|queue| queue.number == number)
    }
}

/// What a command of a channel program changes in the device, if the device executes it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Change {
    /// The device is reset.
    Reset,
    /// The program sets a status other than zero.
    Status(u8),
    /// The program chooses the revision.
    Revision(u16),
    /// The program accepts these features of the 32 with an index.
    Features {
        /// Which 32 bits.
        index: u8,
        /// The bits.
        bits: u32,
    },
    /// A queue is turned on.
    QueueOn {
        /// Its number.
        number: QueueNumber,
        /// Its entries, according to the device.
        size: u16,
        /// The program's rings.
        rings: Rings,
        /// Its storage in the HSA.
        place: QueuePlace,
    },
    /// A queue is turned off.
    QueueOff(QueueNumber),
    /// The indicators of the queues are there.
    Indicators(Indicators),
    /// The indicator of the device's configuration is there.
    Configuration(u64),
}
