//! The baseline of `check`, which people edit and merge.

use measure::check::{baseline::Baseline, comparison::Comparison, forms};

use super::shape;
use crate::Target;

pub const ALL: &[Target] = &[Target {
    name: "baseline",
    what: "a baseline of check",
    good: || vec![BASELINE.as_bytes().to_vec()],
    read: |input| {
        let text = String::from_utf8_lossy(input);
        let baseline = match Baseline::of(&text) {
            Ok(baseline) => baseline,
            Err(error) => return shape(&format!("{error:#}")),
        };
        // It is written so that it is read, and is its own kind of run. It has no change, except that of symbols that are
        // too rare to be written.
        let again = Baseline::of(&baseline.text()).expect("it is read back");
        assert_eq!(again.text(), baseline.text());
        assert!(again.check_kind(&baseline.measured).is_ok());
        let comparison = Comparison::new(&again, &baseline.measured);
        assert_eq!(comparison.regressions().count(), 0, "{text}");
        for form in [forms::text, forms::markdown, forms::junit] {
            assert!(!form(&comparison).is_empty());
        }
        let symbols = baseline.measured.user.symbols.len();
        shape(&format!("{:?} {symbols}", baseline.tolerances))
    },
    for_each_byte: 1024,
    at_least: 1 << 20,
}];

const BASELINE: &str = r#"format = 1
command = "exec sum 1 2"
interval = 1009

[conditions]
"image" = "155aa06cdf0736f0"
"kernel" = "Debian 6.1, 50128ef53b910904"
"qemu" = "7.2.22"

[tolerance]
user = "0.1%"
symbol = "1000i"

[tolerance.symbols]
"sum::sort" = "any"

[instructions]
user = 28537119
kernel = 6607825

[counters]
"Level-1 D-cache directory-write count" = 3

[user]
"sum::parse" = [7004478, 4]
"sum::sort<&[u8]>" = [905073, 200]

[kernel]
"vfs_read" = [97963, 60]
"#;
