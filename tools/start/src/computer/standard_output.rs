//! Standard output, where it stands for a file that a person named.

use std::{
    io::{self, ErrorKind::BrokenPipe, Write, stdout},
    path::Path,
};

/// Whether a file that an option names is standard output: `-`.
pub fn is_named(file: &Path) -> bool {
    file == Path::new("-")
}

/// Writes to standard output. A reader that has gone away, as `head` does, is not an error.
pub fn put(bytes: &[u8]) -> io::Result<()> {
    let mut out = stdout().lock();
    match out.write_all(bytes).and_then(|()| out.flush()) {
        Err(error) if error.kind() == BrokenPipe => Ok(()),
        done => done,
    }
}
