//! What a CPU and the machine hold.

pub mod blocks;
pub mod heap;
pub mod his;
pub mod integrity;
pub mod machine;
pub mod operator;
pub mod stacks;
pub mod window;
