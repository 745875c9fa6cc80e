//! The `srcset` attribute (WHATWG HTML §4.8.4.2.2, "parse a srcset attribute").

/// Returns the URLs of the candidates that a browser would consider, in order; those with
/// descriptors it would reject are left out.
pub fn srcset(value: &str) -> Vec<&str> {
    let mut found = Vec::new();
    let mut rest = value;
    loop {
        rest = rest.trim_start_matches(|c| is_space(c) || c == ',');
        if rest.is_empty() {
            return found;
        }
        let url_end = rest.find(is_space).unwrap_or(rest.len());
        let (url, after) = rest.split_at(url_end);
        let bare = url.trim_end_matches(',');
        if bare.len() < url.len() {
            found.push(bare);
            rest = after;
            continue;
        }
        let (descriptors, after) = split_descriptors(after);
        if acceptable(&descriptors) {
            found.push(url);
        }
        rest = after;
    }
}

/// The white space of HTML, which leaves out the vertical tab.
fn is_space(c: char) -> bool {
    matches!(c, '\t' | '\n' | '\x0C' | '\r' | ' ')
}

/// Splits what follows a URL into its descriptors, up to the comma that ends the candidate.
/// Parentheses hold together what a future descriptor may contain.
fn split_descriptors(text: &str) -> (Vec<&str>, &str) {
    let mut found = Vec::new();
    let mut start = None;
    let mut in_parens = false;
    for (i, c) in text.char_indices() {
        match c {
            ')' if in_parens => in_parens = false,
            _ if in_parens => {}
            ',' => {
                found.extend(start.map(|s| &text[s..i]));
                return (found, &text[i + 1..]);
            }
            c if is_space(c) => found.extend(start.take().map(|s: usize| &text[s..i])),
            _ => {
                start.get_or_insert(i);
                in_parens = c == '(';
            }
        }
    }
    found.extend(start.map(|s| &text[s..]));
    (found, "")
}

/// Tells whether the descriptors of one candidate are free of errors.
fn acceptable(descriptors: &[&str]) -> bool {
    let (mut width, mut density, mut height) = (false, false, false);
    for descriptor in descriptors {
        let Some(last) = descriptor.chars().next_back() else { return false };
        let number = &descriptor[..descriptor.len() - last.len_utf8()];
        let fits = match last {
            'w' => !width && !density && is_positive_integer(number),
            'x' => !width && !density && !height && is_density(number),
            'h' => !height && !density && is_positive_integer(number),
            _ => false,
        };
        if !fits {
            return false;
        }
        match last {
            'w' => width = true,
            'x' => density = true,
            _ => height = true,
        }
    }
    // A height says nothing without a width.
    !height || width
}

fn is_positive_integer(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()) && text.bytes().any(|b| b != b'0')
}

/// Tells whether the text is a valid floating-point number (§2.3.4.3) that is not below zero.
fn is_density(text: &str) -> bool {
    let unsigned = text.strip_prefix('-').unwrap_or(text);
    let (mantissa, exponent) = match unsigned.find(['e', 'E']) {
        Some(at) => (&unsigned[..at], Some(&unsigned[at + 1..])),
        None => (unsigned, None),
    };
    let digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    let well_formed = match mantissa.split_once('.') {
        Some((whole, fraction)) => (whole.is_empty() || digits(whole)) && digits(fraction),
        None => digits(mantissa),
    };
    let exponent_ok = exponent.is_none_or(|e| digits(e.strip_prefix(['+', '-']).unwrap_or(e)));
    // Minus zero is zero.
    let below_zero =
        text.len() > unsigned.len() && mantissa.bytes().any(|b| matches!(b, b'1'..=b'9'));
    well_formed && exponent_ok && !below_zero
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(value: &str, want: &[&str]) {
        assert_eq!(srcset(value), want, "{value}");
    }

    #[test]
    fn candidates_are_separated_by_commas_after_white_space_or_descriptors() {
        check("a.png, b.png 2x,c.png 100w", &["a.png", "b.png", "c.png"]);
        check("data:,a,b 1x, c", &["data:,a,b", "c"]);
        check(" ,, a.png,", &["a.png"]);
        check("", &[]);
    }

    #[test]
    fn candidates_with_wrong_descriptors_are_left_out() {
        check("a 1x 2x, b 0w, c 1.5x, d +1x, e 1w 1h, f 1h, g -0x, h -1x", &["c", "e", "g"]);
        check("a (b, c) 1x, d", &["d"]);
        check("a (b, c", &[]);
    }
}
