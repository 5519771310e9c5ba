//! Finds numbers that a JSON document cannot hold. `serde_json` writes NaN and infinities as
//! `null`, which reads back as an error, or, in an optional field, as "not known".
//!
//! The search is a serializer without output, so that it sees every field a document has, those
//! added later too.

use serde::ser::{self, Impossible, Serialize};
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
    value.serialize(Search)
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

type Found = Result<(), NotFinite>;

struct Search;

/// The elements of a sequence or map, counted.
struct Elements(usize);

impl Elements {
    fn next(&mut self, value: &(impl Serialize + ?Sized)) -> Found {
        let index = self.0;
        self.0 += 1;
        value.serialize(Search).map_err(|found| found.below(&format!("[{index}]")))
    }
}

/// The fields of a struct.
struct Fields;

impl Fields {
    fn next(name: &str, value: &(impl Serialize + ?Sized)) -> Found {
        value.serialize(Search).map_err(|found| found.below(name))
    }
}

macro_rules! nothing_to_find {
    ($($method:ident($($argument:ty),*);)*) => {$(
        fn $method(self, $(_: $argument),*) -> Found {
            Ok(())
        }
    )*};
}

impl ser::Serializer for Search {
    type Ok = ();
    type Error = NotFinite;
    type SerializeSeq = Elements;
    type SerializeTuple = Elements;
    type SerializeMap = Elements;
    type SerializeStruct = Fields;
    type SerializeStructVariant = Fields;
    // The document has no tuple structs; a new one must be thought about here.
    type SerializeTupleStruct = Impossible<(), NotFinite>;
    type SerializeTupleVariant = Impossible<(), NotFinite>;

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

    fn collect_str<T: fmt::Display + ?Sized>(self, _: &T) -> Found {
        Ok(())
    }
    fn serialize_f32(self, value: f32) -> Found {
        self.serialize_f64(f64::from(value))
    }
    fn serialize_f64(self, value: f64) -> Found {
        if value.is_finite() {
            return Ok(());
        }
        Err(NotFinite { path: String::new(), value: value.to_string() })
    }
    fn serialize_some<T: Serialize + ?Sized>(self, value: &T) -> Found {
        value.serialize(self)
    }
    fn serialize_newtype_struct<T: Serialize + ?Sized>(self, _: &'static str, value: &T) -> Found {
        value.serialize(self)
    }
    fn serialize_newtype_variant<T: Serialize + ?Sized>(
        self,
        _: &'static str,
        _: u32,
        variant: &'static str,
        value: &T,
    ) -> Found {
        Fields::next(variant, value)
    }
    fn serialize_seq(self, _: Option<usize>) -> Result<Elements, NotFinite> {
        Ok(Elements(0))
    }
    fn serialize_tuple(self, _: usize) -> Result<Elements, NotFinite> {
        Ok(Elements(0))
    }
    fn serialize_map(self, _: Option<usize>) -> Result<Elements, NotFinite> {
        Ok(Elements(0))
    }
    fn serialize_struct(self, _: &'static str, _: usize) -> Result<Fields, NotFinite> {
        Ok(Fields)
    }
    fn serialize_struct_variant(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Fields, NotFinite> {
        Ok(Fields)
    }
    fn serialize_tuple_struct(
        self,
        name: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleStruct, NotFinite> {
        Err(ser::Error::custom(format!("the tuple {name}, which documents do not have")))
    }
    fn serialize_tuple_variant(
        self,
        name: &'static str,
        _: u32,
        _: &'static str,
        _: usize,
    ) -> Result<Self::SerializeTupleVariant, NotFinite> {
        Err(ser::Error::custom(format!("the tuple {name}, which documents do not have")))
    }
}

impl ser::SerializeSeq for Elements {
    type Ok = ();
    type Error = NotFinite;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Found {
        self.next(value)
    }
    fn end(self) -> Found {
        Ok(())
    }
}

impl ser::SerializeTuple for Elements {
    type Ok = ();
    type Error = NotFinite;
    fn serialize_element<T: Serialize + ?Sized>(&mut self, value: &T) -> Found {
        self.next(value)
    }
    fn end(self) -> Found {
        Ok(())
    }
}

impl ser::SerializeMap for Elements {
    type Ok = ();
    type Error = NotFinite;
    fn serialize_key<T: Serialize + ?Sized>(&mut self, _: &T) -> Found {
        Ok(())
    }
    fn serialize_value<T: Serialize + ?Sized>(&mut self, value: &T) -> Found {
        self.next(value)
    }
    fn end(self) -> Found {
        Ok(())
    }
}

impl ser::SerializeStruct for Fields {
    type Ok = ();
    type Error = NotFinite;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Found {
        Self::next(name, value)
    }
    fn end(self) -> Found {
        Ok(())
    }
}

impl ser::SerializeStructVariant for Fields {
    type Ok = ();
    type Error = NotFinite;
    fn serialize_field<T: Serialize + ?Sized>(&mut self, name: &'static str, value: &T) -> Found {
        Self::next(name, value)
    }
    fn end(self) -> Found {
        Ok(())
    }
}

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
