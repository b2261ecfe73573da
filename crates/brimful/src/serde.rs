//! `Limit` as its canonical text, and `Policy` as a map of a name and limits, where `limits` is a
//! list or one of the words `unlimited` and `blocked`, and of `shadow` when it is on trial.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use ::serde::de::value::SeqAccessDeserializer;
use ::serde::de::{Error as _, MapAccess, SeqAccess, Visitor};
use ::serde::ser::SerializeMap as _;
use ::serde::{Deserialize, Deserializer, Serialize, Serializer};

use crate::error::Error;
use crate::limit::Limit;
use crate::policy::{Kind, Policy};

impl Serialize for Limit {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Limit {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Spec;

        impl Visitor<'_> for Spec {
            type Value = Limit;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a limit such as \"100/min burst 20\"")
            }

            fn visit_str<E: ::serde::de::Error>(self, spec: &str) -> Result<Limit, E> {
                spec.parse().map_err(E::custom)
            }
        }

        deserializer.deserialize_str(Spec)
    }
}

impl Serialize for Policy {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(if self.is_shadow() { 3 } else { 2 }))?;
        map.serialize_entry("name", self.name())?;
        match self.kind() {
            Kind::Limits(limits) => map.serialize_entry("limits", limits)?,
            Kind::Unlimited => map.serialize_entry("limits", "unlimited")?,
            Kind::Blocked => map.serialize_entry("limits", "blocked")?,
        }
        if self.is_shadow() {
            map.serialize_entry("shadow", &true)?;
        }
        map.end()
    }
}

/// The value of `limits`: one spec or word, or a list of specs.
struct Specs(Vec<String>);

impl<'de> Deserialize<'de> for Specs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct OneOrMore;

        impl<'de> Visitor<'de> for OneOrMore {
            type Value = Specs;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of limits, or `unlimited`, or `blocked`")
            }

            fn visit_str<E: ::serde::de::Error>(self, spec: &str) -> Result<Specs, E> {
                Ok(Specs([spec.into()].into()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Specs, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(list)).map(Specs)
            }
        }

        deserializer.deserialize_any(OneOrMore)
    }
}

impl<'de> Deserialize<'de> for Policy {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct SpecsOrMap;

        impl<'de> Visitor<'de> for SpecsOrMap {
            type Value = Policy;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(
                    "a map of `name` and `limits`, a list of limits, `unlimited` or `blocked`",
                )
            }

            fn visit_str<E: ::serde::de::Error>(self, spec: &str) -> Result<Policy, E> {
                Policy::parse([spec]).map_err(E::custom)
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Policy, A::Error> {
                let specs = Specs::deserialize(SeqAccessDeserializer::new(list))?;
                policy(None, &specs).map_err(A::Error::custom)
            }

            fn visit_map<A: MapAccess<'de>>(self, map: A) -> Result<Policy, A::Error> {
                read_map(map)
            }
        }

        deserializer.deserialize_any(SpecsOrMap)
    }
}

fn read_map<'de, A: MapAccess<'de>>(mut map: A) -> Result<Policy, A::Error> {
    let (mut name, mut limits, mut shadow) = (None::<String>, None::<Specs>, None::<bool>);
    while let Some(field) = map.next_key::<String>()? {
        match field.as_str() {
            "name" if name.is_none() => name = Some(map.next_value()?),
            "limits" if limits.is_none() => limits = Some(map.next_value()?),
            "shadow" if shadow.is_none() => shadow = Some(map.next_value()?),
            "name" => return Err(A::Error::duplicate_field("name")),
            "limits" => return Err(A::Error::duplicate_field("limits")),
            "shadow" => return Err(A::Error::duplicate_field("shadow")),
            other => return Err(A::Error::unknown_field(other, &["name", "limits", "shadow"])),
        }
    }
    let limits = limits.ok_or_else(|| A::Error::missing_field("limits"))?;
    let policy = policy(name, &limits).map_err(A::Error::custom)?;
    Ok(if shadow == Some(true) { policy.shadow() } else { policy })
}

fn policy(name: Option<String>, specs: &Specs) -> Result<Policy, Error> {
    let policy = Policy::parse(specs.0.iter().map(String::as_str))?;
    match name {
        Some(name) => policy.named(&name),
        None => Ok(policy),
    }
}
