"""peers.py inference|training OUT.json: assay and this machine's PyTorch on the same cells, in turns: PyTorch, assay,
assay, PyTorch. Both with random weights; PyTorch eager, compiled, and (inference) in a CUDA graph.

GPU_CHECK_DEVICE: another device in the GPU's place, with one small cell."""
import functools
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from transformers import AutoModelForCausalLM, GPT2Config

DEVICE = os.environ.get("GPU_CHECK_DEVICE", "cuda")
INFERENCE = [("gpt2", batch, 128, precision) for batch in (1, 32) for precision in ("fp32", "bf16")]
TRAINING = [("gpt2", 4, seq, precision) for seq in (256, 512, 1024) for precision in ("fp32", "mixed-bf16", "bf16")]
DTYPES = {"fp32": torch.float32, "mixed-bf16": torch.float32, "bf16": torch.bfloat16}
ROUNDS = 20 if DEVICE == "cuda" else 1
SMALL = [("gpt2", 1, 8, "fp32")]


def model_in(precision):
    torch.manual_seed(1)
    config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False)
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").to(DEVICE, DTYPES[precision])


def autocast(precision):
    return torch.autocast(DEVICE, torch.bfloat16, enabled=precision.startswith("mixed"))


def forward_of(batch, seq, precision):
    model = model_in(precision).eval()
    ids = torch.randint(0, 50257, (batch, seq), device=DEVICE)

    def run():
        with torch.inference_mode(), autocast(precision):
            return model(ids).logits
    return model, run


def step_of(batch, seq, precision):
    model = model_in(precision).train()
    ids = torch.randint(0, 50257, (batch, seq), device=DEVICE)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, fused=True)

    def run():
        with autocast(precision):
            loss = model(ids, labels=ids).loss
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad(set_to_none=True)
    return model, run


def graphed(run):
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        for _ in range(3):
            run()
    torch.cuda.synchronize()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        run()
    return graph.replay


def compiled(make):
    model, run = make()
    model.compile()
    return run


def runs_of(what, cell):
    """name -> what makes the run; making it may fail as running it may."""
    _, batch, seq, precision = cell
    make = functools.partial(forward_of if what == "inference" else step_of, batch, seq, precision)
    runs = {"eager": lambda: make()[1], "compiled": lambda: compiled(make)}
    if what == "inference" and DEVICE == "cuda":
        runs["cuda graph"] = lambda: graphed(make()[1])
    return runs


def wait():
    if DEVICE == "cuda":
        torch.cuda.synchronize()


def times_ms(run):
    times = []
    for _ in range(ROUNDS + 3):
        wait()
        begin = time.perf_counter()
        run()
        wait()
        times.append((time.perf_counter() - begin) * 1e3)
    return times[3:]


def words_of(error):
    lines = str(error).splitlines() or [""]
    return f"{type(error).__name__}: {lines[0][:120]}"


def assay_ms(what, cell):
    model, batch, seq, precision = cell
    command = ["bench", "--quality", "none", "--no-baseline", "--store", "none", "--rounds", str(ROUNDS)]
    if what == "training":
        command = ["train", "--benchmark", "--store", "none", "--steps", str(ROUNDS)]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run(["assay", *command, model, "--device", DEVICE, "--precision", precision, "--batch",
                               str(batch), "--seq", str(seq), "--json", out.name], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip()
        return json.load(open(out.name))["records"], ""


def compare(what, cell):
    row = {"cell": cell, "pytorch_ms": {}, "assay": []}
    peers = {}
    for name, make in runs_of(what, cell).items():
        try:
            run = make()
            peers[name] = (run, times_ms(run))
        except Exception as error:  # A peer's own failure is a row, not the end of the comparison.
            row["pytorch_ms"][name] = words_of(error)
    for _ in range(2):
        records, why = assay_ms(what, cell)
        row["assay"].append(records if records is not None else why)
    for name, (run, first) in peers.items():
        try:
            after = times_ms(run)
        except Exception as error:
            row["pytorch_ms"][name] = {"before": first, "after": words_of(error)}
            continue
        row["pytorch_ms"][name] = {"before": first, "after": after}
        print(cell, name, f"{statistics.median(first + after):.3f} ms", flush=True)
    return row


def main():
    what, out = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.backends.cuda.matmul.allow_tf32 = False
    cells = INFERENCE if what == "inference" else TRAINING
    rows = []
    for cell in cells if DEVICE == "cuda" else SMALL:
        rows.append(compare(what, cell))
        out.write_text(json.dumps(rows, indent=1))
        if DEVICE == "cuda":
            torch.cuda.empty_cache()
    sys.exit(0 if all(isinstance(records, list) for row in rows for records in row["assay"]) else 1)


main()
