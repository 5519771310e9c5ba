//! Finds numbers that a JSON document cannot hold. `serde_json` writes NaN and infinities as
//! `null`, which reads back as an error, or, in an optional field, as "not known".
//!
//! The search is a serializer without output, so that it sees every field a document has, those
//! added later too.

use serde::ser::{self, Serialize};
use std::fmt;

/// Where the first number that is not finite stands: `tests[0].metrics[2].value` and `NaN`.
#[derive(Debug, PartialEq)]
pub(crate) struct NotFinite {
    /// The path of the field.
    pub(crate) path: String,
    /// What it holds, in words.
    pub(crate) value: String,
}

/// Fails if `value` holds a number that is not finite.
pub(crate) fn check(value: &impl Serialize) -> Result<(), NotFinite> {
    value.serialize(NumberSearch)
}

impl NotFinite {
    fn below(mut self, step: &str) -> Self {
        let dot = if self.path.is_empty() || self.path.starts_with('[') { "" } else { "." };
        self.path = format!("{step}{dot}{}", self.path);
        self
    }
}

impl fmt::Display for NotFinite {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is {}", self.path, self.value)
    }
}

impl std::error::Error for NotFinite {}

impl ser::Error for NotFinite {
    fn custom<T: fmt::Display>(message: T) -> Self {
        Self { path: String::new(), value: message.to_string() }
    }
}

type SearchResult = Result<(), NotFinite>;

struct NumberSearch;

/// The parts of what has parts: elements, which are counted, or fields.
struct Parts {
    elements: usize,
}

impl Parts {
    fn none() -> Result<Self, NotFinite> {
        Ok(Self { elements: 0 })
    }

    fn element(&mut self, value: &(impl Serialize + ?Sized)) -> SearchResult {
        let index = self.elements;
        self.elements += 1;
        value.serialize(NumberSearch).map_err(|found| found.below(&format!("[{index}]")))
    }
}

fn field(name: &str, value: &(impl Serialize + ?Sized)) -> SearchResult {
    value.serialize(NumberSearch).map_err(|found| found.below(name))
}

macro_rules! nothing_to_find {
    ($($method:ident($($argument:ty),*);)*) => {$(
        fn $method(self, $(_: $argument),*) -> SearchResult {
            Ok(())
        }
    )*};
}

macro_rules! has_parts {
    ($($method:ident($($argument:ty),*);)*) => {$(
        fn $method(self, $(_: $argument),*) -> Result<Parts, NotFinite> {
            Parts::none()
        }
    )*};
}

impl ser::Serializer for NumberSearch {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Parts;
    type SerializeTuple = Parts;
    type SerializeTupleStruct = Parts;
    type SerializeTupleVariant = Parts;
    type SerializeMap = Parts;
    type SerializeStruct = Parts;
    type SerializeStructVariant = Parts;

    nothing_to_find! {
        serialize_bool(bool);
        serialize_i8(i8);
        serialize_i16(i16);
        serialize_i32(i32);
        serialize_i64(i64);
        serialize_u8(u8);
        serialize_u16(u16);
        serialize_u32(u32);
        serialize_u64(u64);
        serialize_char(char);
        serialize_str(&str);
        serialize_bytes(&[u8]);
        serialize_none();
        serialize_unit();
        serialize_unit_struct(&'static str);
        serialize_unit_variant(&'static str, u32, &'static str);
    }
    has_parts! {
        serialize_seq(Option<usize>);
        serialize_tuple(usize);
        serialize_tuple_struct(&'static str, usize);
        serialize_tuple_variant(&'static str, u32, &'static str, usize);
        serialize_map(Option<usize>);
        serialize_struct(&'static str, usize);
        serialize_struct_variant(&'static str, u32, &'static str, usize);
    }

    fn serialize_f32(self, value: f32) -> SearchResult {
        self.serialize_f64(f64::from(value))
    }
    fn serialize_f64(self, value: f64) -> SearchResult {
        match value.is_finite() {
            true => Ok(()),
            false => Err(NotFinite { path: String::new(), value: value.to_string() }),
        }
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> SearchResult {
        value.serialize(self)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        value: &T,
    ) -> SearchResult {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> SearchResult {
        field(variant, value)
    }
}

macro_rules! elements {
    ($($kind:ident $method:ident $(with $before:ident)?;)*) => {$(
        impl ser::$kind for Parts {
            type Ok = ();
            type Error = NotFinite;
            $(fn $before<T: Serialize + ?Sized>(&mut self, _: &T) -> SearchResult {
                Ok(())
            })?
            fn $method<T: Serialize + ?Sized>(&mut self, value: &T) -> SearchResult {
                self.element(value)
            }
            fn end(self) -> SearchResult {
                Ok(())
            }
        }
    )*};
}

elements! {
    SerializeSeq serialize_element;
    SerializeTuple serialize_element;
    SerializeTupleStruct serialize_field;
    SerializeTupleVariant serialize_field;
    SerializeMap serialize_value with serialize_key;
}

macro_rules! fields {
    ($($kind:ident)*) => {$(
        impl ser::$kind for Parts {
            type Ok = ();
            type Error = NotFinite;
            fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> SearchResult {
                field(name, value)
            }
            fn end(self) -> SearchResult {
                Ok(())
            }
        }
    )*};
}

fields! { SerializeStruct SerializeStructVariant }

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::rich_run;
    use drivescope_model::document::Run;
    use drivescope_model::options::Rate;

    #[test]
    fn a_sound_run_passes() {
        assert_eq!(check(&rich_run("0123456789ab")), Ok(()));
    }

    #[test]
    fn every_kind_of_place_is_searched_and_named() {
        type Spoil = fn(&mut Run);
        let cases: [(&str, Spoil); 8] = [
            ("elapsed_s is NaN", |run| run.elapsed_s = f64::NAN),
            ("tests[0].metrics[1].value is inf", |run| {
                run.tests[0].metrics[1].value = f64::INFINITY;
            }),
            ("tests[0].metrics[0].rounds[2] is -inf", |run| {
                run.tests[0].metrics[0].rounds[2] = f64::NEG_INFINITY;
            }),
            ("tests[0].series[0].y[1] is NaN", |run| run.tests[0].series[0].y[1] = f64::NAN),
            ("tests[0].phases[0].temperature_c is NaN", |run| {
                run.tests[0].phases[0].temperature_c = Some(f64::NAN);
            }),
            ("verdict[0].rules[0].thresholds[1] is NaN", |run| {
                run.verdict[0].rules[0].thresholds[1] = f64::NAN;
            }),
            ("plan.suite.latency.rates[0] is NaN", |run| {
                run.plan.suite.latency.rates[0] = Rate::Iops(f64::NAN);
            }),
            ("plan.suite.pause is NaN", |run| run.plan.suite.pause.0 = f64::NAN),
        ];
        for (expected, spoil) in cases {
            let mut run = rich_run("0123456789ab");
            spoil(&mut run);
            assert_eq!(check(&run).unwrap_err().to_string(), expected);
        }
    }
}
