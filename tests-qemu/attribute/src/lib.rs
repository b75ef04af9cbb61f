//! `#[test]` for a suite of [`tests_qemu`](../tests_qemu/suite/index.html): the function is in its list.
//!
//! A file imports it as `use tests_qemu::test;`, and its tests look like all others. `#[ignore = "why"]` under it has its
//! usual meaning: only `cargo soak` runs the test.

#![forbid(unsafe_code)]

use proc_macro::{Delimiter, TokenStream, TokenTree};

/// Adds the function to the tests of its suite.
#[proc_macro_attribute]
pub fn test(_: TokenStream, function: TokenStream) -> TokenStream {
    let (mut kept, mut name, mut ignored) = (TokenStream::new(), String::new(), "false");
    let mut tokens = function.into_iter().peekable();
    while let Some(token) = tokens.next() {
        match &token {
            TokenTree::Punct(mark) if mark.as_char() == '#' && is_ignore(tokens.peek()) => {
                tokens.next();
                ignored = "true";
                continue;
            }
            TokenTree::Ident(word) if name.is_empty() && word.to_string() == "fn" => {
                name = tokens.peek().map(ToString::to_string).unwrap_or_default();
            }
            _ => {}
        }
        kept.extend([token]);
    }
    let entry = format!(
        "::tests_qemu::suite::inventory::submit! {{ ::tests_qemu::suite::Test {{ \
             path: concat!(module_path!(), \"::{name}\"), is_long: {ignored}, perform: {name} }} }}"
    );
    match entry.parse::<TokenStream>() {
        Ok(entry) => kept.extend(entry),
        Err(error) => kept.extend(
            format!("compile_error!(\"{error}\");")
                .parse::<TokenStream>()
                .unwrap_or_default(),
        ),
    }
    kept
}

/// Whether this is what follows the mark of `#[ignore]`.
fn is_ignore(token: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = token else {
        return false;
    };
    let first = group.stream().into_iter().next();
    group.delimiter() == Delimiter::Bracket
        && first.is_some_and(|word| word.to_string() == "ignore")
}
