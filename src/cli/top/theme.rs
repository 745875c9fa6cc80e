//! Colours, or none: then weight and brightness say what colours would.

use ratatui::style::{Color, Modifier, Style};

use crate::crawl::view::HostState;

/// What looks how.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Theme {
    colors: bool,
}

impl Theme {
    /// Returns the theme that the environment asks for (<https://no-color.org>).
    pub(super) fn of_environment() -> Theme {
        Theme { colors: std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty()) }
    }

    /// Returns a theme with colours, or one without.
    #[cfg(test)]
    pub(super) fn with_colors(colors: bool) -> Theme {
        Theme { colors }
    }

    fn fg(self, color: Color) -> Style {
        if self.colors { Style::new().fg(color) } else { Style::new() }
    }

    /// What frames and labels look like.
    pub(super) fn faint(self) -> Style {
        self.fg(Color::DarkGray).add_modifier(if self.colors {
            Modifier::empty()
        } else {
            Modifier::DIM
        })
    }

    /// Figures that matter.
    pub(super) fn strong(self) -> Style {
        Style::new().add_modifier(Modifier::BOLD)
    }

    /// Headings and keys.
    pub(super) fn title(self) -> Style {
        self.fg(Color::Cyan).add_modifier(Modifier::BOLD)
    }

    /// What goes well.
    pub(super) fn good(self) -> Style {
        self.fg(Color::Green)
    }

    /// What to look at.
    pub(super) fn warn(self) -> Style {
        self.fg(Color::Yellow).add_modifier(Modifier::BOLD)
    }

    /// What is wrong.
    pub(super) fn bad(self) -> Style {
        self.fg(Color::Red).add_modifier(Modifier::BOLD)
    }

    /// Bars and curves.
    pub(super) fn bar(self) -> Style {
        self.fg(Color::Blue)
    }

    /// The row, or the tab, that is chosen.
    pub(super) fn chosen(self) -> Style {
        Style::new().add_modifier(Modifier::REVERSED)
    }

    /// How a host stands.
    pub(super) fn host(self, state: HostState) -> Style {
        match state {
            HostState::Fetching | HostState::Ready => self.good(),
            HostState::Idle => self.faint(),
            HostState::Waiting => Style::new(),
            HostState::BackingOff => self.warn(),
            HostState::Parked | HostState::GivenUp => self.bad(),
        }
    }
}
