"""parity.py MODELS OUT.json: logits of every staged model on the GPU, against the host's reference loops and PyTorch.

Differences are relative to the largest magnitude of the logits; a row is sound where it is within the precision's
tolerance (docs/precisions.md)."""
import json
import pathlib
import subprocess
import sys
import tempfile

import numpy
from safetensors.numpy import load_file

TOLERANCES = {"fp32": 1e-4, "tf32": 5e-3, "bf16": 5e-2, "fp16": 1e-2, "mixed-bf16": 5e-2, "int8": 3e-1}
IDS = [[101] + [(7 * i + 13) % 900 + 100 for i in range(30)] + [102] for _ in range(2)]


def dump(model, device, precision, folder):
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps({"input_ids": IDS}))
    out = folder / f"{device}-{precision}.safetensors"
    done = subprocess.run(["assay", "dump", str(model), "--tokens", str(tokens), "--precision", precision, "--device",
                           device, "--out", str(out)], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    return load_file(out)["logits"], ""


def torch_logits(model):
    import torch
    from transformers import AutoModelForSequenceClassification
    torch.backends.cuda.matmul.allow_tf32 = False
    net = AutoModelForSequenceClassification.from_pretrained(model).cuda().eval()
    with torch.inference_mode():
        return net(torch.tensor(IDS, device="cuda")).logits.float().cpu().numpy()


def difference(found, right):
    return float(numpy.abs(found - right).max() / numpy.abs(right).max())


def rows_of(model, folder):
    right, why = dump(model, "reference", "fp32", folder)
    if right is None:
        return [{"model": model.name, "failed": why}]
    try:
        peer = torch_logits(model)
    except Exception as error:  # a model that transformers does not take is compared with the reference alone
        peer, why = None, f"{type(error).__name__}: {error}"
    rows = []
    for precision, tolerance in TOLERANCES.items():
        found, failed = dump(model, "cuda", precision, folder)
        row = {"model": model.name, "precision": precision, "tolerance": tolerance}
        if found is None:
            row["failed"] = failed
        else:
            row["from_reference"] = difference(found, right)
            row["from_pytorch"] = None if peer is None else difference(found, peer)
            row["sound"] = row["from_reference"] <= tolerance
        rows.append(row)
    if why:
        rows.append({"model": model.name, "pytorch": why})
    return rows


def main():
    models, out = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for model in sorted(models.iterdir()) for row in rows_of(model, pathlib.Path(folder))]
    out.write_text(json.dumps(rows, indent=2))
    for row in rows:
        print(row)
    sys.exit(0 if rows and all(row.get("sound", "pytorch" in row) for row in rows) else 1)


main()
