//! Text on the console: `print!` and `println!` over the SCLP's ASCII console.

use core::fmt::{self, Write};

/// A line under construction. It goes to the console when it is full or complete.
pub struct Text {
    bytes: [u8; 512],
    length: usize,
}

impl Text {
    /// An empty text.
    #[must_use]
    pub const fn new() -> Self {
        Self {
            bytes: [0; 512],
            length: 0,
        }
    }

    /// The text held so far.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.bytes[..self.length]
    }

    /// Writes the text to the console.
    pub fn flush(&mut self) {
        crate::sccb::write_console(&self.bytes[..self.length]);
        self.length = 0;
    }
}

impl Default for Text {
    fn default() -> Self {
        Self::new()
    }
}

impl Write for Text {
    fn write_str(&mut self, text: &str) -> fmt::Result {
        for &byte in text.as_bytes() {
            if self.length == self.bytes.len() {
                self.flush();
            }
            self.bytes[self.length] = byte;
            self.length += 1;
        }
        Ok(())
    }
}

/// Writes formatted text: one SERVICE CALL for a line of usual length.
pub fn print(arguments: fmt::Arguments) {
    let mut text = Text::new();
    let _ = text.write_fmt(arguments);
    text.flush();
}

/// Prints to the guest's console.
#[macro_export]
macro_rules! print {
    ($($argument:tt)*) => { $crate::console::print(format_args!($($argument)*)) };
}

/// Prints a line to the guest's console.
#[macro_export]
macro_rules! println {
    () => { $crate::print!("\n") };
    ($format:literal $($argument:tt)*) => {
        $crate::print!("{}\n", format_args!($format $($argument)*))
    };
}
