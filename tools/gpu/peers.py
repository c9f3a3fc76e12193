"""peers.py inference|training OUT.json: assay and this machine's PyTorch on the same cells, in turns: PyTorch, assay,
assay, PyTorch. Both with random weights; PyTorch eager, compiled, and (inference) in a CUDA graph."""
import json
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

import torch
from transformers import AutoModelForCausalLM, GPT2Config

INFERENCE = [("gpt2", batch, 128, precision) for batch in (1, 32) for precision in ("fp32", "bf16")]
TRAINING = [("gpt2", 4, seq, precision) for seq in (256, 512, 1024) for precision in ("fp32", "mixed-bf16", "bf16")]
DTYPES = {"fp32": torch.float32, "mixed-bf16": torch.float32, "bf16": torch.bfloat16}
ROUNDS = 20


def model_in(precision):
    torch.manual_seed(1)
    config = GPT2Config(resid_pdrop=0, embd_pdrop=0, attn_pdrop=0, use_cache=False)
    return AutoModelForCausalLM.from_config(config, attn_implementation="sdpa").to("cuda", DTYPES[precision])


def autocast(precision):
    return torch.autocast("cuda", torch.bfloat16, enabled=precision.startswith("mixed"))


def forward_of(batch, seq, precision):
    model = model_in(precision).eval()
    ids = torch.randint(0, 50257, (batch, seq), device="cuda")

    def run():
        with torch.inference_mode(), autocast(precision):
            return model(ids).logits
    return model, run


def step_of(batch, seq, precision):
    model = model_in(precision).train()
    ids = torch.randint(0, 50257, (batch, seq), device="cuda")
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


def runs_of(what, cell):
    _, batch, seq, precision = cell
    make = forward_of if what == "inference" else step_of
    yield "eager", make(batch, seq, precision)[1]
    model, run = make(batch, seq, precision)
    model.compile()
    yield "compiled", run
    if what == "inference":
        yield "cuda graph", graphed(make(batch, seq, precision)[1])


def times_ms(run):
    times = []
    for _ in range(ROUNDS + 3):
        torch.cuda.synchronize()
        begin = time.perf_counter()
        run()
        torch.cuda.synchronize()
        times.append((time.perf_counter() - begin) * 1e3)
    return times[3:]


def assay_ms(what, cell):
    model, batch, seq, precision = cell
    command = ["bench", "--quality", "none", "--no-baseline", "--rounds", str(ROUNDS)]
    if what == "training":
        command = ["train", "--benchmark", "--steps", str(ROUNDS)]
    with tempfile.NamedTemporaryFile(suffix=".json") as out:
        done = subprocess.run(["assay", *command, model, "--device", "cuda", "--precision", precision, "--batch",
                               str(batch), "--seq", str(seq), "--json", out.name], capture_output=True, text=True)
        if done.returncode != 0:
            return None, done.stderr.strip()
        return json.load(open(out.name))["records"], ""


def compare(what, cell):
    row = {"cell": cell, "pytorch_ms": {}, "assay": []}
    peers = {}
    for name, run in runs_of(what, cell):
        try:
            peers[name] = (run, times_ms(run))
        except Exception as error:  # a peer's own failure is a row, not the end of the comparison
            row["pytorch_ms"][name] = f"{type(error).__name__}: {str(error).splitlines()[0][:120]}"
    for _ in range(2):
        records, why = assay_ms(what, cell)
        row["assay"].append(records if records is not None else why)
    for name, (run, first) in peers.items():
        row["pytorch_ms"][name] = {"before": first, "after": times_ms(run)}
        both = first + row["pytorch_ms"][name]["after"]
        print(cell, name, f"{statistics.median(both):.3f} ms", flush=True)
    return row


def main():
    what, out = sys.argv[1], pathlib.Path(sys.argv[2])
    torch.backends.cuda.matmul.allow_tf32 = False
    rows = []
    for cell in INFERENCE if what == "inference" else TRAINING:
        rows.append(compare(what, cell))
        out.write_text(json.dumps(rows, indent=1))
        torch.cuda.empty_cache()


main()
