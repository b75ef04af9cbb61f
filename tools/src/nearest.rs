//! The names that are most like one that nobody knows.
//!
//! Who mistypes a name of a guest, a model, a counter set, an event or a symbol wants the right one, not a list of all.
//! Every refusal of a name asks here, so that all of them suggest alike.

/// Names at least as similar as this (1 is equal) are suggested.
const SIMILAR: f64 = 0.8;

/// The longest text that counts as short. In one of these, letters in the wrong order leave little that is alike, and a
/// common first letter says nothing.
const SHORT: usize = 4;

/// Names at least as similar as this are suggested for a short text: one letter in three may be wrong.
const SIMILAR_TO_SHORT: f64 = 0.65;

/// How many are suggested.
const MENTIONED: usize = 3;

/// The most names that are listed if none is similar.
const LISTED: usize = 12;

/// A text that is longer than this many times a name, and [`SLACK`] more, is not like it. Comparing two names takes as long as
/// the product of their lengths, and a person does not mistype so much.
const TIMES: usize = 3;

/// What a text may be longer in any case.
const SLACK: usize = 8;

/// The names that are most like the text, the most similar first. A person may leave out the beginning of a path, or
/// mistype its end, so the last parts of paths are compared as well. Upper and lower case are the same.
pub fn nearest<'n>(text: &str, names: impl IntoIterator<Item = &'n str>) -> Vec<&'n str> {
    let text = text.to_lowercase();
    let text_last = last(&text);
    let (alike, least): (fn(&str, &str) -> f64, f64) = match text_last.chars().count() {
        0..=SHORT => (strsim::normalized_damerau_levenshtein, SIMILAR_TO_SHORT),
        _ => (strsim::jaro_winkler, SIMILAR),
    };
    let compared = |text: &str, name: &str| match text.len() <= TIMES * name.len() + SLACK {
        true => alike(text, name),
        false => 0.0,
    };
    let similarity = |name: &str| {
        let name = name.to_lowercase();
        compared(&text, &name).max(compared(text_last, last(&name)))
    };
    let scored = names.into_iter().map(|name| (similarity(name), name));
    let mut near: Vec<(f64, &str)> = scored.filter(|(score, _)| *score >= least).collect();
    near.sort_by(|(one, first), (other, second)| other.total_cmp(one).then(first.cmp(second)));
    near.dedup_by_key(|(_, name)| *name);
    near.into_iter()
        .take(MENTIONED)
        .map(|(_, name)| name)
        .collect()
}

/// The last part of a path.
fn last(name: &str) -> &str {
    name.rsplit("::").next().unwrap_or_default()
}

/// The end of a refusal: the nearest names, or all of a few names if none is near. Empty if there are many.
pub fn remedy(text: &str, names: &[&str]) -> String {
    match &nearest(text, names.iter().copied())[..] {
        [] if names.len() > LISTED || names.is_empty() => String::new(),
        [] => format!("; choose one of {}", names.join(", ")),
        near => mentioned(near),
    }
}

/// The nearest names in words, to follow a refusal; empty without any.
pub fn mentioned(near: &[&str]) -> String {
    match near {
        [] => String::new(),
        [one] => format!("; the nearest is {one}"),
        many => format!("; the nearest are {}", many.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mistyped_name_has_the_right_one_first() {
        let names = ["workload", "work-units", "hash", "b_stfl", "b_stfle"];
        for (text, first) in [
            ("wrokload", "workload"),
            ("hsah", "hash"),
            ("HASH", "hash"),
            ("b_stlf", "b_stfl"),
            ("workunits", "work-units"),
            ("has", "hash"),
        ] {
            let near = nearest(text, names);
            assert_eq!(near.first(), Some(&first), "{text}: {near:?}");
            assert!(near.len() <= MENTIONED);
        }
        assert_eq!(nearest("zzz", names), Vec::<&str>::new());
        assert_eq!(nearest("z71", ["z10", "z17", "z196"]), ["z17"]);
        assert_eq!(nearest("z9", ["z10", "z17", "z196"]), Vec::<&str>::new());
        assert_eq!(nearest("", names), Vec::<&str>::new());
    }

    #[test]
    fn a_text_that_is_far_longer_than_every_name_is_like_none_and_costs_nothing() {
        let names: Vec<String> = (0..1000).map(|number| format!("guest-{number}")).collect();
        let names = || names.iter().map(String::as_str);
        for long in [
            "g".repeat(200_000),
            "guest::".repeat(30_000) + "guest-1-and-so-on-and-on-and-on-and-on",
        ] {
            let began = std::time::Instant::now();
            assert_eq!(nearest(&long, names()), Vec::<&str>::new());
            assert!(began.elapsed() < std::time::Duration::from_secs(1));
        }
        assert_eq!(
            nearest(&("other::".repeat(30_000) + "guest-71"), names())[0],
            "guest-71"
        );
    }

    #[test]
    fn the_last_part_of_a_path_is_enough() {
        let names = ["guests::work::search", "guests::main"];
        assert_eq!(nearest("serach", names), ["guests::work::search"]);
        assert_eq!(nearest("other::serach", names), ["guests::work::search"]);
    }

    #[test]
    fn a_refusal_ends_with_the_nearest_names_or_with_a_few() {
        let models = ["z10", "z196", "z13"];
        assert_eq!(remedy("z196x", &models), "; the nearest is z196");
        assert_eq!(remedy("power", &models), "; choose one of z10, z196, z13");
        let many = ["abc"; LISTED + 1];
        assert_eq!(remedy("xyz", &many), "");
        assert_eq!(remedy("x", &[]), "");
        assert_eq!(mentioned(&["a", "b"]), "; the nearest are a, b");
    }
}
