//! What the user has chosen.

use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyEventKind, KeyModifiers};

use super::tally::{Order, Span};

/// Lines of a leap.
const LEAP: usize = 20;

/// Which of the two tables fills the screen and is scrolled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Table {
    /// The hottest symbols.
    #[default]
    Symbols,
    /// The counters.
    Counters,
}

/// The choices.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Choices {
    /// Whether recent samples decide what is hot, or all.
    pub span: Span,
    /// The order of the symbols.
    pub order: Order,
    /// The table that fills the screen.
    pub table: Table,
    /// Lines of it that are scrolled away.
    pub offset: usize,
    /// Whether reading pauses.
    pub is_paused: bool,
}

/// What a key did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Struck {
    /// It changed the view.
    Changed,
    /// Nothing.
    Nothing,
    /// It ended the view.
    Quit,
}

/// The help line with the keys.
pub fn help(choices: &Choices) -> String {
    let span = match choices.span {
        Span::Recent => "recent",
        Span::Total => "total",
    };
    let order = match choices.order {
        Order::Share => "samples",
        Order::Symbol => "symbol",
        Order::Module => "module",
    };
    let pause = if choices.is_paused { "go on" } else { "pause" };
    let table = match choices.table {
        Table::Symbols => "counters",
        Table::Counters => "symbols",
    };
    format!(
        " q quit  p {pause}  t by: {span}  s sorted by: {order}  c {table}  ↑ ↓ PgUp PgDn Home scroll "
    )
}

impl Choices {
    /// Takes a key.
    pub fn strike(&mut self, key: &KeyEvent) -> Struck {
        if key.kind == KeyEventKind::Release {
            return Struck::Nothing;
        }
        let before = *self;
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return Struck::Quit,
            KeyCode::Char('q' | 'Q') | KeyCode::Esc => return Struck::Quit,
            KeyCode::Char('p' | 'P' | ' ') => self.is_paused = !self.is_paused,
            KeyCode::Char('t' | 'T') => {
                self.span = match self.span {
                    Span::Recent => Span::Total,
                    Span::Total => Span::Recent,
                };
            }
            KeyCode::Char('s' | 'S') => {
                self.order = match self.order {
                    Order::Share => Order::Symbol,
                    Order::Symbol => Order::Module,
                    Order::Module => Order::Share,
                };
            }
            KeyCode::Char('c' | 'C') => {
                self.table = match self.table {
                    Table::Symbols => Table::Counters,
                    Table::Counters => Table::Symbols,
                };
                self.offset = 0;
            }
            KeyCode::Up | KeyCode::Char('k') => self.offset = self.offset.saturating_sub(1),
            KeyCode::Down | KeyCode::Char('j') => self.offset = self.offset.saturating_add(1),
            KeyCode::PageUp => self.offset = self.offset.saturating_sub(LEAP),
            KeyCode::PageDown => self.offset = self.offset.saturating_add(LEAP),
            KeyCode::Home => self.offset = 0,
            _ => {}
        }
        match *self == before {
            true => Struck::Nothing,
            false => Struck::Changed,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn strike(choices: &mut Choices, code: KeyCode) -> Struck {
        choices.strike(&KeyEvent::new(code, KeyModifiers::NONE))
    }

    #[test]
    fn every_key_of_the_last_line_does_what_it_says() {
        let mut choices = Choices::default();
        assert!(help(&choices).contains("t by: recent  s sorted by: samples  c counters"));
        for key in ['t', 's', 'c', 'p'] {
            assert_eq!(strike(&mut choices, KeyCode::Char(key)), Struck::Changed);
        }
        let help = help(&choices);
        assert!(help.contains("p go on  t by: total  s sorted by: symbol  c symbols"));
        for (key, offset) in [
            (KeyCode::Up, 0),
            (KeyCode::Down, 1),
            (KeyCode::PageDown, 21),
            (KeyCode::Up, 20),
            (KeyCode::PageUp, 0),
            (KeyCode::Down, 1),
            (KeyCode::Home, 0),
        ] {
            strike(&mut choices, key);
            assert_eq!(choices.offset, offset, "{key:?}");
        }
        for key in ['t', 's', 's', 'c', 'p'] {
            strike(&mut choices, KeyCode::Char(key));
        }
        assert_eq!(choices, Choices::default());
        assert_eq!(strike(&mut choices, KeyCode::Char('x')), Struck::Nothing);
    }

    #[test]
    fn q_escape_and_control_c_end_the_view() {
        let mut choices = Choices::default();
        for code in [KeyCode::Char('q'), KeyCode::Esc] {
            assert_eq!(strike(&mut choices, code), Struck::Quit);
        }
        let control_c = KeyEvent::new(KeyCode::Char('c'), KeyModifiers::CONTROL);
        assert_eq!(choices.strike(&control_c), Struck::Quit);
        assert_eq!(choices, Choices::default());
    }
}
