//! A table in the form of Apache Parquet, with a row for each group and a column for each figure.
//!
//! The columns are those of [`super::csv`]. A figure that is missing is null.

use std::sync::Arc;

use anyhow::{Context, Result};
use parquet::{
    basic::{ConvertedType, Repetition, Type as Physical},
    data_type::{ByteArray, ByteArrayType, DataType, DoubleType, Int32Type, Int64Type},
    file::{
        properties::WriterProperties,
        writer::{SerializedFileWriter, SerializedRowGroupWriter},
    },
    schema::types::Type,
};

use super::{Shown, model_name};
use crate::figures::{figure::Figure, group::Group};

/// Seconds from the beginning of the TOD clock, 1900, to 1970.
const TO_1970: i64 = 2_208_988_800;

/// The values of a column, one for each group.
enum Column {
    Text(Vec<Option<ByteArray>>),
    /// Milliseconds since 1970.
    Time(Vec<Option<i64>>),
    Small(Vec<Option<i32>>),
    Number(Vec<Option<f64>>),
}

impl Column {
    /// The type of its values.
    const fn types(&self) -> (Physical, ConvertedType) {
        match self {
            Self::Text(_) => (Physical::BYTE_ARRAY, ConvertedType::UTF8),
            Self::Time(_) => (Physical::INT64, ConvertedType::TIMESTAMP_MILLIS),
            Self::Small(_) => (Physical::INT32, ConvertedType::NONE),
            Self::Number(_) => (Physical::DOUBLE, ConvertedType::NONE),
        }
    }
}

/// The bytes of the file.
pub fn bytes(shown: &Shown<'_>) -> Result<Vec<u8>> {
    write(&columns(shown)).context("cannot make a Parquet file")
}

fn columns(shown: &Shown<'_>) -> Vec<(&'static str, Column)> {
    let groups = &shown.collected.groups;
    let text = |of: &dyn Fn(&Group) -> Option<String>| {
        let texts = groups.iter().map(of);
        Column::Text(
            texts
                .map(|text| Some(ByteArray::from(text?.as_bytes())))
                .collect(),
        )
    };
    let time = |of: &dyn Fn(&Group) -> Option<u64>| {
        let times = groups.iter().map(|group| {
            let seconds = i64::try_from(of(group)?).ok()?;
            Some((seconds - TO_1970) * 1000)
        });
        Column::Time(times.collect())
    };
    let small = |of: &dyn Fn(&Group) -> Option<u32>| {
        let numbers = groups.iter().map(of);
        Column::Small(numbers.map(|number| i32::try_from(number?).ok()).collect())
    };
    let mut columns = vec![
        ("system", text(&|group| group.key.system.clone())),
        ("machine", text(&|group| Some(group.key.machine.clone()))),
        (
            "model",
            text(&|group| Some(model_name(group.counts.generation()).to_owned())),
        ),
        ("start", time(&|group| Some(group.key.interval?.start))),
        ("end", time(&|group| Some(group.key.interval?.end))),
        ("type", text(&|group| Some(group.key.class?.to_string()))),
        ("cpu", small(&|group| group.key.cpu.map(u32::from))),
        ("records", small(&|group| Some(group.counts.records))),
    ];
    columns.extend(Figure::ALL.into_iter().map(|figure| {
        let column = match figure {
            Figure::Hint => text(&|group| shown.hint(group)),
            _ => {
                let numbers = groups.iter().map(|group| shown.number(group, figure));
                Column::Number(numbers.collect())
            }
        };
        (figure.name(), column)
    }));
    columns
}

fn write(columns: &[(&str, Column)]) -> parquet::errors::Result<Vec<u8>> {
    let fields: parquet::errors::Result<Vec<_>> = columns
        .iter()
        .map(|(name, column)| {
            let (physical, converted) = column.types();
            let field = Type::primitive_type_builder(name, physical)
                .with_repetition(Repetition::OPTIONAL)
                .with_converted_type(converted);
            field.build().map(Arc::new)
        })
        .collect();
    let schema = Type::group_type_builder("figures")
        .with_fields(fields?)
        .build()?;
    let properties = Arc::new(WriterProperties::builder().build());
    let mut file = SerializedFileWriter::new(Vec::new(), Arc::new(schema), properties)?;
    let mut rows = file.next_row_group()?;
    for (_, column) in columns {
        match column {
            Column::Text(values) => write_column::<ByteArrayType>(&mut rows, values)?,
            Column::Time(values) => write_column::<Int64Type>(&mut rows, values)?,
            Column::Small(values) => write_column::<Int32Type>(&mut rows, values)?,
            Column::Number(values) => write_column::<DoubleType>(&mut rows, values)?,
        }
    }
    rows.close()?;
    file.into_inner()
}

/// Writes the next column: which values are there, and these values.
fn write_column<T: DataType>(
    rows: &mut SerializedRowGroupWriter<'_, Vec<u8>>,
    values: &[Option<T::T>],
) -> parquet::errors::Result<()> {
    let there: Vec<i16> = values
        .iter()
        .map(|value| i16::from(value.is_some()))
        .collect();
    let values: Vec<T::T> = values.iter().flatten().cloned().collect();
    if let Some(mut column) = rows.next_column()? {
        column
            .typed::<T>()
            .write_batch(&values, Some(&there), None)?;
        column.close()?;
    }
    Ok(())
}
