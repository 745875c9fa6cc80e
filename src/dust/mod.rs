//! dust
pub mod input;
pub mod paper;
