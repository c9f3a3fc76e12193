"""Compacts documents of `assay bench --json` and `assay train --benchmark --json` into the honest runs that the tests
of the rules replay.

    python3 tools/record_honest_runs.py OUT.json IN.json...

Kept is what rules read: every field that is not null, samples in four digits and at most 40 of them, the ledger by
groups of equal rows (with their share of the FLOPs). Ledgers, and what all records of a document share, are stored
once. Names of machines become "recorded".
"""

import json
import sys

DROPPED = {"warm_up_ms", "trust", "trust_reasons", "inputs", "gflops", "peak_share", "bytes_per_s", "tokens_per_s",
           "prepare_ms", "page_faults", "peak_kind", "peak_bytes", "arena_bytes", "packed_bytes", "p99_ms", "build"}
DEFAULTS = {"device": "cpu", "fusion": "on", "casts": "once", "logits": "all", "mode": "inference", "recompute": "none",
            "seed": 1, "status": "ok"}
MOST_SAMPLES = 40


def rounded(value):
    return float(f"{value:.4g}") if isinstance(value, float) else value


def grouped(ledger):
    groups = {}
    total = sum(row["flops"] for row in ledger) or 1.0
    for row in ledger:
        key = (row["operation"], row["operand"], row["accumulator"], row["verdict"])
        if key in groups:
            groups[key]["flops"] += row["flops"]
        else:
            groups[key] = {**row, "path": "", "role": "other", "evidence": "", "kernel": row["kernel"][:24]}
    return [{**row, "flops": round(row["flops"] / total, 2)} for row in groups.values()]


def compact(record, ledgers):
    out = {}
    for name, value in record.items():
        if name in DROPPED or value is None or value == [] or DEFAULTS.get(name) == value:
            continue
        out[name] = rounded(value)
    if "machine" in out:
        out["machine"] = "recorded"
    samples = record["raw_ms"]
    step = max(1, -(-len(samples) // MOST_SAMPLES))
    out["raw_ms"] = [rounded(value) for value in samples[::step]]
    if "weights" in out:
        out["weights"] = out["weights"][:15]
    if "model" in out:
        out["model"] = out["model"].rsplit("/", 1)[-1]
    if "quality_data" in out:
        out["quality_data"] = out["quality_data"].rsplit("/", 1)[-1]
    text = json.dumps(grouped(record["ledger"]), sort_keys=True)
    out["ledger"] = ledgers.setdefault(text, len(ledgers))
    return out


def factored(records):
    common = {name: value for name, value in records[0].items() if all(other.get(name) == value for other in records)}
    own = [{name: value for name, value in record.items() if name not in common} for record in records]
    return {"common": common, "records": own}


def main(out, files):
    ledgers = {}
    documents = []
    for file in files:
        with open(file, encoding="utf-8") as stream:
            records = json.load(stream)["records"]
        documents.append(factored([compact(record, ledgers) for record in records if record["status"] == "ok"]))
    result = {"ledgers": [json.loads(text) for text in ledgers], "runs": documents}
    with open(out, "w", encoding="utf-8") as stream:
        json.dump(result, stream, separators=(",", ":"))
        stream.write("\n")
    print(sum(len(document["records"]) for document in documents), "records in", len(documents), "documents")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2:])
