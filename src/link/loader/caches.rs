//! The caches in a block, which a run models.

use zerocopy::byteorder::big_endian::{U16, U32};

use super::super::layout;
use super::{LoaderBlock, LoaderError, flags};
use cache::{Geometry, Shape, ShapeError, Which};

layout! {
    /// One cache; zeros if the run models none.
    CacheShape, 12 {
        /// Bytes of the cache.
        size: U32,
        /// Lines in a set.
        ways: U16,
        /// Bytes in a line.
        line: U16,
        /// Penalty cycles of a directory write.
        penalty: U16,
        /// Zeros.
        reserved: U16,
    }
}

impl From<Shape> for CacheShape {
    fn from(shape: Shape) -> Self {
        Self {
            size: shape.size().into(),
            // A shape is made from two halfwords.
            ways: (shape.ways() as u16).into(),
            line: shape.line().into(),
            penalty: (shape.penalty() as u16).into(),
            reserved: 0.into(),
        }
    }
}

impl CacheShape {
    fn checked(&self) -> Result<Shape, ShapeError> {
        Shape::new(
            self.size.get(),
            self.ways.get(),
            self.line.get(),
            self.penalty.get(),
        )
    }
}

impl LoaderBlock {
    /// The caches of each CPU, if the run models them.
    ///
    /// # Errors
    /// When there can be no such caches, or the clock does not count instructions.
    pub fn geometry(&self) -> Result<Option<Geometry>, LoaderError> {
        if self.caches == [CacheShape::default(); 2] {
            return Ok(None);
        }
        if self.has(flags::REAL_TIME) {
            return Err(LoaderError::CachesInRealTime);
        }
        let shape = |which: Which| {
            let shape = self.caches[which as usize].checked();
            shape.map_err(|error| LoaderError::Caches(which, error))
        };
        Ok(Some(Geometry {
            instruction: shape(Which::Instruction)?,
            data: shape(Which::Data)?,
        }))
    }

    /// The bytes that the machine needs for the directories of all CPUs' caches.
    pub fn caches_length(&self) -> u64 {
        let geometry = self.geometry().ok().flatten();
        let each = geometry.map_or(0, |geometry| geometry.doublewords() * size_of::<u64>());
        u64::from(self.cpus.get()) * each as u64
    }

    /// Sets the caches that the run models.
    pub fn set_geometry(&mut self, geometry: &Geometry) {
        self.caches = [geometry.instruction.into(), geometry.data.into()];
    }
}
