"""parity.py MODELS OUT.json: logits of every staged model on the GPU, against the host's reference loops and PyTorch.
Encoders without a head are compared by their last hidden states.

Differences are relative to the largest magnitude; a row is sound where it is within the precision's tolerance
(docs/precisions.md). GPU_CHECK_DEVICE: another device in the GPU's place."""
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import tensors

os.environ["HF_HUB_OFFLINE"] = "1"  # Models lie in folders; a look into the network would only wait.
DEVICE = os.environ.get("GPU_CHECK_DEVICE", "cuda")
TOLERANCES = {"fp32": 1e-4, "tf32": 5e-3, "bf16": 5e-2, "fp16": 1e-2, "mixed-bf16": 5e-2, "int8": 3e-1,
              "int8-weights": 2e-1, "fp8": 5.5e-1}


def config_of(model):
    folder = model if model.is_dir() else model.with_suffix("")  # A .gguf file lies beside the folder it was made from.
    config = json.loads((folder / "config.json").read_text())
    return config.get("text_config", {}) | config  # Of a model of images its text part runs.


def architecture_of(model):
    return config_of(model).get("architectures", [""])[0]


def ids_of(model):
    """Two rows that fit the model's vocabulary and context."""
    config = config_of(model)
    context = config.get("max_position_embeddings") or config.get("n_positions") or config["context_length"]
    if "roberta" in config["model_type"]:
        context -= config["pad_token_id"] + 1  # Positions count from there on.
    length = min(32, context)
    return [[(7 * i + 13 * row + 5) % config["vocab_size"] for i in range(length)] for row in range(2)]


def models_in(folder):
    return [path for path in sorted(folder.iterdir()) if path.suffix == ".gguf" or (path / "config.json").exists()]


def dump(model, device, precision, folder):
    tokens = folder / "tokens.json"
    tokens.write_text(json.dumps({"input_ids": ids_of(model)}))
    out = folder / f"{device}-{precision}.safetensors"
    has_head = "LMHead" in architecture_of(model) or not architecture_of(model).endswith("Model")
    what = "logits" if has_head else "hidden"
    done = subprocess.run(["assay", "dump", str(model), "--tokens", str(tokens), "--precision", precision,
                           "--device", device, "--what", what, "--out", str(out)], capture_output=True, text=True)
    if done.returncode != 0:
        return None, done.stderr.strip()
    dumped = tensors.read(out)
    layers = [int(name.removeprefix("hidden.")) for name in dumped if name.startswith("hidden.")]
    return dumped[f"hidden.{max(layers)}" if layers else "logits"][1], ""


def torch_logits(model):
    import torch
    import transformers
    net = getattr(transformers, architecture_of(model)).from_pretrained(model).float().to(DEVICE).eval()
    torch.backends.cuda.matmul.allow_tf32 = False
    with torch.inference_mode():
        result = net(torch.tensor(ids_of(model), device=DEVICE))
    answer = result.logits if hasattr(result, "logits") else result.last_hidden_state
    return answer.float().cpu().flatten().tolist()


def difference(found, right):
    if len(found) != len(right):
        raise ValueError(f"{len(found)} values and {len(right)}")
    return max(abs(a - b) for a, b in zip(found, right)) / max(abs(value) for value in right)


def peer_of(model):
    try:
        return torch_logits(model), ""
    except Exception as error:  # A model that transformers does not take is compared with the reference alone.
        return None, f"{type(error).__name__}: {error}"


def row_of(model, precision, right, peer, folder):
    row = {"model": model.name, "precision": precision, "tolerance": TOLERANCES[precision]}
    found, failed = dump(model, DEVICE, precision, folder)
    if found is None:
        return {**row, "failed": failed}
    row["from_reference"] = difference(found, right)
    row["from_pytorch"] = None if peer is None else difference(found, peer)
    row["sound"] = max(row["from_reference"], row["from_pytorch"] or 0) <= row["tolerance"]
    return row


def rows_of(model, folder):
    right, why = dump(model, "reference", "fp32", folder)
    if right is None:
        return [{"model": model.name, "failed": why}]
    peer, why = peer_of(model)
    precisions = [name for name in TOLERANCES if name != "tf32" or DEVICE == "cuda"]
    if any("experts" in key for key in config_of(model)):  # Rounding may send a token to another expert.
        precisions = ["fp32"]
    rows = [row_of(model, precision, right, peer, folder) for precision in precisions]
    return rows + ([{"model": model.name, "pytorch": why}] if why else [])


def main():
    models, out = map(pathlib.Path, sys.argv[1:])
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for model in models_in(models) for row in rows_of(model, pathlib.Path(folder))]
    out.write_text(json.dumps(rows, indent=2))
    for row in rows:
        print(row)
    told = lambda row: "pytorch" in row or "on no CUDA device yet" in row.get("failed", "")
    sys.exit(0 if rows and all(row.get("sound", told(row)) for row in rows) else 1)


main()
