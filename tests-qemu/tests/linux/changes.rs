//! CPUs that come and go, and many short programs, while perf counts and samples.

use crate::{guest::Answers, record, stat};

/// All CPUs but the first go offline and come back while each of them is busy.
pub const QUESTIONS: &str = r"
cat >away <<'END'
for i in 1 2 3 4 5 6 7 8; do $1 & done
cd /sys/devices/system/cpu
for turn in 1 2; do
    for cpu in cpu[1-9]; do echo 0 >$cpu/online; done
    cat online
    for cpu in cpu[1-9]; do echo 1 >$cpu/online; done
    cat online
done
wait
END
echo @away-stat; perf stat -x, -a -e instructions:u,instructions sh ./away loop 2>&1
echo @away-record; grep CMS /proc/interrupts; perf record -q -a -F 4000 -e cycles -o data sh ./away steps 2>&1
grep CMS /proc/interrupts; perf report --stats -i data 2>&1
echo @programs; grep CMS /proc/interrupts
perf record -q -a -F 4000 -e cycles -o data sh -c 'i=0; while [ $i -lt 200 ]; do /bin/busybox true; i=$((i+1)); done; echo $i programs' 2>&1
grep CMS /proc/interrupts; perf report --stats -i data 2>&1
";

/// Nothing is lost, and the CPUs come back.
pub fn check(answers: &Answers, cpus: u64) {
    let online = format!("0\n0-{}\n", cpus - 1).repeat(2);
    let counted = answers.of("away-stat");
    assert!(counted.starts_with(&online), "{counted}");
    // The event of a CPU that went offline stops counting: Linux does not bring it back with the CPU.
    let counts = stat::counted(counted, "instructions:u");
    assert!(
        (stat::LOOP / 2..9 * stat::LOOP).contains(&counts),
        "{counted}"
    );
    let recorded = answers.of("away-record");
    assert!(recorded.contains(&online), "{recorded}");
    let samples = record::check_stats(recorded, record::MANY);
    assert!(samples > 400, "{recorded}");
    let programs = answers.of("programs");
    assert!(programs.contains("200 programs\n"), "{programs}");
    record::check_stats(programs, record::MANY);
}
