#!/usr/bin/env python3
"""Times generation of assay and its peers on the same work, interleaved round by round, and prints ratios.

    CMAKE_ARGS=-DGGML_NATIVE=ON /tmp/peers/bin/pip install llama-cpp-python diskcache openvino-genai ctranslate2
    /tmp/peers/bin/python tools/peers/generation.py --gguf smollm2.gguf --precision bf16,int4 --cell 512:64:0:1,512:64:2048:1

A cell is prompt:new:depth:batch. All run the same architecture: the file's weights, quantised anew to each peer's type of
the asked class. In a turn every peer reads `depth` ids, then the prompt (timed: prefill), then chooses `new` ids one after
another (timed: each), the first four of them apart. Ratios as in compare.py; both caches of keys and values are f16
(`--with kv=f16`), which is what llama.cpp takes unless told."""
import argparse
import json
import subprocess
import sys
import tempfile
from functools import partial
from pathlib import Path

from rounds import ROOT, Peer, compared, in_rounds, typical_ms

SETTLED_AFTER = 4  # tokens of a turn that are not counted, as in assay
PHASES = ("prefill", "decode")


def assay_turn(options, precision, cell):
    """{"prefill": times in ms, "decode": times in ms} of one process."""
    prompt, new, depth, batch = cell.split(":")
    with tempfile.TemporaryDirectory() as folder:
        out = Path(folder) / "out.json"
        command = [options.assay, "bench", options.gguf, "--generate", "--precision", precision, "--with", "kv=f16",
                   "--prompt-tokens", prompt, "--new", new, "--depth", depth, "--batch", batch, "--no-baseline",
                   "--seconds", str(options.seconds), "--threads", str(options.threads), "--json", str(out)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        records = {record["mode"]: record for record in json.loads(out.read_text())["records"]}
    for record in records.values():
        if record["status"] != "ok":
            raise SystemExit(f"assay, {precision} {cell}: {record['status']}: {record['reason']}")
    return {"prefill": records["prefill"]["raw_ms"], "decode": records["decode"]["raw_token_ms"]}


def peer_turn(peer):
    answer = peer.turn("go")
    return {"prefill": answer["prefill_ms"], "decode": answer["token_ms"][SETTLED_AFTER:]}


def compare(options, precision, cell):
    peers = {name: Peer("generation_worker.py", name, options.gguf, precision, options.threads, *cell.split(":"))
             for name in options.peers.split(",")}
    ready = {name: peer for name, peer in peers.items() if peer.refused is None}
    try:
        turns = {"assay": partial(assay_turn, options, precision, cell),
                 **{name: partial(peer_turn, peer) for name, peer in ready.items()}}
        answers = in_rounds(turns, options.rounds)
    finally:
        for peer in ready.values():
            peer.close()
    by_phase = {phase: {name: [turn[phase] for turn in rounds if turn[phase]] for name, rounds in answers.items()}
                for phase in PHASES}
    return {"cell": cell, "precision": precision, "rounds": options.rounds,
            "ran": {name: peer.ran for name, peer in ready.items()},
            "refused": {name: peer.refused for name, peer in peers.items() if peer.refused is not None},
            "phases": {phase: described(rounds) for phase, rounds in by_phase.items()}}


def described(rounds):
    own = rounds["assay"]
    return {"assay_ms": typical_ms(own),
            "peers": {name: {"ms": typical_ms(times), **compared(times, own)}
                      for name, times in rounds.items() if name != "assay" and times}}


def show(result):
    prompt, new, depth, batch = result["cell"].split(":")
    print(f"{result['precision']}, prompt {prompt}, new {new}, depth {depth}, batch {batch}")
    for phase, found in result["phases"].items():
        print(f"    {phase:<8} assay             {found['assay_ms']:9.2f} ms")
        for name, peer in sorted(found["peers"].items(), key=lambda item: item[1]["ratio"]):
            print(f"    {'':<8} {name:<18}{peer['ms']:9.2f} ms   {peer['ratio']:.2f}x assay's time "
                  f"[{peer['ratio_low']:.2f}, {peer['ratio_high']:.2f}], least {peer['least']:.2f}   "
                  f"({result['ran'][name]})")
    for name, why in result["refused"].items():
        print(f"    {name:<18} left out: {why}")
    sys.stdout.flush()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--assay", default=str(ROOT / "build/release/assay"))
    parser.add_argument("--gguf", required=True, help="the model, a GGUF file; peers quantise it anew")
    parser.add_argument("--cell", default="512:64:0:1,512:64:2048:1,512:64:0:4", help="prompt:new:depth:batch, a list")
    parser.add_argument("--precision", default="fp32,bf16,int8-group,int4")
    parser.add_argument("--peers", default="llama.cpp,openvino-genai,ctranslate2")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=2.0, help="of each of assay's turns")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--json", help="where the results go, rewritten after every cell")
    options = parser.parse_args()
    results = []
    for precision in options.precision.split(","):
        for cell in options.cell.split(","):
            results.append(compare(options, precision, cell))
            show(results[-1])
            if options.json:
                Path(options.json).write_text(json.dumps(results, indent=1))


main()
