//! A run that is performed again.

use std::collections::BTreeMap;

use anyhow::{Result, bail};
use link::loader::Window;

use crate::{options::count::Counted, symbols::signed::Nonce};

/// What a run that is performed again has from the first one, and the window in it.
#[derive(Clone, Debug)]
pub struct Again {
    /// The window, by the TOD clock.
    pub window: Window,
    /// The operator's commands that begin traces in the window, with addresses.
    pub traces: Vec<String>,
    /// What is counted in the window.
    pub count: Option<Counted>,
    /// The identities of the parts of the first run.
    pub parts: BTreeMap<String, String>,
    /// With what its first process signed.
    pub nonce: Option<Nonce>,
}

impl Again {
    /// Refuses parts that are not those of the first run.
    pub fn check(&self, parts: &BTreeMap<String, String>) -> Result<()> {
        for (name, first) in &self.parts {
            match parts.get(name) {
                Some(now) if now == first => {}
                Some(now) => bail!(
                    "{name} is not that of the first run: it was {first}, and is {now} now; bring the old one back, or make \
                     the first run anew and look at that one"
                ),
                None => bail!(
                    "the first run had {name}, and this one would not; bring it back, or make the first run anew and look at \
                     that one"
                ),
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_that_has_changed_or_is_gone_is_named() {
        let parts = |text: &[(&str, &str)]| {
            let owned = text
                .iter()
                .map(|(name, id)| ((*name).to_owned(), (*id).to_owned()));
            owned.collect::<BTreeMap<_, _>>()
        };
        let again = Again {
            window: Window::default(),
            traces: Vec::new(),
            count: None,
            parts: parts(&[("the image", "1"), ("QEMU", "7")]),
            nonce: None,
        };
        let refusal = |now: &[(&str, &str)]| again.check(&parts(now)).map_err(|e| e.to_string());
        assert_eq!(
            refusal(&[("the image", "1"), ("QEMU", "7"), ("more", "")]),
            Ok(())
        );
        let changed = refusal(&[("the image", "2"), ("QEMU", "7")]).unwrap_err();
        assert!(changed.contains("it was 1, and is 2 now"), "{changed}");
        let gone = refusal(&[("the image", "1")]).unwrap_err();
        assert!(gone.contains("had QEMU"), "{gone}");
    }
}
