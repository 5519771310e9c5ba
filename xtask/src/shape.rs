//! The shape of a run document, told by its types: a deserializer without input that answers
//! whatever a type asks for. So every field is seen, optional ones and those added later too.

use serde::de::value::StrDeserializer;
use serde::de::{
    self, DeserializeSeed, Deserializer, EnumAccess, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde::{Deserialize, forward_to_deserialize_any};
use std::cell::RefCell;
use std::collections::BTreeMap;

type Error = de::value::Error;

/// Values of fields whose text must have a form, by the end of their path.
const TEXTS: [(&str, &str); 5] = [
    ("shapes[]", "rnd4k_q1t1"),
    ("mixes[]", "read"),
    ("cells[]", "rnd4k_q1t1.read"),
    ("findings[].id", "F001"),
    ("invalid_because[]", "F001"),
];

/// Whether optional fields and lists are filled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fill {
    /// Every option is there, every list has elements.
    Full,
    /// No option is there, every list is empty.
    Empty,
}

/// An enumeration as its type describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Values {
    /// Name of the type.
    pub name: &'static str,
    /// Its values as documents write them.
    pub values: &'static [&'static str],
}

/// The enumerations of a type, by the path of the field: `tests[].status`.
pub type Enumerations = BTreeMap<String, Values>;

/// A value of `T` made from nothing, and the enumerations met on the way.
pub fn make<T: for<'de> Deserialize<'de>>(fill: Fill) -> Result<(T, Enumerations), String> {
    let met = RefCell::new(Enumerations::new());
    let maker = Maker { fill, met: &met, path: String::new(), nth: 0 };
    let value = T::deserialize(maker).map_err(|e| {
        format!("no value of a field can be made ({e}); give its form in xtask/src/shape.rs")
    })?;
    Ok((value, met.into_inner()))
}

struct Maker<'m> {
    fill: Fill,
    met: &'m RefCell<Enumerations>,
    path: String,
    /// Which element of its list.
    nth: usize,
}

impl Maker<'_> {
    fn below(&self, step: &str, nth: usize) -> Self {
        let dot = if self.path.is_empty() || step == "[]" { "" } else { "." };
        let path = format!("{}{dot}{step}", self.path);
        Self { fill: self.fill, met: self.met, path, nth }
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
        match self.fill {
            Fill::Full => visitor.visit_some(self),
            Fill::Empty => visitor.visit_none(),
        }
    }

    fn deserialize_seq<V: Visitor<'de>>(self, visitor: V) -> Result<V::Value, Error> {
        let count = if self.fill == Fill::Full { 2 } else { 0 };
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
        self.met.borrow_mut().insert(self.path, Values { name, values });
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
    fn a_full_run_has_every_option_and_an_empty_one_has_none() {
        let (full, enumerations) = make::<Run>(Fill::Full).unwrap();
        assert!(full.label.is_some() && full.tests[1].phases[1].temperature_c.is_some());
        assert_eq!(full.plan.suite.latency.rates.len(), 2);
        assert_eq!(enumerations["tests[].status"].name, "TestStatus");
        let (empty, _) = make::<Run>(Fill::Empty).unwrap();
        assert!(empty.label.is_none() && empty.tests.is_empty());
    }
}
