//! The bundled workload in brief: a tenth of its work, as the same three tasks in problem state, on all CPUs.
//!
//! The tasks are written here, because a second caller of those of the workload would change how they are compiled.
#![no_std]
#![no_main]

use guests::{
    supervisor::task,
    workload::{compress, hash, search, text},
};
use miniz_oxide::{deflate::compress_to_vec_zlib, inflate::decompress_to_vec_zlib};
use regex_automata::{dfa::regex::Regex, util::syntax};
use sha2::{Digest, Sha256};

guests::clause!("workload: three tasks in brief", native = true);
guests::guest!(run);

/// Rounds of each pattern.
const ROUNDS: usize = 3;

fn run() {
    guests::supervisor::supervise(&[
        ("compress", compresses),
        ("hash", hashes),
        ("search", searches),
    ])
}

/// Returns 0 if the text came back and the stream ended with its checksum.
fn compresses() -> u64 {
    let text = text::generate(compress::SEED, compress::SIZE);
    let packed = compress_to_vec_zlib(&text, compress::LEVELS[0]);
    task::yield_turn();
    let same = decompress_to_vec_zlib(&packed).is_ok_and(|unpacked| unpacked == text);
    u64::from(!(same && packed.ends_with(&compress::ADLER_32)))
}

/// Returns 0 if the digest is the known one.
fn hashes() -> u64 {
    let text = text::generate(hash::SEED, hash::SIZE);
    let wrong = u64::from(Sha256::digest(&text)[..] != hash::SHA_256);
    task::yield_turn();
    wrong
}

/// Returns 0 if the first pattern had exactly the known matches in every round.
fn searches() -> u64 {
    let text = text::generate(search::SEED, search::SIZE);
    let (pattern, matches, covered) = search::KNOWN[0];
    let Ok(regex) = Regex::builder()
        .syntax(syntax::Config::new().unicode(false).utf8(false))
        .build(pattern)
    else {
        return 1;
    };
    let mut wrong = 0;
    for _ in 0..ROUNDS {
        let found = regex
            .find_iter(&text)
            .fold((0, 0), |(n, bytes), m| (n + 1, bytes + m.len()));
        wrong += u64::from(found != (matches, covered));
        task::yield_turn();
    }
    wrong
}
