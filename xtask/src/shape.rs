//! The shape of a run document, told by its types: a deserializer without input that answers
//! whatever a type asks for. So every field is seen, optional ones and those added later too.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess,
    Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use std::cell::RefCell;
use std::collections::{BTreeMap, BTreeSet};

type Error = de::value::Error;

/// Values of fields whose text must have a form, by the end of their path.
const TEXTS: [(&str, &str); 6] = [
    ("shapes[]", "rnd4k_q1t1"),
    ("mixes[]", "read"),
    ("align.mix", "read"),
    ("cells[]", "rnd4k_q1t1.read"),
    ("findings[].id", "F001"),
    ("invalid_because[]", "F001"),
];

/// An enumeration as its type describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values {
    /// Name of the type.
    pub name: &'static str,
    /// Its values as documents write them.
    pub values: &'static [&'static str],
}

/// What was met while a value was made; fields by their path: `tests[].status`.
#[derive(Debug, Default)]
pub struct Met {
    /// Enumerations.
    pub enumerations: BTreeMap<String, Values>,
    /// Fields that need not be known, and lists, which may be empty.
    pub optional: BTreeSet<String>,
}

/// A value of `T` made from nothing, with every option and two elements in every list. Only the
/// option or list at the path `without` is left empty.
pub fn make<T: for<'de> Deserialize<'de>>(without: &str) -> Result<(T, Met), String> {
    let met = RefCell::new(Met::default());
    let maker = Maker { without, met: &met, path: String::new(), nth: 0 };
    let value = T::deserialize(maker).map_err(|e| {
        format!("no value of a field can be made ({e}); give its form in xtask/src/shape.rs")
    })?;
    Ok((value, met.into_inner()))
}

struct Maker<'m> {
    without: &'m str,
    met: &'m RefCell<Met>,
    path: String,
    /// Which element of its list.
    nth: usize,
}

impl Maker<'_> {
    fn below(&self, step: &str, nth: usize) -> Self {
        let dot = if self.path.is_empty() || step == "[]" { "" } else { "." };
        let path = format!("{}{dot}{step}", self.path);
        Self { without: self.without, met: self.met, path, nth }
    }

    /// Notes that this may be empty, and says whether it is to be.
    fn is_left_empty(&self) -> bool {
        self.met.borrow_mut().optional.insert(self.path.clone());
        self.path == self.without
    }
}

impl<'de> Deserializer<'de> for Maker<'_> {
    type Error = Error;

    /// Quantities that accept a number or a text, and enumerations without a tag: a number first,
    /// then an object.
    fn deserialize_any<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let asked = (&visitor as &dyn de::Expected).to_string();
        if asked.contains("size") {
            visitor.visit_u64(1)
        } else if self.nth == 0 {
            visitor.visit_f64(1.0)
        } else {
            visitor.visit_map(Fields { maker: self, names: ["percent"].iter() })
        }
    }

    fn deserialize_bool<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_bool(true)
    }

    fn deserialize_u64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u64(1)
    }

    fn deserialize_u32<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u32(1)
    }

    fn deserialize_u8<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_u8(1)
    }

    fn deserialize_f64<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_f64(1.0)
    }

    fn deserialize_string<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let with_form = TEXTS.iter().find(|(end, _)| self.path.ends_with(end));
        visitor.visit_str(with_form.map_or("x", |(_, text)| text))
    }

    fn deserialize_option<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        if self.is_left_empty() { visitor.visit_none() } else { visitor.visit_some(self) }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = if self.is_left_empty() { 0 } else { 2 };
        visitor.visit_seq(Elements { maker: self, next: 0, count })
    }

    fn deserialize_tuple<V: Visitor<'de>>(self, n: usize, visitor: V) -> Result<V::Value, Error> {
        visitor.visit_seq(Elements { maker: self, next: 0, count: n })
    }

    fn deserialize_struct<V: Visitor<'de>>(
        self,
        _: &'static str,
        fields: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        visitor.visit_map(Fields { maker: self, names: fields.iter() })
    }

    fn deserialize_enum<V: Visitor<'de>>(
        self,
        name: &'static str,
        values: &'static [&'static str],
        visitor: V,
    ) -> Result<V::Value, Error> {
        self.met.borrow_mut().enumerations.insert(self.path, Values { name, values });
        visitor.visit_enum(First(values[0]))
    }

    forward_to_deserialize_any! {
        i8 i16 i32 i64 u16 f32 char str bytes byte_buf unit unit_struct newtype_struct
        tuple_struct map identifier ignored_any
    }
}

/// The first value of an enumeration.
struct First(&'static str);

impl<'de> EnumAccess<'de> for First {
    type Error = Error;
    type Variant = <StrDeserializer<'static, Error> as EnumAccess<'de>>::Variant;

    fn variant_seed<S: DeserializeSeed<'de>>(
        self,
        seed: S,
    ) -> Result<(S::Value, Self::Variant), Error> {
        let name: StrDeserializer<'static, Error> = self.0.into_deserializer();
        name.variant_seed(seed)
    }
}

/// All fields of a struct.
struct Fields<'m> {
    maker: Maker<'m>,
    names: std::slice::Iter<'static, &'static str>,
}

impl<'de> MapAccess<'de> for Fields<'_> {
    type Error = Error;

    fn next_key_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        let Some(name) = self.names.as_slice().first() else { return Ok(None) };
        let name: StrDeserializer<'static, Error> = (*name).into_deserializer();
        seed.deserialize(name).map(Some)
    }

    fn next_value_seed<S: DeserializeSeed<'de>>(&mut self, seed: S) -> Result<S::Value, Error> {
        let name = self.names.next().expect("a value follows its name");
        let below = self.maker.below(name, 0);
        let path = below.path.clone();
        seed.deserialize(below).map_err(|e| de::Error::custom(format_args!("{path}: {e}")))
    }
}

/// Some elements of a list.
struct Elements<'m> {
    maker: Maker<'m>,
    next: usize,
    count: usize,
}

impl<'de> SeqAccess<'de> for Elements<'_> {
    type Error = Error;

    fn next_element_seed<S: DeserializeSeed<'de>>(
        &mut self,
        seed: S,
    ) -> Result<Option<S::Value>, Error> {
        if self.next == self.count {
            return Ok(None);
        }
        let below = self.maker.below("[]", self.next);
        self.next += 1;
        seed.deserialize(below).map(Some)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use drivescope_model::Run;

    #[test]
    fn a_run_has_every_option_but_the_one_left_out() {
        let (run, met) = make::<Run>("").unwrap();
        assert!(run.label.is_some() && run.tests[1].phases[1].temperature_c.is_some());
        assert_eq!(run.plan.suite.latency.rates.len(), 2);
        assert_eq!(met.enumerations["tests[].status"].name, "TestStatus");
        assert!(met.optional.contains("label") && met.optional.contains("tests[].metrics"));
        let (run, _) = make::<Run>("tests[].reason").unwrap();
        assert!(run.label.is_some() && run.tests[1].reason.is_none());
        let (run, _) = make::<Run>("tests[].metrics").unwrap();
        assert!(run.tests[1].metrics.is_empty() && run.tests[1].series.len() == 2);
    }
}
