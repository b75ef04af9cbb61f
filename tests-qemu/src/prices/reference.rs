//! A piece of work that is the same on every computer.

use std::{hint::black_box, time::Instant};

/// Words of the table that the work goes through. It is larger than the caches next to a processor.
const WORDS: usize = 1 << 20;

/// Steps of the work.
const STEPS: u64 = 8_000_000;

/// How often it is done. The least disturbed time counts.
const TIMES: usize = 5;

/// The seconds that it takes: arithmetic whose steps wait for each other, and loads from places that it leads to. An
/// emulator's time goes into the same.
pub fn seconds() -> f64 {
    let words: Vec<u64> = (0..WORDS as u64)
        .map(|word| word.wrapping_mul(0x9E37_79B9_7F4A_7C15))
        .collect();
    (0..TIMES)
        .map(|_| {
            let began = Instant::now();
            black_box(work(black_box(&words)));
            began.elapsed().as_secs_f64()
        })
        .fold(f64::INFINITY, f64::min)
}

fn work(words: &[u64]) -> u64 {
    let mut state = 1_u64;
    for step in 0..STEPS {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(step);
        if step % 16 == 0 {
            state ^= words[(state >> 44) as usize % words.len()];
        }
    }
    state
}
