//! No trap reaches more panics than the table says.

use tests_qemu::{ipl, panics, suite::test};

#[test]
fn the_traps_reach_no_more_panics_than_the_table_allows() {
    let table = panics::allowed().unwrap();
    panics::check_places(&table).unwrap();
    let sites = panics::sites(&ipl::image().unwrap()).unwrap();
    let (text, wrong) = panics::compare(&sites, &table);
    println!("{text}");
    assert!(wrong.is_empty(), "{wrong}");
}
