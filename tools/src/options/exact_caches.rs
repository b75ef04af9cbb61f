//! `--exact-caches`: a model of first-level caches that every instruction of the guest goes through.

use anyhow::{Result, bail};
use {cache::Geometry, link::state::Mode};

/// A geometry as a person writes it.
pub fn geometry(text: &str) -> Result<Geometry, String> {
    Geometry::parse(text).map_err(|error| error.to_string())
}

/// Refuses a run that wants a model of caches and cannot have one.
pub fn check(geometry: Option<Geometry>, mode: Mode) -> Result<()> {
    if geometry.is_none() {
        return Ok(());
    }
    if mode.is_real_time() {
        bail!(
            "--exact-caches puts every instruction through the model, and --real-time and --native have no clock that counts instructions; leave one of them out"
        );
    }
    Ok(())
}

/// The note of a report about its cache counters.
#[must_use]
pub fn sentence(geometry: &str) -> String {
    format!(
        "level-1 caches: a model ({geometry}; size, ways, line, penalty cycles of a directory write), not a \
         measured machine; no cycle count has its penalty cycles"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_without_modelled_caches_is_accepted() {
        assert!(check(None, Mode::Exact).is_ok());
        assert!(check(None, Mode::RealTime).is_ok());
    }

    #[test]
    fn real_time_and_caches_do_not_go_together() {
        let geometry = Some(Geometry::default());
        let refusal = check(geometry, Mode::RealTime).unwrap_err().to_string();
        assert!(refusal.contains("--real-time") && refusal.contains("leave one"));
    }
}
