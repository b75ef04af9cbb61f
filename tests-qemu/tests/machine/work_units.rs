//! Samples of a guest that fills its program parameter as z/OS does.

use std::collections::BTreeMap;

use measure::{
    computer::progress::Progress,
    numbers::quantities::Sampling,
    options::RunOptions,
    report::Report,
    views::{
        dump::{self, Form, Manner},
        export::{self, To},
        json, table,
    },
};
use tempfile::TempDir;
use tests_qemu::{ipl, suite::test};

#[test]
fn samples_of_z_os_name_the_work_that_its_dispatcher_dispatched() {
    let directory = TempDir::new().unwrap();
    let options = RunOptions {
        sampling: Sampling::Every(10_000),
        out: Some(directory.path().to_owned()),
        ..ipl::options("work-units")
    };
    let outcome = measure::machine::run::run(&options, &Progress::Silent).unwrap();
    assert_eq!(outcome.end.exit_code(), 0, "{}", ipl::story(&outcome));

    // The units work as 4 to 3 to 2 to 1, in a million turns altogether, ten times.
    let report = Report::read(directory.path()).unwrap().of_zos();
    let units: BTreeMap<String, u64> = report
        .units
        .iter()
        .map(|(parameter, samples)| (format!("{:04X} {parameter}", parameter.home_asn), *samples))
        .collect();
    for (unit, share) in [
        ("0023 TCB 8F1234 task 0001", 4),
        ("0023 TCB 8F5678 task 0002", 3),
        ("0005 SRB WEB 02345678 partial 5678", 2),
        ("0001 wait, TCB 000000 task 0000", 1),
    ] {
        let samples = units[unit];
        assert!(samples.abs_diff(100 * share) <= 10, "{unit}: {samples}");
    }
    let text = table::text(&report);
    assert!(text.contains("home ASN  work unit"), "{text}");
    assert!(text.contains("0023      TCB 8F1234 task 0001"), "{text}");
    let object: serde_json::Value = serde_json::from_str(&json::text(&report).unwrap()).unwrap();
    assert_eq!(object["work_units"][0]["unit"], "TCB 8F1234 task 0001");
    assert_eq!(object["work_units"][0]["home_asn"], 0x23);

    let dumped = |zos| {
        let (mut out, form) = (Vec::new(), Form::Csv);
        let file = directory.path().join("sdb-cpu0.bin");
        dump::dump(&file, Manner { form, zos }, Progress::Silent, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    };
    let lines = dumped(true);
    for field in [
        "TCB address,8F5678",
        "WEB address,02345678",
        "partial WEB address,5678",
        "home ASN,0005",
        "W,1,wait dispatched",
    ] {
        assert!(lines.contains(field), "{field}");
    }
    // Another guest may have any parameter.
    assert!(!dumped(false).contains("TCB address"));

    let file = directory.path().join("samples.csv");
    let out = Some(file.as_path());
    let zos = |to| export::Form { to, zos: true };
    export::export(directory.path(), zos(To::Csv), out, Progress::Silent).unwrap();
    let lines = std::fs::read_to_string(&file).unwrap();
    assert!(lines.contains(",0023,0,0,8F1234,0001,,\n"), "{lines}");
    assert!(lines.contains(",0005,,1,,,02345678,5678\n"));
    let refused = export::export(directory.path(), zos(To::Folded), out, Progress::Silent);
    assert!(refused.unwrap_err().to_string().contains("--zos"));
}
