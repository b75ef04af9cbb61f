//! A second model of monitor calls, written only from the description of the facility. Storage is bytes, a counter is
//! one number of 48 bits, and the home space is a list of pages.

use std::collections::BTreeMap;

/// The effect of a monitor call on the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Seen {
    /// No interruption.
    Nothing,
    /// A specification exception.
    Specification,
    /// A monitor event with this class and code.
    Event(u8, u64),
}

/// The CPU and its storage.
pub struct Model {
    pub storage: Vec<u8>,
    pub prefix: u64,
    pub control8: u64,
    /// Pages of the home space that can be stored into, and where each is; `None` with DAT off.
    pub home: Option<BTreeMap<u64, u64>>,
    /// Whether low-address protection is on, and covers the home space.
    pub low_protected: bool,
}

impl Model {
    /// Where a byte of the array is, if it can be stored into.
    fn place(&self, address: u64) -> Option<usize> {
        if self.low_protected && (address < 0x200 || (0x1000..0x1200).contains(&address)) {
            return None;
        }
        let (page, byte) = (address / 4096, address % 4096);
        let real = match &self.home {
            Some(pages) => pages.get(&page)? * 4096 + byte,
            None => address,
        };
        let absolute = if real < 0x2000 {
            real + self.prefix
        } else if (self.prefix..self.prefix + 0x2000).contains(&real) {
            real - self.prefix
        } else {
            real
        };
        let place = usize::try_from(absolute).ok()?;
        (place < self.storage.len()).then_some(place)
    }

    /// Where the bytes from an address on are; addresses wrap to zero.
    fn places(&self, address: u128, length: u128) -> Option<Vec<usize>> {
        let addresses = (address..address + length).map(|at| (at % (1 << 64)) as u64);
        addresses.map(|at| self.place(at)).collect()
    }

    fn number(&self, places: &[usize]) -> u64 {
        places
            .iter()
            .fold(0, |sum, &at| sum * 256 + u64::from(self.storage[at]))
    }

    fn set(&mut self, places: &[usize], mut number: u64) {
        for &at in places.iter().rev() {
            self.storage[at] = (number % 256) as u8;
            number /= 256;
        }
    }

    /// A field of the prefix area.
    fn field(&self, at: u64, length: u64) -> Vec<usize> {
        (0..length)
            .map(|byte| (self.prefix + at + byte) as usize)
            .collect()
    }

    /// MONITOR CALL with this I2 field and operand address.
    pub fn monitor_call(&mut self, i2: u8, address: u64) -> Seen {
        if i2 > 15 {
            return Seen::Specification;
        }
        let one = |bit: u32| self.control8 >> (63 - bit) & 1 == 1;
        if !one(48 + u32::from(i2)) {
            return Seen::Nothing;
        }
        if !one(16 + u32::from(i2)) {
            return Seen::Event(i2, address);
        }
        if self.count(address.into()).is_none() {
            let exceptions = self.field(0x10C, 4);
            let count = self.number(&exceptions);
            self.set(&exceptions, count + 1);
        }
        Seen::Nothing
    }

    fn count(&mut self, number: u128) -> Option<()> {
        let origin = u128::from(self.number(&self.field(0x100, 8)) / 8 * 8);
        let size = u128::from(self.number(&self.field(0x108, 4)));
        if number >= size {
            return None;
        }
        let low = self.places(origin + 2 * number, 2)?;
        // Fetched once: a page that is mapped twice may have a counter's word where its halfword is.
        let count = self.number(&low);
        if count == 0xFFFF {
            let high = self.places(origin + 2 * size + 4 * number, 4)?;
            let carried = self.number(&high) + 1;
            self.set(&high, carried);
        }
        self.set(&low, count + 1);
        Some(())
    }
}
