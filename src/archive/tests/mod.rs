//! Tests of the archive as a whole: what it writes, and what crashes and full disks leave of it.

mod captures;
mod crash;
mod garbage;
mod samples;
