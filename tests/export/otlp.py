# Reads OTLP JSON from standard input as the published protobuf (opentelemetry-proto) has it; prints what it holds.
import base64
import json
import sys

from google.protobuf import json_format
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

given = json.load(sys.stdin)
spans = [s for r in given["resourceSpans"] for scope in r["scopeSpans"] for s in scope["spans"]]
for span in spans:
    # OTLP writes ids in hex where ProtoJSON has base64 (OTLP specification, "JSON Protobuf Encoding").
    for key, length in (("traceId", 16), ("spanId", 8), ("parentSpanId", 8)):
        if key in span:
            raw = bytes.fromhex(span[key])
            assert len(raw) == length and any(raw), span
            span[key] = base64.b64encode(raw).decode()
# Refuses members and enum values that the protobuf does not have.
request = json_format.ParseDict(given, ExportTraceServiceRequest(), ignore_unknown_fields=False)
seen = set()
for resource in request.resource_spans:
    for scope in resource.scope_spans:
        for span in scope.spans:
            assert span.name and span.start_time_unix_nano <= span.end_time_unix_nano, span
            assert (span.trace_id, span.span_id) not in seen, span
            seen.add((span.trace_id, span.span_id))
outside = sum(1 for s in spans if "parentSpanId" in s and (base64.b64decode(s["traceId"]), base64.b64decode(s["parentSpanId"])) not in seen)
print(json.dumps({"spans": len(seen), "traces": len({t for t, _ in seen}), "outside": outside}))
