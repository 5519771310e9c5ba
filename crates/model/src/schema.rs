//! The JSON Schema of the run document: derived from its types, and from here for those that are written as one
//! number or text.

use crate::cell::{Cell, Mix, Shape};
use crate::document::Run;
use crate::findings::FindingId;
use crate::units::{Bytes, Secs};
use schemars::generate::SchemaSettings;
use schemars::transform::RecursiveTransform;
use schemars::{JsonSchema, Schema, SchemaGenerator, json_schema};
use std::borrow::Cow;

/// JSON Schema (draft 2020-12) of run documents as this version writes them.
pub fn run_schema() -> Schema {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    settings
        .with_transform(RecursiveTransform(allow_more))
        .into_generator()
        .into_root_schema_for::<Run>()
}

/// Suite files must not have unknown options, but documents of later versions may.
fn allow_more(schema: &mut Schema) {
    schema.remove("additionalProperties");
}

/// For `drivescope schema` and docs/run.schema.json.
pub fn run_schema_text() -> String {
    format!("{:#}\n", run_schema().as_value())
}

/// Types whose schema is these words of JSON Schema.
macro_rules! schema_of {
    ($($type:ident = $about:literal $words:tt)*) => {$(
        impl JsonSchema for $type {
            fn schema_name() -> Cow<'static, str> {
                stringify!($type).into()
            }

            fn json_schema(_: &mut SchemaGenerator) -> Schema {
                let mut schema = json_schema!($words);
                schema.insert("description".to_string(), $about.into());
                schema
            }
        }
    )*};
}

schema_of! {
    Bytes = "A number of bytes." { "type": "integer", "format": "uint64", "minimum": 0 }
    Secs = "A length of time in seconds." { "type": "number", "format": "double", "minimum": 0 }
    Shape = "Order, block size, depth per thread and threads, such as `rnd4k_q32t1`."
        { "type": "string", "pattern": "^(seq|rnd)[0-9]+[kmgt]?_q[0-9]+t[0-9]+$" }
    Mix = "`read`, `write`, `sync` (each write is flushed), or `mix70` with the percentage of reads."
        { "type": "string", "pattern": "^(read|write|sync|mix[0-9]+)$" }
    Cell = "A shape with its mix, such as `rnd4k_q1t1.read`."
        { "type": "string", "pattern": "^(seq|rnd)[0-9]+[kmgt]?_q[0-9]+t[0-9]+\\.(read|write|sync|mix[0-9]+)$" }
    FindingId = "Stable id of a finding, such as `F001`."
        { "type": "string", "pattern": "^F[0-9]{3}$" }
}
