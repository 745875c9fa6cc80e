//! How far a rule is proved, for programs that have only the rule: `dust apply`, and whoever gets
//! the rules of a crawl as a file.
//!
//! A crawl does not apply a rule in parts of the site where it failed, nor for values of a
//! parameter for which nothing spoke while few were seen. Both are hashes: whether a URL is meant
//! can be told, what else is meant cannot.

use std::collections::{BTreeMap, BTreeSet};

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

use super::items::Items;
use super::live::Standing;
use super::proven::Proven;

/// Where a rule is not applied; nothing for one that holds everywhere.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct Limits {
    /// Parts of the site in which it failed, as `places` hashes them.
    pub(crate) refused: Hashes,
    /// The values that are proved, by parameter, where they are too few to speak for others.
    pub(crate) values: BTreeMap<String, Hashes>,
    /// The parameters that name items of the site, without which its parts are not told.
    #[serde(skip_serializing_if = "Items::is_empty")]
    pub(crate) items: Items,
}

impl Limits {
    /// Returns true where there are none.
    pub fn is_none(&self) -> bool {
        self.refused.0.is_empty() && self.values.is_empty()
    }

    /// Returns the names of all parameters that they speak of.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.values.keys().map(String::as_str).chain(self.items.iter().map(|name| &**name))
    }

    /// Returns in words what they are.
    pub fn reason(&self) -> Option<String> {
        let fewest = self.values.iter().map(|(name, values)| (values.0.len(), name)).min();
        match (self.refused.0.len(), fewest) {
            (0, None) => None,
            (0, Some((values, name))) => {
                Some(format!("of `{name}` few values are proved, and no others: {values}"))
            }
            (1, _) => Some("it failed in one part of its site, and holds elsewhere".to_owned()),
            (parts, _) => {
                Some(format!("it failed in {parts} parts of its site, and holds elsewhere"))
            }
        }
    }

    /// Returns what a rule set is told of the rule.
    pub(crate) fn standing(&self) -> Standing {
        let values = self.values.iter().map(|(name, values)| (name.clone(), values.0.clone()));
        Standing {
            proven: Some(Proven::for_values(values.collect())),
            everywhere: true,
            refused: self.refused.0.clone(),
            ..Standing::default()
        }
    }
}

/// Hashes, in JSON as 16 hex digits each: other programs read such numbers as fractions.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Hashes(pub(crate) BTreeSet<u64>);

impl Serialize for Hashes {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|hash| format!("{hash:016x}")))
    }
}

impl<'de> Deserialize<'de> for Hashes {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let texts = Vec::<String>::deserialize(deserializer)?;
        let hash = |text: String| {
            u64::from_str_radix(&text, 16)
                .map_err(|_| de::Error::custom(format!("`{text}` is no hash: write 16 hex digits")))
        };
        texts.into_iter().map(hash).collect::<Result<_, _>>().map(Hashes)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn limits_are_read_back_as_they_were_written_and_said_in_words() {
        let of = |json: &str| serde_json::from_str::<Limits>(json).unwrap();
        for (json, want) in [
            ("{}", None),
            (r#"{"refused":["00000000000000ff"]}"#, Some("it failed in one part of")),
            (r#"{"refused":["1","ffffffffffffffff"]}"#, Some("it failed in 2 parts of")),
            (r#"{"values":{"a":["1","2"],"b":["3"]}}"#, Some("of `b` few values are proved")),
            (r#"{"refused":["1"],"items":["id","page"]}"#, Some("it failed in one part of")),
        ] {
            let limits = of(json);
            let said = limits.reason();
            assert_eq!(said.is_some(), want.is_some(), "{json}");
            assert!(said.unwrap_or_default().starts_with(want.unwrap_or_default()), "{json}");
            assert_eq!(limits.is_none(), want.is_none());
            assert_eq!(of(&serde_json::to_string(&limits).unwrap()), limits);
        }
        assert!(serde_json::from_str::<Limits>(r#"{"refused":["-1"]}"#).is_err());
    }
}
