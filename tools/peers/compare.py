#!/usr/bin/env python3
"""Times assay and its peers on the same work, interleaved round by round, and prints ratios.

    python3 -m venv /tmp/peers && /tmp/peers/bin/pip install torch transformers onnx onnxscript onnxruntime openvino nncf
    /tmp/peers/bin/python tools/peers/compare.py --workload distilbert-base:1:128 --precision fp32,bf16 --rounds 7

A round is: assay once (its own process, a few windows), then each peer for about as long, in random order. A ratio is
peer time / assay time within one round; what is printed is the median over the rounds with its range."""
import argparse
import json
import random
import statistics
import subprocess
import tempfile
import time
from pathlib import Path

import torch

from backends import PEERS, Refused
from models import build, ids_for

ROOT = Path(__file__).resolve().parents[2]
ASSAY_PRECISION = {"int8-static": "int8", "int8-dynamic": "int8"}


def assay_ms(binary, model, batch, seq, precision, seconds):
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        logits = ["--logits", "last"] if model == "smollm2-135m" else []
        command = [binary, "bench", model, "--precision", precision, "--batch", str(batch), "--seq", str(seq),
                   "--quality", "none", "--seconds", str(seconds), "--width", "0.001", "--no-baseline", "--json",
                   str(out), *logits]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        records = json.loads(out.read_text())["records"]
        record = next(r for r in records if r["precision"] == precision)
        if record["status"] != "ok":
            raise Refused(f"assay: {record['status']}: {record['reason']}")
        return record["median_ms"]


def peer_ms(run, seconds):
    times = []
    with torch.inference_mode():
        run()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 3:
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) * 1e3)
    return statistics.median(times)


def prepare(module, ids, precision, names):
    ready, refused = {}, {}
    for name in names:
        try:
            with torch.inference_mode():
                run, ran = PEERS[name](module, ids, precision)
                for _ in range(3):
                    run()
            ready[name] = (run, ran)
        except Refused as e:
            refused[name] = str(e)
        except Exception as e:  # a peer's own failure is a row, not the end of the comparison
            refused[name] = f"{type(e).__name__}: {str(e).splitlines()[0][:100] if str(e) else ''}"
    return ready, refused


def compare(options, workload, precision):
    model, batch, seq = workload.split(":")[0], int(workload.split(":")[1]), int(workload.split(":")[2])
    module = build(model)
    ids = ids_for(module, batch, seq)
    ready, refused = prepare(module, ids, precision, options.peers.split(","))
    ours = ASSAY_PRECISION.get(precision, precision)
    times = {name: [] for name in ["assay", *ready]}
    for _ in range(options.rounds):
        order = list(times)
        random.shuffle(order)
        for name in order:
            if name == "assay":
                times[name].append(assay_ms(options.assay, model, batch, seq, ours, options.seconds))
            else:
                times[name].append(peer_ms(ready[name][0], options.seconds))
    result = {"model": model, "batch": batch, "seq": seq, "precision": precision, "refused": refused,
              "assay_ms": statistics.median(times["assay"]), "peers": {}}
    for name, (_, ran) in ready.items():
        ratios = [p / a for p, a in zip(times[name], times["assay"])]
        result["peers"][name] = {"ms": statistics.median(times[name]), "ratio": statistics.median(ratios),
                                 "ratio_low": min(ratios), "ratio_high": max(ratios), "ran": ran}
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    parser.add_argument("--workload", action="append", required=True, help="model:batch:seq, several times")
    parser.add_argument("--precision", default="fp32,bf16,fp16,int8-static,int8-dynamic")
    parser.add_argument("--peers", default="pytorch,pytorch-compiled,onnxruntime,openvino")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json")
    options = parser.parse_args()
    torch.set_num_threads(options.threads)
    results = []
    for workload in options.workload:
        for precision in options.precision.split(","):
            result = compare(options, workload, precision)
            results.append(result)
            print(f"{workload} {precision}: assay {result['assay_ms']:.1f} ms")
            for name, peer in sorted(result["peers"].items(), key=lambda item: item[1]["ratio"]):
                print(f"    {name:<18}{peer['ms']:9.1f} ms   {peer['ratio']:.2f}x assay's time "
                      f"[{peer['ratio_low']:.2f}, {peer['ratio_high']:.2f}]   ({peer['ran']})")
            for name, why in result["refused"].items():
                print(f"    {name:<18}left out: {why}", flush=True)
    if options.json:
        Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
