//! SQLite databases: a table of JSON records, or one of blobs.
//! Never writes, never takes a view for a table, never reads other tables.

use std::path::Path;

use bytes::Bytes;
use rusqlite::types::ValueRef;
use rusqlite::{Connection, OpenFlags};

use crate::base::{Code, Finding, Severity};

use super::entry::Sink;
use super::error::Trouble;
use super::json::members::Members;
use super::json::{Outcome, Shapes};
use super::{Logged, LoggedBody, Record};

/// Rows fetched at once.
const PAGE: i64 = 64;

/// Reads a database row by row.
pub(super) struct Reader {
    database: Connection,
    table: Table,
    max: i64,
    /// The rowid of the last row that was read.
    last: i64,
    shapes: Shapes,
    read: u64,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Table {
    /// `records(id, payload)`: each payload a JSON record.
    Records,
    /// `blobs(id, data)`.
    Blobs,
}

impl Reader {
    pub(super) fn open(path: Option<&Path>, max: usize) -> Result<Self, Trouble> {
        let Some(path) = path.filter(|path| path.is_file()) else {
            let what = "an SQLite database in a pipe or a compressed file".into();
            return Err(Trouble::Unsupported { what, advice: "give the database file itself" });
        };
        let flags =
            OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX | OpenFlags::SQLITE_OPEN_URI;
        let database = Connection::open_with_flags(uri(path), flags).map_err(|error| malformed(&error))?;
        database.execute_batch("PRAGMA trusted_schema = OFF").map_err(|error| malformed(&error))?;
        let table = [(Table::Records, "records", "payload"), (Table::Blobs, "blobs", "data")]
            .into_iter()
            .find(|(_, table, column)| {
                let sql = "SELECT count(*) FROM sqlite_master m, pragma_table_info(m.name) c \
                           WHERE m.type = 'table' AND m.name = ?1 AND c.name = ?2";
                database.query_row(sql, [table, column], |row| row.get(0)).is_ok_and(|n: i64| n > 0)
            });
        let Some((table, _, _)) = table else {
            return Err(Trouble::Malformed {
                what: "a database of records or blobs",
                at: 0,
                expected: "a table records(id, payload) or blobs(id, data)".into(),
                found: "neither".into(),
                advice: "export what it holds as JSON Lines and give that",
            });
        };
        let max = i64::try_from(max).unwrap_or(i64::MAX);
        Ok(Self { database, table, max, last: i64::MIN, shapes: Shapes::default(), read: 0 })
    }

    /// Hands on the next rows; `false` where there are none.
    pub(super) fn next(&mut self, sink: &mut Sink<'_>) -> Result<bool, Trouble> {
        let page = self.page();
        let rows = match page {
            Ok(rows) => rows,
            Err(error) if self.read == 0 => return Err(malformed(&error)),
            Err(error) => {
                let text = format!("the database cannot be read further: {error}");
                sink.find(Finding::new(Code::CaptureDamaged, text).severity(Severity::Error));
                Vec::new()
            }
        };
        let more = !rows.is_empty();
        for row in rows {
            self.last = row.rowid;
            self.read += 1;
            self.row(row, sink);
        }
        if !more {
            self.shapes.finish(sink);
        }
        Ok(more)
    }

    fn page(&self) -> rusqlite::Result<Vec<Row>> {
        let sql = match self.table {
            Table::Records => {
                "SELECT rowid, '', CASE WHEN length(payload) <= ?2 THEN payload END FROM records \
                 WHERE rowid > ?1 ORDER BY rowid LIMIT ?3"
            }
            Table::Blobs => {
                "SELECT rowid, id, CASE WHEN length(data) <= ?2 THEN data END FROM blobs \
                 WHERE rowid > ?1 ORDER BY rowid LIMIT ?3"
            }
        };
        let mut statement = self.database.prepare_cached(sql)?;
        let mut rows = statement.query([self.last, self.max, PAGE])?;
        let mut out = Vec::new();
        while let Some(row) = rows.next()? {
            out.push(Row { rowid: row.get(0)?, id: text(row.get_ref(1)?), data: bytes(row.get_ref(2)?) });
        }
        Ok(out)
    }

    fn row(&mut self, row: Row, sink: &mut Sink<'_>) {
        let Some(data) = row.data else {
            let text = format!("row {} is empty or longer than the limit", row.rowid);
            return sink.find(Finding::new(Code::CaptureSkipped, text));
        };
        if self.table == Table::Blobs {
            let ids = vec![("blob_id".to_owned(), row.id)];
            let body = LoggedBody::Payload(Bytes::from(data));
            return sink.out.push_back(Record::Logged(Logged { body, ids, ..Logged::default() }));
        }
        let json = String::from_utf8_lossy(&data);
        let known = Members::read(&json).map(|members| self.shapes.read(0, &members, sink));
        if matches!(known, None | Some(Outcome::Unknown)) {
            let text = format!("row {} holds no JSON record of a known shape", row.rowid);
            sink.find(Finding::new(Code::CaptureDamaged, text));
        }
    }
}

struct Row {
    rowid: i64,
    id: String,
    data: Option<Vec<u8>>,
}

fn bytes(value: ValueRef<'_>) -> Option<Vec<u8>> {
    match value {
        ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Some(bytes.to_vec()),
        _ => None,
    }
}

fn text(value: ValueRef<'_>) -> String {
    match value {
        ValueRef::Text(bytes) => String::from_utf8_lossy(bytes).into_owned(),
        ValueRef::Blob(bytes) => bytes.iter().map(|b| format!("{b:02x}")).collect(),
        ValueRef::Integer(number) => number.to_string(),
        _ => String::new(),
    }
}

/// The file as a URI that says it does not change: no lock, no journal beside it.
fn uri(path: &Path) -> String {
    let path = std::path::absolute(path).unwrap_or_else(|_| path.to_owned());
    let mut out = String::from("file:");
    for byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b':' => {
                out.push(char::from(*byte));
            }
            _ => out.push_str(&format!("%{byte:02x}")),
        }
    }
    out.push_str("?immutable=1");
    out
}

fn malformed(error: &rusqlite::Error) -> Trouble {
    Trouble::Malformed {
        what: "a readable SQLite database",
        at: 0,
        expected: "a whole database".into(),
        found: error.to_string(),
        advice: "close the program that writes it, or copy it with its -wal file merged",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::{Format, Options, Reader as Capture};

    fn read(sql: &str) -> Option<Vec<Record>> {
        let file = tempfile::NamedTempFile::new().ok()?;
        Connection::open(file.path()).ok()?.execute_batch(sql).ok()?;
        let mut capture = Capture::open(file.path(), &Options::default()).ok()?;
        assert_eq!(capture.format(), Format::Sqlite);
        let mut out = Vec::new();
        while let Some(record) = capture.next().ok()? {
            out.push(record);
        }
        Some(out)
    }

    #[test]
    fn records() {
        let sql = "CREATE TABLE records(id INTEGER PRIMARY KEY, payload TEXT);\
            INSERT INTO records(payload) VALUES('{\"rpc\":\"a.B/C\",\"direction\":\"response\",\"payload_hex\":\"0a00\"}'),('x')";
        let out = read(sql).unwrap_or_default();
        assert!(matches!(out.first(), Some(Record::Logged(l)) if l.rpc.as_deref() == Some("a.B/C")));
        assert!(matches!(out.get(1), Some(Record::Finding(_))));
    }

    #[test]
    fn blobs() {
        let sql =
            "CREATE TABLE blobs(id TEXT PRIMARY KEY, data BLOB); INSERT INTO blobs VALUES('ab', x'0a00')";
        let out = read(sql).unwrap_or_default();
        assert!(matches!(out.first(), Some(Record::Logged(l)) if l.ids == [("blob_id".into(), "ab".into())]));
    }

    #[test]
    fn other_databases_are_refused() {
        assert!(
            read("CREATE TABLE t(a); CREATE VIEW records AS SELECT a AS id, a AS payload FROM t").is_none()
        );
    }
}
