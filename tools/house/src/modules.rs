//! The module trees of the packages, with what each file defines and names.

use crate::table::Package;
use anyhow::{Context, Result, bail};
use proc_macro2::{TokenStream, TokenTree};
use quote::ToTokens;
use std::{
    collections::BTreeMap,
    fs,
    path::{Path, PathBuf},
};
use syn::{Attribute, Item, UseTree};

/// An import: its name here, and the path that it stands for.
#[derive(Debug, Clone)]
pub struct Import {
    /// The name in this module; `*` for all names of a module.
    pub alias: String,
    /// The path as written.
    pub path: Vec<String>,
    /// The line.
    pub line: usize,
    /// Whether it re-exports the name. Then a user of the name imports the file that defines the thing.
    pub is_reexport: bool,
}

/// A path in code.
#[derive(Debug, Clone)]
pub struct Mention {
    /// The path as written, of two or more segments.
    pub path: Vec<String>,
    /// The line.
    pub line: usize,
}

/// A module: a file, or a part of one in braces.
#[derive(Debug, Default)]
pub struct Module {
    /// The file that holds it, relative to the repository.
    pub file: String,
    /// Its `use` declarations.
    pub imports: Vec<Import>,
    /// The names of the things that it defines, except modules, with their lines.
    pub definitions: BTreeMap<String, usize>,
    /// Paths in its code.
    pub mentions: Vec<Mention>,
    /// Places of `unsafe`.
    pub hazards: Vec<usize>,
}

/// All modules of all packages, by their paths: the name of the package, then those of modules.
pub type Modules = BTreeMap<Vec<String>, Module>;

/// Reads the module trees.
pub fn read(root: &Path, packages: &[Package]) -> Result<Modules> {
    let mut modules = Modules::new();
    for package in packages {
        let file = root.join(&package.root);
        let folder = file.parent().unwrap_or(root).to_owned();
        let path = vec![package.name.clone()];
        Reader {
            root,
            modules: &mut modules,
        }
        .file(&file, &folder, path)?;
    }
    Ok(modules)
}

struct Reader<'a> {
    root: &'a Path,
    modules: &'a mut Modules,
}

impl Reader<'_> {
    /// Reads a file; `folder` is where the files of its child modules stand.
    fn file(&mut self, file: &Path, folder: &Path, path: Vec<String>) -> Result<()> {
        let text =
            fs::read_to_string(file).with_context(|| format!("cannot read {}", file.display()))?;
        let parsed =
            syn::parse_file(&text).with_context(|| format!("cannot parse {}", file.display()))?;
        let name = file.strip_prefix(self.root).unwrap_or(file);
        self.items(&name.display().to_string(), folder, path, &parsed.items)
    }

    fn items(
        &mut self,
        file: &str,
        folder: &Path,
        path: Vec<String>,
        items: &[Item],
    ) -> Result<()> {
        let mut module = Module {
            file: file.to_owned(),
            ..Module::default()
        };
        for item in items {
            if is_test(attributes(item)) {
                continue;
            }
            match item {
                Item::Use(item) => {
                    let line = item.use_token.span.start().line;
                    let first = module.imports.len();
                    flatten(&item.tree, &mut Vec::new(), line, &mut module.imports);
                    let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
                    for import in &mut module.imports[first..] {
                        import.is_reexport = is_reexport;
                    }
                }
                Item::Mod(child) => {
                    let name = child.ident.to_string();
                    let mut below = path.clone();
                    below.push(name.clone());
                    match &child.content {
                        Some((_, items)) => {
                            self.items(file, &folder.join(&name), below, items)?;
                        }
                        None => {
                            let (file, folder) = place(folder, &name, &child.attrs)?;
                            self.file(&file, &folder, below)?;
                        }
                    }
                }
                other => {
                    if let Some((name, line)) = defined(other) {
                        module.definitions.insert(name, line);
                    }
                    scan(other.to_token_stream(), &mut module);
                }
            }
        }
        self.modules.insert(path, module);
        Ok(())
    }
}

/// The file of a child module and the folder of that module's own children.
fn place(folder: &Path, name: &str, attributes: &[Attribute]) -> Result<(PathBuf, PathBuf)> {
    for attribute in attributes {
        if attribute.path().is_ident("path")
            && let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(literal) = &pair.value
            && let syn::Lit::Str(text) = &literal.lit
        {
            return Ok((folder.join(text.value()), folder.join(name)));
        }
    }
    let flat = folder.join(format!("{name}.rs"));
    let nested = folder.join(name).join("mod.rs");
    match (flat.is_file(), nested.is_file()) {
        (true, _) => Ok((flat, folder.join(name))),
        (_, true) => Ok((nested, folder.join(name))),
        _ => bail!("module {name} has no file in {}", folder.display()),
    }
}

fn attributes(item: &Item) -> &[Attribute] {
    match item {
        Item::Const(item) => &item.attrs,
        Item::Enum(item) => &item.attrs,
        Item::Fn(item) => &item.attrs,
        Item::Impl(item) => &item.attrs,
        Item::Macro(item) => &item.attrs,
        Item::Mod(item) => &item.attrs,
        Item::Static(item) => &item.attrs,
        Item::Struct(item) => &item.attrs,
        Item::Trait(item) => &item.attrs,
        Item::Type(item) => &item.attrs,
        Item::Use(item) => &item.attrs,
        _ => &[],
    }
}

/// Whether an item is for tests only.
fn is_test(attributes: &[Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        let text = attribute.to_token_stream().to_string();
        attribute.path().is_ident("test")
            || attribute.path().is_ident("cfg") && text.contains("test") && !text.contains("not")
    })
}

fn defined(item: &Item) -> Option<(String, usize)> {
    let ident = match item {
        Item::Const(item) => &item.ident,
        Item::Enum(item) => &item.ident,
        Item::Fn(item) => &item.sig.ident,
        Item::Macro(item) => item.ident.as_ref()?,
        Item::Static(item) => &item.ident,
        Item::Struct(item) => &item.ident,
        Item::Trait(item) => &item.ident,
        Item::Type(item) => &item.ident,
        Item::Union(item) => &item.ident,
        _ => return None,
    };
    Some((ident.to_string(), ident.span().start().line))
}

/// Takes a `use` tree apart.
fn flatten(tree: &UseTree, above: &mut Vec<String>, line: usize, imports: &mut Vec<Import>) {
    let mut import = |alias: String, path: Vec<String>| {
        imports.push(Import {
            alias,
            path,
            line,
            is_reexport: false,
        });
    };
    match tree {
        UseTree::Path(path) => {
            above.push(path.ident.to_string());
            flatten(&path.tree, above, line, imports);
            above.pop();
        }
        UseTree::Name(name) if name.ident == "self" => {
            let alias = above.last().cloned().unwrap_or_default();
            import(alias, above.clone());
        }
        UseTree::Name(name) => {
            let mut path = above.clone();
            path.push(name.ident.to_string());
            import(name.ident.to_string(), path);
        }
        UseTree::Rename(rename) => {
            let mut path = above.clone();
            if rename.ident != "self" {
                path.push(rename.ident.to_string());
            }
            import(rename.rename.to_string(), path);
        }
        UseTree::Glob(_) => import("*".to_owned(), above.clone()),
        UseTree::Group(group) => {
            for tree in &group.items {
                flatten(tree, above, line, imports);
            }
        }
    }
}

/// Whether this is `(in PATH)`.
fn is_restriction(token: Option<&TokenTree>) -> bool {
    let Some(TokenTree::Group(group)) = token else {
        return false;
    };
    let first = group.stream().into_iter().next();
    matches!(first, Some(TokenTree::Ident(word)) if word == "in")
}

/// Finds the paths in code, in the arguments of macros as well, and the places of `unsafe`.
fn scan(tokens: TokenStream, module: &mut Module) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let colons = |at: usize| {
        let colon =
            |at: usize| matches!(tokens.get(at), Some(TokenTree::Punct(p)) if p.as_char() == ':');
        colon(at) && colon(at + 1)
    };
    let mut at = 0;
    while at < tokens.len() {
        match &tokens[at] {
            // Attributes do not name code of the project.
            TokenTree::Punct(punct) if punct.as_char() == '#' => {
                at += 1;
                if matches!(tokens.get(at), Some(TokenTree::Group(_))) {
                    at += 1;
                }
                continue;
            }
            // A visibility names a module without importing it.
            TokenTree::Ident(word) if word == "pub" && is_restriction(tokens.get(at + 1)) => {
                at += 2;
                continue;
            }
            TokenTree::Group(group) => scan(group.stream(), module),
            TokenTree::Ident(first) => {
                if first == "unsafe" {
                    module.hazards.push(first.span().start().line);
                }
                let mut path = vec![first.to_string()];
                while colons(at + 1)
                    && let Some(TokenTree::Ident(next)) = tokens.get(at + 3)
                {
                    path.push(next.to_string());
                    at += 3;
                }
                // `pub(in super::super)` names no item.
                let names_an_item = path
                    .iter()
                    .any(|name| !matches!(name.as_str(), "super" | "self" | "crate"));
                if path.len() > 1 && names_an_item {
                    let line = first.span().start().line;
                    module.mentions.push(Mention { path, line });
                }
            }
            _ => {}
        }
        at += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn module(text: &str) -> Module {
        let mut modules = Modules::new();
        let parsed = syn::parse_file(text).unwrap();
        Reader {
            root: Path::new("/"),
            modules: &mut modules,
        }
        .items("a.rs", Path::new("/"), vec!["a".to_owned()], &parsed.items)
        .unwrap();
        modules.remove(&vec!["a".to_owned()]).unwrap()
    }

    #[test]
    fn every_form_of_use_gives_its_names() {
        let module = module("use crate::a::{self, b::C, d as e}; use super::f::*;");
        let found: Vec<(String, String)> = module
            .imports
            .iter()
            .map(|import| (import.alias.clone(), import.path.join("::")))
            .collect();
        let expected = [
            ("a", "crate::a"),
            ("C", "crate::a::b::C"),
            ("e", "crate::a::d"),
            ("*", "super::f"),
        ];
        assert_eq!(found, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
    }

    #[test]
    fn paths_are_found_in_macros_and_tests_are_left_out() {
        let module = module(
            "fn f() { println!(\"{}\", crate::x::y(a::b)); }\n#[cfg(test)] fn t() { c::d() }",
        );
        let found: Vec<String> = module
            .mentions
            .iter()
            .map(|mention| mention.path.join("::"))
            .collect();
        assert_eq!(found, ["crate::x::y", "a::b"]);
    }

    #[test]
    fn unsafe_code_is_found_with_its_line() {
        let module = module("fn f() {\n unsafe { g() }\n}\nunsafe fn h() {}");
        assert_eq!(module.hazards, [2, 4]);
    }

    #[test]
    fn a_visibility_imports_nothing() {
        let mut module = Module::default();
        let code = "pub(in crate::x) struct S { pub(in crate::y) z: a::b }";
        scan(code.parse().unwrap(), &mut module);
        let mentions: Vec<_> = module
            .mentions
            .iter()
            .map(|mention| &mention.path)
            .collect();
        assert_eq!(mentions, [&["a", "b"]]);
    }
}
