#!/usr/bin/env python3
"""Times assay and its peers on the same work, interleaved round by round, and prints ratios.

    python3 -m venv /tmp/peers
    /tmp/peers/bin/pip install torch transformers onnx onnxscript onnxruntime openvino nncf ctranslate2 llama-cpp-python
    /tmp/peers/bin/python tools/peers/compare.py --workload distilbert-base:1:128 --precision fp32,bf16 --rounds 7

Every peer is a resident process that is stopped (SIGSTOP) while it is not its turn, so that its threads cannot spin on
another's cores. A round is a turn for assay's fp32, one for its asked precision and one for each peer, in random order,
assay's two one after the other. In a turn nothing else runs, so that nobody's weights are driven from the caches by
another's. A ratio is taken within a round: peer time / assay time, and assay's fp32 time / its own time;
what is printed is the median over the rounds with its range. `least` is the ratio of the shortest times of all rounds:
what is left of it where others disturb the medians."""
import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from rounds import ROOT, Peer, compared, in_rounds, typical_ms

ASSAY_PRECISION = {"int8-static": "int8", "int8-dynamic": "int8"}
ALL_PEERS = "pytorch,pytorch-compiled,onnxruntime,openvino,ctranslate2,llama.cpp"
WORKLOADS = ("distilbert-base:1:128", "distilbert-base:8:128", "distilbert-base:32:128", "gpt2:1:128", "gpt2:8:128",
             "gpt2:1:1024", "minilm-l6:1:128", "smollm2-135m:1:512")


def assay_turn_ms(options, workload, precision):
    """Times in ms of one process of assay."""
    model, batch, seq = workload.split(":")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        logits = ["--logits", "last"] if model == "smollm2-135m" else []
        command = [options.assay, "bench", model, "--precision", precision, "--batch", batch, "--seq", seq,
                   "--quality", "none", "--seconds", str(options.seconds), "--width", "0.001", "--no-baseline",
                   "--threads", str(options.threads), "--json", str(out), *logits]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        [record] = json.loads(out.read_text())["records"]
    if record["status"] != "ok":
        raise SystemExit(f"assay, {workload} {precision}: {record['status']}: {record['reason']}")
    return record["raw_ms"]


def assay_round_ms(options, workload, precision):
    """{precision: times in ms} of fp32 and the precision, each alone."""
    return {name: assay_turn_ms(options, workload, name) for name in dict.fromkeys(["fp32", precision])}


def compare(options, workload, precision):
    peers = {name: Peer("worker.py", name, *workload.split(":"), precision, options.threads)
             for name in options.peers.split(",")}
    ready = {name: peer for name, peer in peers.items() if peer.refused is None}
    ours = ASSAY_PRECISION.get(precision, precision)
    try:
        times = in_rounds({"assay": partial(assay_round_ms, options, workload, ours),
                           **{name: partial(peer.turn, options.seconds) for name, peer in ready.items()}}, options.rounds)
    finally:
        for peer in ready.values():
            peer.close()
    own, own_fp32 = ([turn[name] for turn in times["assay"]] for name in (ours, "fp32"))
    result = {"workload": workload, "precision": precision, "rounds": options.rounds, "assay_ms": typical_ms(own),
              "over_fp32": compared(own_fp32, own), "peers": {},
              "refused": {name: peer.refused for name, peer in peers.items() if peer.refused is not None}}
    for name, peer in ready.items():
        result["peers"][name] = {"ms": typical_ms(times[name]), "ran": peer.ran, **compared(times[name], own)}
    return result


def show(result):
    over = result["over_fp32"]
    print(f"{result['workload']} {result['precision']}: assay {result['assay_ms']:.1f} ms, "
          f"{over['ratio']:.2f}x its fp32 [{over['ratio_low']:.2f}, {over['ratio_high']:.2f}]")
    for name, peer in sorted(result["peers"].items(), key=lambda item: item[1]["ratio"]):
        print(f"    {name:<18}{peer['ms']:9.1f} ms   {peer['ratio']:.2f}x assay's time "
              f"[{peer['ratio_low']:.2f}, {peer['ratio_high']:.2f}], least {peer['least']:.2f}   ({peer['ran']})")
    for name, why in result["refused"].items():
        print(f"    {name:<18}left out: {why}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    parser.add_argument("--workload", action="append", help="model:batch:seq, several times; default: all eight")
    parser.add_argument("--precision", default="fp32,bf16,fp16,int8-static,int8-dynamic")
    parser.add_argument("--peers", default=ALL_PEERS)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=1.0, help="of each turn")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="where the results go, rewritten after every cell")
    options = parser.parse_args()
    results = []
    for workload in options.workload or WORKLOADS:
        for precision in options.precision.split(","):
            results.append(compare(options, workload, precision))
            show(results[-1])
            if options.json:
                Path(options.json).write_text(json.dumps(results, indent=1) + "\n")


if __name__ == "__main__":
    main()
