//! The harness that IPLs the guests.
