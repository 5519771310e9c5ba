//! Columns of a Parquet file.

use parquet::basic::Compression;
use parquet::data_type::DataType;
use parquet::errors::Result;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;
use std::sync::Arc;

/// An empty file with these columns, to be compressed with Snappy.
pub(super) fn table(schema: &str) -> Result<SerializedFileWriter<Vec<u8>>> {
    let schema = Arc::new(parse_message_type(schema)?);
    let properties = WriterProperties::builder().set_compression(Compression::SNAPPY).build();
    SerializedFileWriter::new(Vec::new(), schema, Arc::new(properties))
}

/// Definition levels (which values exist) and repetition levels (which begin a new list).
pub(super) type Levels<'l> = (&'l [i16], Option<&'l [i16]>);

pub(super) fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[T::T],
    levels: Option<Levels>,
) -> Result<()> {
    let Some(mut writer) = group.next_column()? else { return Ok(()) };
    let (defined, repeated) = match levels {
        Some((defined, repeated)) => (Some(defined), repeated),
        None => (None, None),
    };
    writer.typed::<T>().write_batch(values, defined, repeated)?;
    writer.close()
}

/// A column with missing values.
pub(super) fn optional<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: impl Iterator<Item = Option<T::T>>,
) -> Result<()> {
    let values: Vec<Option<T::T>> = values.collect();
    let levels: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
    let known: Vec<T::T> = values.into_iter().flatten().collect();
    column::<T>(group, &known, Some((&levels, None)))
}

/// A list for each row: the first value of a list begins a row; an empty list has no value.
pub(super) fn list<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    lists: impl Iterator<Item = Vec<T::T>>,
) -> Result<()> {
    let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
    for list in lists {
        let count = list.len();
        values.extend(list);
        defined.extend(std::iter::repeat_n(i16::from(count > 0), count.max(1)));
        repeated.extend((0..count.max(1)).map(|i| i16::from(i > 0)));
    }
    column::<T>(group, &values, Some((&defined, Some(&repeated))))
}
