//! [`Robots`] and [`Entry`] as bytes, for the store.
//!
//! A number is LEB128: seven bits a byte, lowest first, the high bit set on all but the last.
//! A text is its length in bytes as a number, then UTF-8.
//!
//! [`Robots`]:
//! ```text
//! u8      format, 1
//! u8      group: 0 none, 1 that of *, 2 named; then, if 2, text: the token as the file spells it
//! number  crawl delay in milliseconds plus 1, or 0 for none
//! number  how many rules; each:
//!           number  line
//!           number  length of the pattern times 2, plus 1 if it allows
//!           bytes   the pattern in normal form; byte 0 is `*`, byte 1 at the end is `$`
//! number  how many sitemaps; each: text
//! number  how many Clean-param lines; each: text
//! number  how many signals; each: number line, u8 scope (0 file, 1 ours, 2 others'), text name,
//!         text value
//! ```
//! [`Entry`]:
//! ```text
//! u8      format, 3
//! number  fetched, milliseconds since the epoch
//! number  valid until, the same
//! u8      standing: 0 rules, 1 unavailable, 2 redirects, 3 disallowed, 4 old copy, 5 given up
//! number  status code of an unavailable file, or trouble: a status code, or 0 for no answer at all
//! text    why there was no answer, empty unless trouble is 0
//! number  failures in a row
//! number  when they began plus 1, or 0
//! text    the product token that it was read for, empty if unknown; format 2 lacks it
//! number  when the copy was fetched plus 1, or 0 for no copy; then, if there is one:
//!         number  when the answer with its validators began plus 1, or 0 for none; if there are:
//!                 text ETag and text Last-Modified, empty for none, text our product token
//!         the copy as Robots to the end
//! ```
//! Reading never panics and never reserves more than the bytes that are there. A format that is not
//! known is an error: the entry is then fetched anew, for it is only a cache.

use std::sync::Arc;
use std::time::Duration;

use super::entry::{Copy, Entry, Standing, Trouble, Validators};
use super::pattern::{Draft, RuleTable, is_normal};
use super::rules::{Group, Robots, Signal, SignalScope};
use crate::clock::Timestamp;

/// Format of [`Robots`].
const FORMAT: u8 = 1;

/// Format of [`Entry`].
const ENTRY_FORMAT: u8 = 3;

/// The one before, which is read as well.
const ENTRY_FORMAT_NAMELESS: u8 = 2;

/// Why stored bytes are not a robots entry. Fetch robots.txt again.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum DecodeError {
    /// Written by another version.
    #[error("robots entry has format {0}, this version reads {1}")]
    Format(u8, u8),
    /// Cut off or overwritten.
    #[error("robots entry is damaged: {0}")]
    Damaged(&'static str),
}

use DecodeError::Damaged;

impl Robots {
    /// Returns the bytes that [`Robots::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![FORMAT];
        self.write(&mut out);
        out
    }

    fn write(&self, out: &mut Vec<u8>) {
        match &self.group {
            Group::None => out.push(0),
            Group::All => out.push(1),
            Group::Named(token) => {
                out.push(2);
                put_text(out, token);
            }
        }
        let delay = self.crawl_delay.map(|delay| delay.as_millis() as u64);
        put_option(out, delay);
        put(out, self.rules.len() as u64);
        for rule in self.rules.iter() {
            put(out, u64::from(rule.line));
            put(out, (rule.pattern.len() as u64) << 1 | u64::from(rule.allow));
            out.extend(rule.pattern);
        }
        for texts in [&self.sitemaps, &self.clean_params] {
            put(out, texts.len() as u64);
            for text in texts {
                put_text(out, text);
            }
        }
        put(out, self.signals.len() as u64);
        for signal in &self.signals {
            put(out, u64::from(signal.line));
            out.push(match signal.scope {
                SignalScope::File => 0,
                SignalScope::OurGroup => 1,
                SignalScope::OtherGroup => 2,
            });
            put_text(out, &signal.name);
            put_text(out, &signal.value);
        }
    }

    /// Reads what [`Robots::to_bytes`] wrote.
    ///
    /// # Errors
    /// Returns what is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Robots, DecodeError> {
        let mut rest = Rest(bytes);
        rest.format(FORMAT)?;
        let robots = rest.robots()?;
        rest.end()?;
        Ok(robots)
    }
}

impl Entry {
    /// Returns the bytes that [`Entry::from_bytes`] reads.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut out = vec![ENTRY_FORMAT];
        put(&mut out, self.fetched.as_millis());
        put(&mut out, self.valid_until.as_millis());
        let (tag, code, words) = match &self.standing {
            Standing::Rules => (0, 0, ""),
            Standing::Unavailable(status) => (1, *status, ""),
            Standing::Redirects => (2, 0, ""),
            Standing::Disallowed(trouble) => (3, trouble.code(), trouble.words()),
            Standing::OldCopy(trouble) => (4, trouble.code(), trouble.words()),
            Standing::GivenUp(trouble) => (5, trouble.code(), trouble.words()),
        };
        out.push(tag);
        put(&mut out, u64::from(code));
        put_text(&mut out, words);
        put(&mut out, u64::from(self.failures));
        put_option(&mut out, self.failing_since.map(Timestamp::as_millis));
        put_text(&mut out, self.agent.as_deref().unwrap_or_default());
        put_option(&mut out, self.copy.as_ref().map(|copy| copy.fetched.as_millis()));
        if let Some(copy) = &self.copy {
            put_option(&mut out, copy.validators.as_ref().map(|known| known.at.as_millis()));
            if let Some(known) = &copy.validators {
                for text in [&known.etag, &known.last_modified] {
                    put_text(&mut out, text.as_deref().unwrap_or_default());
                }
                put_text(&mut out, &known.agent);
            }
            copy.robots.write(&mut out);
        }
        out
    }

    /// Reads what [`Entry::to_bytes`] wrote.
    ///
    /// # Errors
    /// Returns what is wrong with the bytes.
    pub fn from_bytes(bytes: &[u8]) -> Result<Entry, DecodeError> {
        let mut rest = Rest(bytes);
        let is_nameless = bytes.first() == Some(&ENTRY_FORMAT_NAMELESS);
        rest.format(if is_nameless { ENTRY_FORMAT_NAMELESS } else { ENTRY_FORMAT })?;
        let fetched = Timestamp::from_millis(rest.number()?);
        let valid_until = Timestamp::from_millis(rest.number()?);
        let tag = rest.byte()?;
        let code = u16::try_from(rest.number()?).map_err(|_| Damaged("status too large"))?;
        let words = rest.text()?;
        let trouble = || match code {
            0 => Trouble::NoAnswer(words.clone()),
            status => Trouble::Status(status),
        };
        let standing = match tag {
            0 => Standing::Rules,
            1 => Standing::Unavailable(code),
            2 => Standing::Redirects,
            3 => Standing::Disallowed(trouble()),
            4 => Standing::OldCopy(trouble()),
            5 => Standing::GivenUp(trouble()),
            _ => return Err(Damaged("unknown standing")),
        };
        let failures = rest.number_u32()?;
        let failing_since = rest.option()?.map(Timestamp::from_millis);
        let agent = if is_nameless { String::new() } else { rest.text()? };
        let copy = match rest.option()? {
            None => None,
            Some(at) => {
                let validators = rest.validators()?;
                let robots = Arc::new(rest.robots()?);
                Some(Copy { robots, fetched: Timestamp::from_millis(at), validators })
            }
        };
        rest.end()?;
        if copy.is_none() && matches!(standing, Standing::Rules | Standing::OldCopy(_)) {
            return Err(Damaged("no rules"));
        }
        let agent = Some(agent).filter(|agent| !agent.is_empty());
        Ok(Entry { fetched, valid_until, standing, failures, failing_since, copy, agent })
    }
}

fn put(out: &mut Vec<u8>, mut number: u64) {
    while number >= 0x80 {
        out.push(number as u8 | 0x80);
        number >>= 7;
    }
    out.push(number as u8);
}

fn put_option(out: &mut Vec<u8>, number: Option<u64>) {
    put(out, number.map_or(0, |number| number.saturating_add(1)));
}

fn put_text(out: &mut Vec<u8>, text: &str) {
    put(out, text.len() as u64);
    out.extend(text.as_bytes());
}

/// What is still to be read.
struct Rest<'a>(&'a [u8]);

impl<'a> Rest<'a> {
    fn format(&mut self, known: u8) -> Result<(), DecodeError> {
        match self.byte()? {
            format if format == known => Ok(()),
            other => Err(DecodeError::Format(other, known)),
        }
    }

    fn validators(&mut self) -> Result<Option<Validators>, DecodeError> {
        let Some(at) = self.option()?.map(Timestamp::from_millis) else { return Ok(None) };
        let (etag, last_modified) = (self.text()?, self.text()?);
        let agent = self.text()?;
        Ok(Validators::new(Some(etag), Some(last_modified), at, &agent))
    }

    fn byte(&mut self) -> Result<u8, DecodeError> {
        let (byte, rest) = self.0.split_first().ok_or(Damaged("cut off"))?;
        self.0 = rest;
        Ok(*byte)
    }

    fn number(&mut self) -> Result<u64, DecodeError> {
        let mut number = 0u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            number |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Ok(number);
            }
        }
        Err(Damaged("number too long"))
    }

    fn number_u32(&mut self) -> Result<u32, DecodeError> {
        u32::try_from(self.number()?).map_err(|_| Damaged("number too large"))
    }

    fn option(&mut self) -> Result<Option<u64>, DecodeError> {
        Ok(self.number()?.checked_sub(1))
    }

    /// Reads how many items follow; each takes at least one byte.
    fn count(&mut self) -> Result<usize, DecodeError> {
        let count = usize::try_from(self.number()?).map_err(|_| Damaged("too many"))?;
        if count > self.0.len() { Err(Damaged("too many")) } else { Ok(count) }
    }

    fn bytes(&mut self, length: usize) -> Result<&'a [u8], DecodeError> {
        let (bytes, rest) = self.0.split_at_checked(length).ok_or(Damaged("cut off"))?;
        self.0 = rest;
        Ok(bytes)
    }

    fn text(&mut self) -> Result<String, DecodeError> {
        let length = self.count()?;
        let text = std::str::from_utf8(self.bytes(length)?).map_err(|_| Damaged("not UTF-8"))?;
        Ok(text.to_owned())
    }

    fn list<T>(
        &mut self,
        mut item: impl FnMut(&mut Self) -> Result<T, DecodeError>,
    ) -> Result<Vec<T>, DecodeError> {
        let count = self.count()?;
        (0..count).map(|_| item(self)).collect()
    }

    fn robots(&mut self) -> Result<Robots, DecodeError> {
        let group = match self.byte()? {
            0 => Group::None,
            1 => Group::All,
            2 => Group::Named(self.text()?),
            _ => return Err(Damaged("unknown group")),
        };
        let crawl_delay = self.option()?.map(Duration::from_millis);
        let drafts = self.list(|rest| {
            let line = rest.number_u32()?;
            let head = rest.number()?;
            let length = usize::try_from(head >> 1).map_err(|_| Damaged("pattern too long"))?;
            let pattern = rest.bytes(length)?;
            if !is_normal(pattern) {
                return Err(Damaged("pattern"));
            }
            Ok(Draft { line, allow: head & 1 == 1, pattern: pattern.into() })
        })?;
        let sitemaps = self.list(Self::text)?.into();
        let clean_params = self.list(Self::text)?.into();
        let signals = self.list(|rest| {
            let line = rest.number_u32()?;
            let scope = match rest.byte()? {
                0 => SignalScope::File,
                1 => SignalScope::OurGroup,
                2 => SignalScope::OtherGroup,
                _ => return Err(Damaged("unknown scope")),
            };
            Ok(Signal { line, scope, name: rest.text()?, value: rest.text()? })
        })?;
        Ok(Robots {
            group,
            rules: RuleTable::new(drafts),
            crawl_delay,
            sitemaps,
            clean_params,
            signals: signals.into(),
        })
    }

    fn end(&self) -> Result<(), DecodeError> {
        if self.0.is_empty() { Ok(()) } else { Err(Damaged("bytes left over")) }
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const FILE: &str = "\
Content-Signal: ai-train=no
User-agent: mybot
Disallow: /a*b$
Allow: /\u{e9}
Crawl-delay: 2.5
Content-Usage: train-ai=n
Sitemap: /sitemap.xml
Clean-param: ref /articles/
";

    fn entry(standing: Standing, copy: bool) -> Entry {
        let robots = Arc::new(Robots::parse(FILE.as_bytes(), "mybot"));
        let at = Timestamp::from_millis;
        Entry {
            fetched: at(1_763_632_800_123),
            valid_until: at(1_763_719_200_123),
            standing,
            failures: 3,
            failing_since: Some(at(0)),
            copy: copy.then(|| Copy {
                robots,
                fetched: at(1_763_632_800_000),
                validators: Validators::new(Some("\"a\"".to_owned()), None, at(7), "mybot"),
            }),
            agent: Some("mybot".to_owned()),
        }
    }

    #[test]
    fn what_the_version_before_wrote_is_read_and_is_for_any_agent() {
        let known = entry(Standing::Rules, true);
        assert!(known.is_for("mybot") && !known.is_for("otherbot"));
        let mut bytes = known.to_bytes();
        let token = bytes.windows(6).position(|at| at == b"\x05mybot").unwrap();
        bytes.drain(token..token + 6);
        bytes[0] = 2;
        let nameless = Entry { agent: None, ..known };
        assert!(nameless.is_for("mybot") && nameless.is_for("otherbot"));
        assert_eq!(Entry::from_bytes(&bytes), Ok(nameless));
    }

    #[test]
    fn the_bytes_are_as_documented() {
        let robots = Robots::parse(b"User-agent: *\nDisallow: /a*$\nCrawl-delay: 1\n", "mybot");
        let want = [
            &[1, 1][..],
            &[0xe9, 0x07], // 1001
            &[1, 2, 8, b'/', b'a', 0, 1],
            &[0, 0, 0],
        ];
        assert_eq!(robots.to_bytes(), want.concat());
    }

    #[test]
    fn what_was_written_is_read_back() {
        let robots = Robots::parse(FILE.as_bytes(), "MyBot");
        assert_eq!(Robots::from_bytes(&robots.to_bytes()), Ok(robots));
        let reset = || Trouble::NoAnswer("connection reset".to_owned());
        for entry in [
            entry(Standing::Rules, true),
            entry(Standing::Unavailable(404), false),
            entry(Standing::Redirects, true),
            entry(Standing::Disallowed(Trouble::Status(503)), false),
            entry(Standing::OldCopy(reset()), true),
            entry(Standing::GivenUp(reset()), false),
        ] {
            assert_eq!(Entry::from_bytes(&entry.to_bytes()), Ok(entry));
        }
    }

    #[test]
    fn another_format_is_named() {
        let error = Robots::from_bytes(&[9, 0]).err().map(|error| error.to_string());
        assert_eq!(error.as_deref(), Some("robots entry has format 9, this version reads 1"));
    }

    proptest! {
        #[test]
        fn damaged_bytes_are_an_error_and_never_a_panic(
            cut in 0..1000usize,
            at in 0..1000usize,
            byte: u8,
            noise in prop::collection::vec(any::<u8>(), 0..60),
        ) {
            let whole = entry(Standing::Rules, true).to_bytes();
            prop_assert!(Entry::from_bytes(&whole[..cut % whole.len()]).is_err());
            let mut flipped = whole.clone();
            flipped[at % whole.len()] = byte;
            if let Ok(entry) = Entry::from_bytes(&flipped) {
                prop_assert_eq!(Entry::from_bytes(&entry.to_bytes()), Ok(entry));
            }
            let _ = Entry::from_bytes(&noise);
            let _ = Robots::from_bytes(&[&[1, 1, 0][..], &noise].concat());
        }
    }
}
