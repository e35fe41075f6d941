//! A table as a Parquet file, for DuckDB, pandas, Spark.
//! Never decides what a table holds.

use std::io::{self, Write};
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::column::writer::ColumnWriter;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DoubleType, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedColumnWriter, SerializedFileWriter};
use parquet::schema::parser::parse_message_type;

use super::tables::{Column, Table};

/// Rows of a row group: what a reader takes at once.
const GROUP: usize = 65_536;

/// Writes a table.
pub fn write(table: &Table, out: &mut (dyn Write + Send)) -> io::Result<()> {
    rows(table, out).map_err(io::Error::other)
}

fn rows(table: &Table, out: &mut (dyn Write + Send)) -> Result<(), ParquetError> {
    let mut schema = format!("message {} {{", table.name);
    for (name, column) in &table.columns {
        schema.push_str(&match column {
            Column::Text(_) => format!(" optional binary {name} (UTF8);"),
            Column::Int(_) => format!(" optional int64 {name};"),
            Column::Time(_) => format!(" optional int64 {name} (TIMESTAMP(MICROS,true));"),
            Column::Float(_) => format!(" optional double {name};"),
            Column::Bool(_) => format!(" required boolean {name};"),
            Column::Ints(_) => format!(" repeated int64 {name};"),
        });
    }
    schema.push_str(" }");
    let properties = WriterProperties::builder()
        .set_compression(Compression::SNAPPY)
        .set_created_by(format!("rpcshark {}", env!("CARGO_PKG_VERSION")))
        .build();
    let mut file =
        SerializedFileWriter::new(out, Arc::new(parse_message_type(&schema)?), Arc::new(properties))?;
    let mut from = 0;
    while from < table.rows {
        let until = (from + GROUP).min(table.rows);
        let mut group = file.next_row_group()?;
        for (_, column) in &table.columns {
            let Some(mut writer) = group.next_column()? else { break };
            values(column, from, until, &mut writer)?;
            writer.close()?;
        }
        group.close()?;
        from = until;
    }
    file.close()?;
    Ok(())
}

/// Writes the rows from one to another. A definition level of 0 is a value that is not there; a repetition level of 0
/// begins a row.
fn values(
    column: &Column,
    from: usize,
    until: usize,
    writer: &mut SerializedColumnWriter<'_>,
) -> Result<(), ParquetError> {
    match (column, writer.untyped()) {
        (Column::Text(rows), ColumnWriter::ByteArrayColumnWriter(_)) => {
            let rows = rows.get(from..until).unwrap_or_default();
            let there: Vec<ByteArray> = rows.iter().flatten().map(|text| text.as_str().into()).collect();
            writer.typed::<ByteArrayType>().write_batch(&there, Some(&levels(rows)), None)?;
        }
        (Column::Int(rows) | Column::Time(rows), ColumnWriter::Int64ColumnWriter(_)) => {
            let rows = rows.get(from..until).unwrap_or_default();
            let there: Vec<i64> = rows.iter().flatten().copied().collect();
            writer.typed::<Int64Type>().write_batch(&there, Some(&levels(rows)), None)?;
        }
        (Column::Float(rows), ColumnWriter::DoubleColumnWriter(_)) => {
            let rows = rows.get(from..until).unwrap_or_default();
            let there: Vec<f64> = rows.iter().flatten().copied().collect();
            writer.typed::<DoubleType>().write_batch(&there, Some(&levels(rows)), None)?;
        }
        (Column::Bool(rows), ColumnWriter::BoolColumnWriter(_)) => {
            writer.typed::<BoolType>().write_batch(rows.get(from..until).unwrap_or_default(), None, None)?;
        }
        (Column::Ints(rows), ColumnWriter::Int64ColumnWriter(_)) => {
            let rows = rows.get(from..until).unwrap_or_default();
            let (mut defined, mut repeated) = (Vec::new(), Vec::new());
            for row in rows {
                defined.push(i16::from(!row.is_empty()));
                repeated.push(0);
                defined.extend(row.iter().skip(1).map(|_| 1));
                repeated.extend(row.iter().skip(1).map(|_| 1));
            }
            let there: Vec<i64> = rows.iter().flatten().copied().collect();
            writer.typed::<Int64Type>().write_batch(&there, Some(&defined), Some(&repeated))?;
        }
        _ => return Err(ParquetError::General("a column of another type than its values".to_owned())),
    }
    Ok(())
}

fn levels<T>(rows: &[Option<T>]) -> Vec<i16> {
    rows.iter().map(|row| row.is_some().into()).collect()
}
