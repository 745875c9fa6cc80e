//! dust
