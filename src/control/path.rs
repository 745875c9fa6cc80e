//! Where the socket lies.

use std::path::{Path, PathBuf};

use super::SOCKET;

/// Bytes of a socket's path, by the layout of `sockaddr_un` (unix(7)), its final zero left out.
const PATH_MAX: usize = 107;

/// Returns the path of the socket of a crawl, as short as it can be said.
///
/// # Errors
/// Returns what to do about a path that no socket can have.
pub fn socket_path(dir: &Path) -> Result<PathBuf, String> {
    let path = dir.join(SOCKET);
    let relative = std::env::current_dir().ok().and_then(|here| {
        let path = std::path::absolute(&path).ok()?;
        path.strip_prefix(here).ok().map(Path::to_owned)
    });
    let short = relative.filter(|relative| relative.as_os_str().len() < path.as_os_str().len());
    let short = short.unwrap_or(path);
    let len = short.as_os_str().len();
    if len > PATH_MAX {
        return Err(format!(
            "{} has {len} bytes, and a socket's path may have {PATH_MAX}: choose a shorter --dir, \
             or change into a directory near it",
            short.display()
        ));
    }
    Ok(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_no_socket_can_have_is_refused_with_what_to_do() {
        assert_eq!(socket_path(Path::new("crawl")), Ok(PathBuf::from("crawl/control.sock")));
        let deep = PathBuf::from("/").join("d".repeat(120));
        let said = socket_path(&deep).unwrap_err();
        assert!(said.contains("107") && said.contains("shorter --dir"), "{said}");
    }

    #[test]
    fn a_long_path_below_the_working_directory_is_said_from_there() {
        let here = std::env::current_dir().unwrap();
        let deep = here.join("a".repeat(80));
        let want = PathBuf::from("a".repeat(80)).join(SOCKET);
        assert_eq!(socket_path(&deep), Ok(want));
    }
}
