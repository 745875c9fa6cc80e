//! A polite web crawler that learns which URLs lead to the same text (DUST), and stops fetching
//! them.

pub mod clock;
pub mod url;

pub mod content;
pub mod dust;
pub mod extract;
pub mod filter;
pub mod frontier;
pub mod robots;
pub mod seed;

pub mod archive;
pub mod db;
pub mod dns;
pub mod fetch;

pub mod cli;
pub mod config;
pub mod control;
pub mod crawl;
pub mod dashboard;
pub mod dataset;
pub mod demo;
pub mod report;
