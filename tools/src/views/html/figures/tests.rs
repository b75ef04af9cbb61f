use super::*;
use cpumf::model::Z15;

fn set(cpu: u16, set: u16, first: u16, values: &[u64]) -> CounterValues {
    CounterValues {
        cpu,
        level: Level::Machine,
        set,
        first,
        authorized: true,
        values: values.to_vec(),
    }
}

fn measured<'m>(sets: &'m [CounterValues], readings: &'m Readings, is_exact: bool) -> Measured<'m> {
    Measured {
        sets,
        readings,
        model: &Z15,
        speed: 1000,
        is_exact,
        models_caches: false,
    }
}

fn line<'f>(figures: &'f [Figures], name: &str) -> Option<&'f Figure> {
    figures[0].lines.iter().find(|figure| figure.name == name)
}

#[test]
fn figures_are_calculated_for_each_cpu_and_for_all_together() {
    let sets = [
        set(0, 1, 0, &[3000, 1000]),
        set(1, 1, 0, &[1000, 1000]),
        set(0, 2, 32, &[600, 500]),
        set(1, 2, 32, &[0, 0]),
    ];
    let readings = Readings::default();
    let figures = figures(&measured(&sets, &readings, false));
    assert_eq!(figures[0].owners, ["CPU 0", "CPU 1", "all CPUs"]);
    assert_eq!(
        line(&figures, CPI).unwrap().values,
        [Some(3.0), Some(1.0), Some(2.0)]
    );
    let speed = line(&figures, "Instructions per second of guest time").unwrap();
    assert_eq!(speed.values[2], Some(500.0));
    let share = line(&figures, "Instructions in problem state").unwrap();
    assert_eq!(share.values, [Some(50.0), Some(0.0), Some(25.0)]);
    assert_eq!(
        line(&figures, CPI_PROBLEM).unwrap().values[1],
        None,
        "a divisor of zero"
    );
}

#[test]
fn a_figure_without_its_counters_is_left_out() {
    let sets = [set(0, 1, 0, &[3000, 1000, 0, 0, 0, 0])];
    let readings = Readings::default();
    let figures = figures(&measured(&sets, &readings, false));
    let names: Vec<&str> = figures[0].lines.iter().map(|figure| figure.name).collect();
    assert_eq!(names, [CPI, "Instructions per second of guest time"]);
}

#[test]
fn modelled_caches_have_figures_and_their_penalties_are_added_to_the_cycles() {
    let sets = [set(0, 1, 0, &[1000, 1000, 10, 80, 20, 160])];
    let readings = Readings::default();
    let without = figures(&measured(&sets, &readings, true));
    assert!(line(&without, CPI_MODELLED).is_none());
    let with = figures(&Measured {
        models_caches: true,
        ..measured(&sets, &readings, true)
    });
    let values = |name| line(&with, name).unwrap().values.clone();
    assert_eq!(values(CPI_MODELLED), [Some(1.24)]);
    assert_eq!(
        values("Level-1 directory writes for 100 instructions"),
        [Some(3.0)]
    );
    assert_eq!(values("Level-1 penalty cycles"), [Some(24.0)]);
    assert!(
        line(&with, CPI_PROBLEM_MODELLED).is_none(),
        "a z15 has none"
    );
    assert!(line(&with, CPI).is_none(), "an instruction is a cycle");
}

#[test]
fn cycles_that_are_instructions_by_definition_give_no_cycles_per_instruction() {
    let sets = [set(0, 1, 0, &[1000, 1000])];
    let readings = Readings::default();
    let exact = figures(&measured(&sets, &readings, true));
    assert!(line(&exact, CPI).is_none());
    assert!(exact[0].notes[0].contains("by definition"));
    let sets = [set(0, 1, 0, &[1700, 1000])];
    let modelled = figures(&measured(&sets, &readings, true));
    assert_eq!(line(&modelled, CPI).unwrap().values, [Some(1.7)]);
}

#[test]
fn a_counter_that_was_read_again_has_a_chart_like_its_figures() {
    let mut readings = Readings::default();
    for values in [[200, 100], [600, 200]] {
        readings.add(&set(0, 1, 0, &values));
    }
    let sets = [set(0, 1, 0, &[600, 200])];
    let measured = measured(&sets, &readings, false);
    let figures = figures(&measured);
    assert_eq!(line(&figures, CPI).unwrap().chart, [Some(2.0), Some(4.0)]);
    let tables = tables(&measured);
    assert_eq!(
        (tables[0].intervals, &tables[0].rows[1].chart[..]),
        (2, &[100.0, 100.0][..])
    );
}

#[test]
fn counters_that_count_nothing_have_no_line_unless_they_were_set() {
    let mut sets = [set(0, 1, 0, &[5000, 5000]), set(0, 0, 128, &[0, 10, 0])];
    let readings = Readings::default();
    let before = tables(&measured(&sets, &readings, true));
    let numbers: Vec<u16> = before[0].rows.iter().map(|row| row.number).collect();
    // 128 counts nothing on a z15; 130 does, and has not.
    assert_eq!((numbers, before[0].silent), (vec![0, 1, 129, 130], 1));
    assert_eq!(before[0].rows[2].per_thousand, Some(2.0));
    sets[1].values[0] = 4;
    let after = tables(&measured(&sets, &readings, true));
    assert_eq!(after[0].silent, 0);
}
