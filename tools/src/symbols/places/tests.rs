use super::*;

fn place(start: u64, last: u64, is_data: bool, name: &str) -> Place {
    Place {
        start,
        last,
        is_data,
        name: name.to_owned(),
    }
}

fn names() -> PlaceNames {
    PlaceNames::of(vec![
        place(0x1000, 0x10FF, false, "start"),
        place(0x1100, 0x11FF, false, "guests::work::search"),
        place(
            0x1200,
            0x12FF,
            false,
            "<adler2::Adler32 as core::hash::Hasher>::write",
        ),
        place(0x1300, 0x13FF, false, "add"),
        place(0x1400, 0x14FF, false, "one::poll"),
        place(0x1500, 0x15FF, false, "two::poll"),
        place(0x1600, 0x16FF, false, "core::face"),
        place(0x1700, 0x17FF, false, "work::clone.2"),
        place(0x1800, 0x18FF, false, "work::clone"),
        place(0x2000, 0x2FFF, true, "guests::work::TABLE"),
    ])
}

fn meant(text: &str) -> Meant {
    names().meant(text, Wanted::Routine).unwrap()
}

fn refusal(text: &str, wanted: Wanted) -> String {
    names().meant(text, wanted).unwrap_err().to_string()
}

#[test]
fn a_name_is_the_whole_name_or_its_last_words() {
    assert_eq!(meant("start"), Meant::Named(0x1000, 0x10FF));
    for name in ["guests::work::search", "work::search", "search"] {
        assert_eq!(meant(name), Meant::Named(0x1100, 0x11FF), "{name}");
    }
    let long = "<adler2::Adler32 as core::hash::Hasher>::write";
    assert_eq!(meant(long), Meant::Named(0x1200, 0x12FF));
}

#[test]
fn two_names_are_from_the_first_byte_of_the_one_to_the_last_of_the_other() {
    assert_eq!(meant("start-search"), Meant::Named(0x1000, 0x11FF));
    assert_eq!(meant("start-0x1F00"), Meant::Named(0x1000, 0x1F00));
    assert_eq!(meant("10-start"), Meant::Named(0x10, 0x10FF));
}

#[test]
fn a_name_and_a_length_are_its_first_bytes() {
    assert_eq!(meant("search.2"), Meant::Named(0x1100, 0x1101));
    assert_eq!(meant("start.0x1F"), Meant::Named(0x1000, 0x101E));
    // A name takes precedence over the same number, and may contain a point.
    assert_eq!(meant("add.2"), Meant::Named(0x1300, 0x1301));
    assert_eq!(meant("0add.2"), Meant::Numbers("0add.2".to_owned()));
    assert_eq!(meant("clone.2"), Meant::Named(0x1700, 0x17FF));
    assert_eq!(meant("clone"), Meant::Named(0x1800, 0x18FF));
    assert!(refusal("search.0", Wanted::Routine).contains("search.0 is neither"));
    assert!(refusal("poll.2", Wanted::Routine).contains("two::poll"));
    assert!(refusal("TABLE.8", Wanted::Routine).contains("is data"));
}

#[test]
fn a_name_takes_precedence_over_the_same_number_unless_that_begins_with_a_zero() {
    assert_eq!(meant("add"), Meant::Named(0x1300, 0x13FF));
    assert_eq!(meant("0add"), Meant::Numbers("0add".to_owned()));
    assert_eq!(meant("0xadd"), Meant::Numbers("add".to_owned()));
    // Only the whole name of a routine does.
    assert_eq!(meant("face"), Meant::Numbers("face".to_owned()));
    assert_eq!(meant("core::face"), Meant::Named(0x1600, 0x16FF));
    assert_eq!(meant("0x10-0x2F"), Meant::Numbers("10-2F".to_owned()));
    assert_eq!(meant("1000.0x10"), Meant::Numbers("1000.10".to_owned()));
}

#[test]
fn only_commands_about_storage_take_data() {
    let any = names().meant("TABLE", Wanted::Any);
    assert_eq!(any, Ok(Meant::Named(0x2000, 0x2FFF)));
    assert!(refusal("TABLE", Wanted::Routine).starts_with("TABLE is data, and only STORE"));
}

#[test]
fn an_unknown_name_is_answered_with_similar_names() {
    let refused = refusal("serach", Wanted::Routine);
    assert!(
        refused.starts_with("serach is neither") && refused.contains("guests::work::search"),
        "{refused}"
    );
    let refused = refusal("work::serach", Wanted::Routine);
    assert!(refused.contains("guests::work::search"), "{refused}");
    let refused = refusal("start-serach", Wanted::Routine);
    assert!(refused.starts_with("serach is neither"), "{refused}");
    let refused = refusal("zzzzzzzz", Wanted::Any);
    assert_eq!(
        refused,
        "zzzzzzzz is neither a hexadecimal number nor a symbol of the guest"
    );
    // Too long for an address.
    assert!(refusal("11112222333344445", Wanted::Any).contains("neither"));
    assert!(refusal("-", Wanted::Any).contains("neither"));
}

#[test]
fn an_ambiguous_name_is_answered_with_all_its_addresses() {
    let refused = refusal("poll", Wanted::Routine);
    assert!(
        refused.contains("poll is the name of 2 symbols"),
        "{refused}"
    );
    assert!(
        refused.contains("1400-14FF one::poll\n  1500-15FF two::poll"),
        "{refused}"
    );
    assert_eq!(meant("one::poll"), Meant::Named(0x1400, 0x14FF));
}

#[test]
fn a_routine_of_a_kernel_ends_where_anything_else_begins() {
    let name = |address, kind, name: &str| kallsyms::Name {
        address,
        kind,
        name: name.to_owned(),
    };
    let names = PlaceNames::of_kernel(&[
        name(0x1000, b'T', "one"),
        name(0x1000, b't', "alias"),
        name(0x1010, b'd', "data"),
        name(0x1020, b'A', "absolute"),
        name(0x1020, b'T', "end"),
    ]);
    for routine in ["one", "alias"] {
        assert_eq!(
            names.meant(routine, Wanted::Routine),
            Ok(Meant::Named(0x1000, 0x100F))
        );
    }
    assert_eq!(
        names.meant("data", Wanted::Any),
        Ok(Meant::Named(0x1010, 0x101F))
    );
    assert!(names.meant("end", Wanted::Any).is_err());
}
