//! Files in an archive of the form that kernels unpack: cpio with portable headings in ASCII.

/// Headings and data begin on such a boundary.
const ALIGNMENT: usize = 4;

/// Bytes of an entry's heading: its magic and 13 numbers of eight digits.
const HEAD: usize = 110;

/// The content of a file that archives have, by its name from the root on: what the last of them has counts. Archives
/// that are compressed have nothing.
#[must_use]
pub fn file_of<'a>(archives: &'a [Vec<u8>], name: &str) -> Option<&'a [u8]> {
    let name = name.trim_start_matches('/');
    let mut archives = archives.iter().rev();
    archives.find_map(|archive| file_of_one(archive, name))
}

fn file_of_one<'a>(archive: &'a [u8], name: &str) -> Option<&'a [u8]> {
    let mut found = None;
    let mut at = 0;
    while let Some(head) = archive.get(at..at + HEAD) {
        if !head.starts_with(b"07070") {
            // Zeros follow the end of an archive, and then another one may.
            at += ALIGNMENT;
            continue;
        }
        let number = |place: usize| {
            let digits = std::str::from_utf8(head.get(6 + place * 8..14 + place * 8)?).ok()?;
            usize::from_str_radix(digits, 16).ok()
        };
        let (Some(length), Some(name_length)) = (number(6), number(11)) else {
            return found;
        };
        let name_at = at + HEAD;
        let data = name_at
            .checked_add(name_length)?
            .next_multiple_of(ALIGNMENT);
        let end = data.checked_add(length)?;
        let Some(bytes) = archive.get(data..end) else {
            return found;
        };
        let known = &archive[name_at..name_at + name_length];
        let known = known.strip_suffix(b"\0").unwrap_or(known);
        let known = known.strip_prefix(b"./").unwrap_or(known);
        if known == name.as_bytes() {
            found = Some(bytes);
        }
        at = end.next_multiple_of(ALIGNMENT);
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;
    use cpio::newc::{Builder, ModeFileType, trailer};
    use std::io::Write;

    fn archive(text: &str) -> Vec<u8> {
        let builder = Builder::new("bin/a").set_mode_file_type(ModeFileType::Regular);
        let mut entry = builder.write(Vec::new(), text.len() as u32);
        entry.write_all(text.as_bytes()).unwrap();
        trailer(entry.finish().unwrap()).unwrap()
    }

    #[test]
    fn a_file_is_found_in_the_last_archive_that_has_it() {
        let mut followed = archive("one");
        followed.resize(followed.len().next_multiple_of(512), 0);
        followed.extend(archive("second"));
        let archives = [followed, archive("3"), vec![7; 1000]];
        assert_eq!(file_of(&archives[..1], "/bin/a"), Some(&b"second"[..]));
        assert_eq!(file_of(&archives, "bin/a"), Some(&b"3"[..]));
        assert_eq!(file_of(&archives, "/bin/b"), None);
        // One that is cut off has what comes before.
        for length in 0..archives[0].len() {
            let cut = [archives[0][..length].to_vec()];
            let found = file_of(&cut, "bin/a");
            assert!([None, Some(&b"one"[..]), Some(b"second")].contains(&found));
        }
    }
}
