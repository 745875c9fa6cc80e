//! The `crawler` program; everything is in the library.

use std::process::ExitCode;

use tikv_jemallocator::Jemalloc;

/// RocksDB allocates from it as well. How soon it gives memory back is in `.cargo/config.toml`.
#[global_allocator]
static ALLOCATOR: Jemalloc = Jemalloc;

fn main() -> ExitCode {
    crawler::cli::main()
}
