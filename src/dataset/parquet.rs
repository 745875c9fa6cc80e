//! One row for every capture, as Parquet: a table that DuckDB, pandas, Spark and others read.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use parquet::basic::Compression;
use parquet::data_type::{BoolType, ByteArray, ByteArrayType, DataType, Int32Type, Int64Type};
use parquet::errors::ParquetError;
use parquet::file::metadata::KeyValue;
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

use super::rows::{Reader, Row, Wanted};
use super::{DatasetError, Written};
use crate::archive::{ArchiveError, write_whole};

/// Rows whose values of a column are encoded at a time.
const BATCH_ROWS: usize = 512;

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
    ("text", "string", "main text (a revisit's too), one block a line, without boilerplate"),
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

/// Returns the schema in the notation of the format.
fn schema() -> String {
    let field = |(name, kind, _): &(&str, &str, &str)| match *kind {
        "int32" => format!("optional int32 {name};"),
        "int64" => format!("optional int64 {name};"),
        "bool" => format!("optional boolean {name};"),
        "timestamp[ms, UTC]" => format!("optional int64 {name} (TIMESTAMP(MILLIS, true));"),
        "list<string>" => {
            let list = "repeated group list { optional binary element (STRING); }";
            format!("optional group {name} (LIST) {{ {list} }}")
        }
        _ => format!("optional binary {name} (STRING);"),
    };
    let fields: Vec<String> = COLUMNS.iter().map(field).collect();
    format!("message captures {{ {} }}", fields.join(" "))
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

/// A table that is being written, and the rows of its next row group.
struct Table<'t> {
    target: &'t Path,
    writer: SerializedFileWriter<File>,
    rows: Vec<Row>,
    held: usize,
}

impl Table<'_> {
    fn create<'t>(file: File, target: &'t Path, software: &str) -> Result<Table<'t>, DatasetError> {
        let about = vec![KeyValue::new("software".to_owned(), software.to_owned())];
        let properties = WriterProperties::builder()
            .set_compression(Compression::SNAPPY)
            .set_key_value_metadata(Some(about))
            .build();
        let writer = parse_message_type(&schema()).and_then(|schema| {
            SerializedFileWriter::new(file, Arc::new(schema), Arc::new(properties))
        });
        let writer = writer.map_err(|error| failed(target, error))?;
        Ok(Table { target, writer, rows: Vec::new(), held: 0 })
    }

    fn push(&mut self, row: Row) -> Result<(), DatasetError> {
        self.held += size_of::<Row>() + row.text.as_ref().map_or(0, String::len);
        self.rows.push(row);
        if self.held >= GROUP_BYTES {
            self.put()?;
        }
        Ok(())
    }

    fn put(&mut self) -> Result<(), DatasetError> {
        let put = put_group(&mut self.writer, &self.rows);
        self.held = 0;
        self.rows.clear();
        put.map_err(|error| failed(self.target, error))
    }

    /// Writes what is left and the end; returns the size of the file.
    fn finish(mut self) -> Result<u64, DatasetError> {
        if !self.rows.is_empty() {
            self.put()?;
        }
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

/// Writes rows as one row group, column by column in the order of [`COLUMNS`].
fn put_group(writer: &mut SerializedFileWriter<File>, rows: &[Row]) -> Result<(), ParquetError> {
    let mut group = writer.next_row_group()?;
    let to = &mut group;
    texts(to, rows, |row| Some(&row.url))?;
    texts(to, rows, |row| Some(&row.host))?;
    texts(to, rows, |row| Some(&row.site))?;
    column::<Int64Type>(to, rows, |row| i64::try_from(row.fetched?.as_millis()).ok())?;
    column::<Int32Type>(to, rows, |row| row.status)?;
    texts(to, rows, |row| Some(&row.mime))?;
    texts(to, rows, |row| Some(&row.kind))?;
    texts(to, rows, |row| row.revisit_of.as_deref())?;
    texts(to, rows, |row| row.language.as_deref())?;
    texts(to, rows, |row| row.title.as_deref())?;
    texts(to, rows, |row| row.text.as_deref())?;
    column::<Int64Type>(to, rows, |row| row.words)?;
    texts(to, rows, |row| row.text_digest.as_deref())?;
    texts(to, rows, |row| row.payload_digest.as_deref())?;
    column::<Int64Type>(to, rows, |row| row.bytes)?;
    texts(to, rows, |row| row.judged.as_deref())?;
    column::<BoolType>(to, rows, |row| Some(row.repeats))?;
    texts(to, rows, |row| row.near_cluster.as_deref())?;
    texts(to, rows, |row| row.truncated.as_deref())?;
    texts(to, rows, |row| row.usage.search.word())?;
    texts(to, rows, |row| row.usage.ai_input.word())?;
    texts(to, rows, |row| row.usage.ai_train.word())?;
    texts(to, rows, |row| row.usage.tdm.word())?;
    lists(to, rows, |row| &row.usage.raw)?;
    texts(to, rows, |row| Some(&row.warc_file))?;
    column::<Int64Type>(to, rows, |row| Some(row.warc_offset))?;
    column::<Int64Type>(to, rows, |row| Some(row.warc_length))?;
    group.close().map(drop)
}

type Group<'w> = SerializedRowGroupWriter<'w, File>;

fn texts(
    group: &mut Group<'_>,
    rows: &[Row],
    pick: impl for<'r> Fn(&'r Row) -> Option<&'r str>,
) -> Result<(), ParquetError> {
    column::<ByteArrayType>(group, rows, |row| pick(row).map(ByteArray::from))
}

/// Writes the next column: a value of each row, or none.
fn column<T: DataType>(
    group: &mut Group<'_>,
    rows: &[Row],
    value: impl Fn(&Row) -> Option<T::T>,
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(too_many)?;
    for some in rows.chunks(BATCH_ROWS) {
        let values: Vec<Option<T::T>> = some.iter().map(&value).collect();
        let defined: Vec<i16> = values.iter().map(|value| i16::from(value.is_some())).collect();
        let values: Vec<T::T> = values.into_iter().flatten().collect();
        column.typed::<T>().write_batch(&values, Some(&defined), None)?;
    }
    column.close()
}

/// Writes the next column: a list of each row, which may be empty. A value is defined to the third
/// level (the list, that it has items, the item), and all but the first of a list repeat it.
fn lists(
    group: &mut Group<'_>,
    rows: &[Row],
    pick: impl Fn(&Row) -> &[String],
) -> Result<(), ParquetError> {
    let mut column = group.next_column()?.ok_or_else(too_many)?;
    for some in rows.chunks(BATCH_ROWS) {
        let (mut values, mut defined, mut repeated) = (Vec::new(), Vec::new(), Vec::new());
        for items in some.iter().map(&pick) {
            if items.is_empty() {
                defined.push(1);
                repeated.push(0);
            }
            for (at, item) in items.iter().enumerate() {
                values.push(ByteArray::from(item.as_str()));
                defined.push(3);
                repeated.push(i16::from(at > 0));
            }
        }
        let column = column.typed::<ByteArrayType>();
        column.write_batch(&values, Some(&defined), Some(&repeated))?;
    }
    column.close()
}

fn too_many() -> ParquetError {
    ParquetError::General("more columns are written than the schema has".to_owned())
}

#[cfg(test)]
mod tests {
    use parquet::file::reader::{FileReader, SerializedFileReader};
    use parquet::record::{Field, RowAccessor};

    use super::*;

    #[test]
    fn every_column_has_a_name_a_type_and_the_rows_fit() {
        let dir = tempfile::tempdir().unwrap();
        let target = dir.path().join("t.parquet");
        let mut row = Row { url: "http://a.test/".to_owned(), status: Some(200), ..Row::default() };
        row.usage.raw = vec!["header: a".to_owned(), "meta: b".to_owned()];
        let rows = [row, Row::default(), Row { words: Some(7), ..Row::default() }];
        let mut table = Table::create(File::create(&target).unwrap(), &target, "test").unwrap();
        // Two row groups.
        for row in rows {
            table.push(row).unwrap();
            if table.rows.len() == 2 {
                table.put().unwrap();
            }
        }
        assert_eq!(table.finish().unwrap(), target.metadata().unwrap().len());
        let reader = SerializedFileReader::new(File::open(&target).unwrap()).unwrap();
        assert_eq!(reader.num_row_groups(), 2);
        let read: Vec<_> = reader.get_row_iter(None).unwrap().map(Result::unwrap).collect();
        let names: Vec<&String> = read[0].get_column_iter().map(|(name, _)| name).collect();
        assert_eq!(names, COLUMNS.map(|(name, ..)| name));
        let column = |name: &str| COLUMNS.iter().position(|(known, ..)| *known == name).unwrap();
        let (status, words, raw) = (column("status"), column("words"), column("usage_raw"));
        assert_eq!((read.len(), read[0].get_string(0).unwrap().as_str()), (3, "http://a.test/"));
        assert_eq!(read[0].get_int(status).unwrap(), 200);
        assert_eq!(read[2].get_long(words).unwrap(), 7);
        assert!(read[1].get_column_iter().nth(words).is_some_and(|(_, it)| *it == Field::Null));
        let lens = [0, 1, 2].map(|at: usize| read[at].get_list(raw).unwrap().len());
        assert_eq!(lens, [2, 0, 0]);
    }
}
