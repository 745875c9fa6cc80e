//! Tests of the archive as a whole: what it writes, and what crashes and full disks leave of it.

mod captures;
mod check;
mod crash;
mod exports;
mod garbage;
mod samples;
