//! Real work with well-kept crates, each over text generated at run time, each verifying its own result.
//!
//! The text, its digests and its matches were computed independently on a host (by a second generator,
//! hashlib, zlib and a backtracking matcher in Python; `workload/known.py` prints them), so a wrong
//! instruction below shows as a wrong answer.

pub mod compress;
pub mod hash;
pub mod search;
pub mod text;
