//! The machine's cryptographic functions pass the kernel's own tests of its s390 drivers.
//!
//! The kernel tests a driver when the driver registers, so loading the modules is the test. The same boot runs a
//! program that tries to get out of its address space.

use std::collections::BTreeMap;

use measure::{
    computer::progress::Progress,
    linux::{Release, cache::Cache, modules, packages},
};

use tests_qemu::suite::test;

use crate::{
    guest::{Guest, initrd_with},
    isolation,
};

const QUESTIONS: &str = r"
echo @modules
for module in /root/drivers/*.ko*; do
    case $module in
    *.xz) unxz $module; module=${module%.xz} ;;
    esac
    insmod $module 2>&1 || echo $module is refused
done
echo all
echo @algorithms; cat /proc/crypto
echo @complaints; dmesg | grep -e 'alg: .*fail' -e Oops -e WARNING: -e BUG:
echo none
";

/// The algorithms that the drivers register. A driver registers one if the CPU has the functions for it.
const DRIVERS: [&str; 20] = [
    "aes-s390",
    "cbc-aes-s390",
    "cbc-des-s390",
    "cbc-des3_ede-s390",
    "chacha20-s390",
    "ctr-aes-s390",
    "ctr-des-s390",
    "ctr-des3_ede-s390",
    "des-s390",
    "des3_ede-s390",
    "ecb-aes-s390",
    "ecb-des-s390",
    "ecb-des3_ede-s390",
    "gcm-aes-s390",
    "sha1-s390",
    "sha224-s390",
    "sha256-s390",
    "sha384-s390",
    "sha512-s390",
    "xts-aes-s390",
];

/// Every algorithm of /proc/crypto that belongs to a driver of the CPU, with the result of its test.
fn results(algorithms: &str) -> BTreeMap<String, String> {
    let of_drivers = algorithms.split("\n\n").filter_map(|algorithm| {
        let field = |name: &str| {
            let mut lines = algorithm.lines().filter_map(|line| line.split_once(':'));
            let (_, value) = lines.find(|(field, _)| field.trim() == name)?;
            Some(value.trim().to_owned())
        };
        let driver = field("driver")?;
        driver
            .contains("s390")
            .then(|| Some((driver, field("selftest")?)))
            .flatten()
    });
    of_drivers.collect()
}

fn drivers_pass(release: Release) {
    let cache = Cache::of_user().unwrap();
    let kernel = packages::kernel(&cache, release, &Progress::Plain).unwrap();
    let modules = modules::of_cryptography(&kernel.modules);
    let initrd = initrd_with("root/drivers", &modules);
    let guest = Guest { release, cpus: 1 };
    let script = [QUESTIONS, isolation::QUESTIONS].concat();
    let answers = guest.answers_with(&script, &initrd, &["--cryptography"]);
    assert_eq!(answers.of("modules").trim_end(), "all");
    let results = results(answers.of("algorithms"));
    let drivers: Vec<&str> = results.keys().map(String::as_str).collect();
    assert_eq!(drivers, DRIVERS, "{results:#?}");
    assert!(
        results.values().all(|result| result == "passed"),
        "{results:#?}"
    );
    assert_eq!(answers.of("complaints").trim_end(), "none");
    isolation::check(&answers);
}

#[test]
#[ignore = "long: cargo soak runs it"]
fn the_drivers_of_linux_6_1_pass_its_tests_and_a_program_stays_in_its_address_space() {
    drivers_pass(Release::V6_1);
}

#[test]
fn the_drivers_of_linux_6_12_pass_its_tests_and_a_program_stays_in_its_address_space() {
    drivers_pass(Release::V6_12);
}
