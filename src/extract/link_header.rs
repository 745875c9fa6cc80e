//! The `Link` header (RFC 8288 §3): other places that an answer names beside its body.

/// One target of a `Link` header.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct HeaderLink {
    /// The reference, as written.
    pub target: String,
    /// The relations, in lower case, separated by spaces; empty if none is given.
    pub rel: String,
    /// The `type` parameter.
    pub media_type: String,
    /// Whether an `anchor` parameter makes it a link of another document.
    pub anchored: bool,
}

/// Reads the value of a `Link` header; what is not well formed is skipped up to the next comma.
pub fn link_header(value: &str) -> Vec<HeaderLink> {
    let mut found = Vec::new();
    let mut rest = value;
    while let Some(open) = rest.find('<') {
        let Some(close) = rest[open..].find('>').map(|i| open + i) else { break };
        let mut link =
            HeaderLink { target: rest[open + 1..close].trim().to_owned(), ..HeaderLink::default() };
        rest = parameters(&rest[close + 1..], &mut link);
        found.push(link);
    }
    found
}

/// Reads the parameters of one link; returns what follows the comma behind them.
fn parameters<'v>(text: &'v str, link: &mut HeaderLink) -> &'v str {
    let mut rest = text;
    let mut has_rel = false;
    loop {
        rest = rest.trim_start_matches([' ', '\t', ';']);
        if rest.is_empty() {
            return "";
        }
        if let Some(after) = rest.strip_prefix(',') {
            return after;
        }
        let name_end = rest.find(['=', ';', ',']).unwrap_or(rest.len());
        let name = rest[..name_end].trim().to_ascii_lowercase();
        rest = &rest[name_end..];
        let Some(after) = rest.strip_prefix('=') else { continue };
        let (value, after) = parameter_value(after.trim_start());
        rest = after;
        match name.as_str() {
            // Only the first `rel` counts (§3.3).
            "rel" if !has_rel => {
                has_rel = true;
                link.rel = value.to_ascii_lowercase();
            }
            "type" => link.media_type = value,
            "anchor" => link.anchored = true,
            _ => {}
        }
    }
}

/// Splits a parameter's value, quoted or not, from what follows.
fn parameter_value(text: &str) -> (String, &str) {
    let Some(quoted) = text.strip_prefix('"') else {
        let end = text.find([';', ',']).unwrap_or(text.len());
        return (text[..end].trim().to_owned(), &text[end..]);
    };
    let mut value = String::new();
    let mut escaped = false;
    for (i, c) in quoted.char_indices() {
        match c {
            _ if escaped => {
                value.push(c);
                escaped = false;
            }
            '\\' => escaped = true,
            '"' => return (value, &quoted[i + 1..]),
            _ => value.push(c),
        }
    }
    (value, "")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, want: &[(&str, &str)]) {
        let found = link_header(value);
        let found: Vec<_> = found.iter().map(|l| (&l.target[..], &l.rel[..])).collect();
        assert_eq!(found, want, "{value}");
    }

    #[test]
    fn one_header_may_name_many_links() {
        check("</a>; rel=next", &[("/a", "next")]);
        check(
            "<a,b>; title=\"x, <y>\"; rel=\"Canonical up\", <c>;rel=prev;rel=next , <d>",
            &[("a,b", "canonical up"), ("c", "prev"), ("d", "")],
        );
        check("<a> ; rel = \"p\\\"q\" ;x", &[("a", "p\"q")]);
    }

    #[test]
    fn what_is_not_well_formed_is_skipped() {
        check("nonsense", &[]);
        check("<unclosed", &[]);
        check("x, <a>; rel=\"open", &[("a", "open")]);
    }
}
