//! One row for every capture, as Parquet: a table that DuckDB, pandas, Spark and others read.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::builder::{
    BooleanBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder,
    TimestampMillisecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{DataType, Field, Schema, TimeUnit};
use parquet::arrow::ArrowWriter;
use parquet::basic::Compression;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;

use super::rows::{Reader, Row, Wanted};
use super::{DatasetError, Written};
use crate::archive::{ArchiveError, write_whole};

/// Rows of a batch.
const BATCH_ROWS: usize = 512;

/// Bytes of text in a batch.
const BATCH_BYTES: usize = 8 << 20;

/// Bytes of a row group before compression: what is held in memory, and what a reader skips by.
const GROUP_BYTES: usize = 64 << 20;

/// The columns, their types in words, and what they mean. Their order is that of the file.
pub const COLUMNS: [(&str, &str, &str); 27] = [
    ("url", "string", "URL as fetched, in normal form"),
    ("host", "string", "host name"),
    ("site", "string", "registrable domain"),
    ("fetched", "timestamp[ms, UTC]", "when the fetch began"),
    ("status", "int32", "HTTP status"),
    ("type", "string", "media type without parameters; warc/revisit for a revisit"),
    ("record", "string", "response, revisit or resource"),
    ("revisit_of", "string", "URL whose payload a revisit repeats"),
    ("language", "string", "html lang as written; nothing is guessed"),
    ("title", "string", "title of the page"),
    ("text", "string", "main text, one block a line, without the site's boilerplate"),
    ("words", "int64", "words of the main text"),
    ("text_digest", "string", "digest of the main text by structure alone, as in the crawl log"),
    ("payload_digest", "string", "WARC-Payload-Digest"),
    ("bytes", "int64", "bytes of the decoded payload, as far as it was read"),
    ("judged", "string", "how the crawl judged the URL: new, duplicate, thin, none, junk:KIND"),
    ("repeats", "bool", "true if the same main text came earlier in this file"),
    ("near_cluster", "string", "name of the cluster of nearly the same texts, if it is in one"),
    ("truncated", "string", "WARC-Truncated: why the body is short"),
    ("usage_search", "string", "owner's word on search: yes, no, or null where nothing is said"),
    ("usage_ai_input", "string", "the same on use as input of a model"),
    ("usage_ai_train", "string", "the same on training"),
    ("usage_tdm", "string", "the same on text and data mining"),
    ("usage_raw", "list<string>", "every line of it, with its place: header, meta, robots"),
    ("warc_file", "string", "file of the archive"),
    ("warc_offset", "int64", "offset of the record in it"),
    ("warc_length", "int64", "length of the record in it"),
];

fn schema() -> Schema {
    let fields: Vec<Field> = COLUMNS
        .iter()
        .map(|(name, kind, _)| {
            let data_type = match *kind {
                "int32" => DataType::Int32,
                "int64" => DataType::Int64,
                "bool" => DataType::Boolean,
                "timestamp[ms, UTC]" => {
                    DataType::Timestamp(TimeUnit::Millisecond, Some("UTC".into()))
                }
                "list<string>" => {
                    DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))
                }
                _ => DataType::Utf8,
            };
            Field::new(*name, data_type, true)
        })
        .collect();
    Schema::new(fields)
}

/// Writes the table to a file that must not exist.
///
/// # Errors
/// Returns what the archive, the database or the system says.
pub fn export_parquet(
    reader: Reader<'_>,
    wanted: &Wanted,
    software: &str,
    target: &Path,
) -> Result<Written, DatasetError> {
    write_whole(target, |file| {
        let mut table = Table::create(file, target, software)?;
        let written = reader.read(wanted, |row, written| {
            written.rows += 1;
            table.push(row)?;
            Ok(true)
        })?;
        Ok(Written { bytes: table.finish()?, ..written })
    })
}

/// A table that is being written, and the rows of its next batch.
struct Table<'t> {
    target: &'t Path,
    schema: Arc<Schema>,
    writer: ArrowWriter<File>,
    rows: Vec<Row>,
    held: usize,
}

impl Table<'_> {
    fn create<'t>(file: File, target: &'t Path, software: &str) -> Result<Table<'t>, DatasetError> {
        let schema = Arc::new(schema());
        let about = vec![KeyValue::new("software".to_owned(), software.to_owned())];
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_max_row_group_bytes(Some(GROUP_BYTES))
            .set_key_value_metadata(Some(about))
            .build();
        let writer = ArrowWriter::try_new(file, schema.clone(), Some(properties));
        let writer = writer.map_err(|error| failed(target, error))?;
        Ok(Table { target, schema, writer, rows: Vec::new(), held: 0 })
    }

    fn push(&mut self, row: Row) -> Result<(), DatasetError> {
        self.held += row.text.as_ref().map_or(0, String::len);
        self.rows.push(row);
        if self.rows.len() >= BATCH_ROWS || self.held >= BATCH_BYTES {
            self.put()?;
        }
        Ok(())
    }

    fn put(&mut self) -> Result<(), DatasetError> {
        let batch = batch(&self.schema, &self.rows).map_err(|error| failed(self.target, error))?;
        self.held = 0;
        self.rows.clear();
        self.writer.write(&batch).map_err(|error| failed(self.target, error))
    }

    /// Writes what is left and the end; returns the size of the file.
    fn finish(mut self) -> Result<u64, DatasetError> {
        self.put()?;
        let file = self.writer.into_inner().map_err(|error| failed(self.target, error))?;
        let written = file.metadata().map_err(|error| failed(self.target, error))?;
        Ok(written.len())
    }
}

/// Returns the error of the operating system where that is the cause: a full disk is told by it.
fn failed(target: &Path, why: impl std::error::Error + 'static) -> DatasetError {
    let mut cause: Option<&(dyn std::error::Error + 'static)> = Some(&why);
    while let Some(error) = cause {
        if let Some(io) = error.downcast_ref::<std::io::Error>() {
            let (kind, words) = (io.kind(), io.to_string());
            return ArchiveError::write(target, std::io::Error::new(kind, words)).into();
        }
        cause = error.source();
    }
    DatasetError::Write { file: target.to_owned(), why: why.to_string() }
}

fn batch(schema: &Arc<Schema>, rows: &[Row]) -> Result<RecordBatch, arrow_schema::ArrowError> {
    let columns: Vec<ArrayRef> = vec![
        texts(rows, |row| Some(&row.url)),
        texts(rows, |row| Some(&row.host)),
        texts(rows, |row| Some(&row.site)),
        times(rows),
        statuses(rows),
        texts(rows, |row| Some(&row.mime)),
        texts(rows, |row| Some(&row.kind)),
        texts(rows, |row| row.revisit_of.as_deref()),
        texts(rows, |row| row.language.as_deref()),
        texts(rows, |row| row.title.as_deref()),
        texts(rows, |row| row.text.as_deref()),
        numbers(rows, |row| row.words),
        texts(rows, |row| row.text_digest.as_deref()),
        texts(rows, |row| row.payload_digest.as_deref()),
        numbers(rows, |row| row.bytes),
        texts(rows, |row| row.judged.as_deref()),
        repeats(rows),
        texts(rows, |row| row.near_cluster.as_deref()),
        texts(rows, |row| row.truncated.as_deref()),
        texts(rows, |row| row.usage.search.word()),
        texts(rows, |row| row.usage.ai_input.word()),
        texts(rows, |row| row.usage.ai_train.word()),
        texts(rows, |row| row.usage.tdm.word()),
        lists(rows),
        texts(rows, |row| Some(&row.warc_file)),
        numbers(rows, |row| Some(row.warc_offset)),
        numbers(rows, |row| Some(row.warc_length)),
    ];
    RecordBatch::try_new(schema.clone(), columns)
}

fn texts<'r>(rows: &'r [Row], pick: impl Fn(&'r Row) -> Option<&'r str>) -> ArrayRef {
    let mut column = StringBuilder::new();
    rows.iter().for_each(|row| column.append_option(pick(row)));
    Arc::new(column.finish())
}

fn numbers(rows: &[Row], pick: impl Fn(&Row) -> Option<i64>) -> ArrayRef {
    let mut column = Int64Builder::new();
    rows.iter().for_each(|row| column.append_option(pick(row)));
    Arc::new(column.finish())
}

fn statuses(rows: &[Row]) -> ArrayRef {
    let mut column = Int32Builder::new();
    rows.iter().for_each(|row| column.append_option(row.status));
    Arc::new(column.finish())
}

fn repeats(rows: &[Row]) -> ArrayRef {
    let mut column = BooleanBuilder::new();
    rows.iter().for_each(|row| column.append_value(row.repeats));
    Arc::new(column.finish())
}

fn times(rows: &[Row]) -> ArrayRef {
    let mut column = TimestampMillisecondBuilder::new().with_timezone("UTC");
    for row in rows {
        let at = row.fetched.and_then(|at| i64::try_from(at.as_millis()).ok());
        column.append_option(at);
    }
    Arc::new(column.finish())
}

fn lists(rows: &[Row]) -> ArrayRef {
    let mut column = ListBuilder::new(StringBuilder::new());
    for row in rows {
        row.usage.raw.iter().for_each(|line| column.values().append_value(line));
        column.append(true);
    }
    Arc::new(column.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_column_has_a_name_a_type_and_the_rows_fit() {
        let schema = Arc::new(schema());
        let row = Row { url: "http://a.test/".to_owned(), status: Some(200), ..Row::default() };
        let batch = batch(&schema, &[row, Row::default()]).unwrap();
        assert_eq!(batch.num_columns(), COLUMNS.len());
        assert_eq!(batch.num_rows(), 2);
    }
}
