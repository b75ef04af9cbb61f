//! Program-event recording: storage alteration, by the program's own instructions and by instructions that the
//! machine performs, and the store that uses a real address.

use guests::stores;

guests::clause!(
    "Principles of Operation, Program-Event Recording, Storage Alteration and Store Using Real Address; System/370 Principles of Operation, Program-Event Recording",
    native = false,
    options = "; --per-format s370"
);
guests::case!(run);

fn run() {
    stores::check(0);
}
