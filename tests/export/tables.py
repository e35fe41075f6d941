# Reads tables in Parquet as DuckDB does: the folder is the argument; prints rows and what a few queries say.
import json
import sys

import duckdb

folder = sys.argv[1]
db = duckdb.connect()
told = {}
for table in ("frames", "links", "findings", "runs"):
    db.execute(f"create view {table} as select * from read_parquet('{folder}/{table}.parquet')")
    told[table] = db.execute(f"select count(*) from {table}").fetchone()[0]
    told[table + "_columns"] = [row[0] + " " + row[1] for row in db.execute(f"describe {table}").fetchall()]
told["kinds"] = dict(db.execute("select kind, count(*) from frames where kind is not null group by kind").fetchall())
told["length"] = int(db.execute("select sum(length) from frames").fetchone()[0])
told["states"] = dict(db.execute("select state, count(*) from links group by state").fetchall())
told["responses"] = int(db.execute("select coalesce(sum(len(responses)), 0) from links").fetchone()[0])
told["latency"] = float(db.execute("select coalesce(sum(latency_ms), 0) from links").fetchone()[0])
told["codes"] = dict(db.execute("select code, count(*) from findings group by code").fetchall())
told["waits"] = db.execute("select count(*) from links l join frames f on f.frame = l.request where f.direction = 'response'").fetchone()[0]
told["first"] = db.execute("select epoch_us(min(ts)) from frames").fetchone()[0]
told["ids"] = db.execute("select count(distinct json_extract_string(ids, '$.request_id')) from frames").fetchone()[0]
print(json.dumps(told))
