//! The person at the console: what is typed, and where the guest's output and the machine's answers are shown.

use std::{
    io::{self, Stdout, Write},
    sync::mpsc::Receiver,
};

/// Something that the host says to the machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Input {
    /// A command of the operator.
    Operator(String),
    /// Bytes typed at the guest's console.
    Console(Vec<u8>),
}

/// Where a person sees what the guest writes on its console, and what the machine answers.
pub trait Display: Write {
    /// The guest has been loaded anew.
    fn loaded(&mut self) {}

    /// The machine has answered, or says something by itself.
    fn answer(&mut self, line: &str) -> io::Result<()> {
        self.write_all(format!("// {line}\n").as_bytes())
    }

    /// Program events that the operator traces, as one payload.
    fn traced(&mut self, payload: &[u8]) {
        let _ = payload;
    }

    /// Whether the guest reads what is typed. Until then the host keeps it.
    fn is_heard(&self) -> bool {
        true
    }
}

impl Display for Stdout {}

/// A person at the console.
pub struct Person<'a> {
    /// What the person types; `None` if nobody can type.
    pub input: Option<Receiver<Input>>,
    /// Whether the person may also type commands of the operator.
    pub is_operator: bool,
    /// Where the guest's console and the machine's answers are shown.
    pub screen: &'a mut dyn Display,
}
