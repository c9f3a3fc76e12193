#!/usr/bin/env python3
"""Runs assay, PyTorch and PEFT on what each other wrote, and fails where they differ by more than rounding.

Needs torch, transformers and peft:

    python3 tools/check_fine_tuning.py build/release/src/assay

Of small models in tests/fixtures/models: ten steps here and ten in PyTorch, the optimizer's state handed over in a
file, and the other way round, against twenty here; adapters that were trained here, opened by PEFT; adapters that PEFT
trained, opened here; a folder of --merge, opened by transformers.
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import peft
import torch
from safetensors.torch import load_file

root = pathlib.Path(__file__).resolve().parent.parent
sys.path[:0] = [str(root / "examples"), str(root / "tools")]
from generate_training_fixtures import loss_of, open_model, tokens_of  # noqa: E402
from torch_optimizer import load_optimizer, save_optimizer  # noqa: E402

MODELS = {"gpt2": "c_attn,c_fc", "llama-untied": "q_proj,v_proj,down_proj", "bert-classifier": "query,value"}
RATE = "2e-3"


class Check:
    def __init__(self, assay, name, work):
        self.assay, self.work = assay, work
        self.folder = root / "tests/fixtures/models" / name
        self.tokens_file = self.folder / "cases/plain.json"
        self.tokens = tokens_of(self.tokens_file)
        self.failures = []

    def run(self, *arguments):
        done = subprocess.run([self.assay, *map(str, arguments)], capture_output=True, text=True, cwd=self.work)
        if done.returncode != 0:
            raise SystemExit(f"{arguments}: {done.stderr}")
        return done.stdout

    def train(self, model, steps, *more):
        out = self.run("train", model, "--tokens", self.tokens_file, "--lr", RATE, "--steps", steps, "--json", *more)
        return json.loads(out)["losses"]

    def logits(self, model, *more):
        self.run("dump", model, "--tokens", self.tokens_file, "--out", "out.safetensors", *more)
        return load_file(self.work / "out.safetensors")["logits"]

    def same(self, what, right, got, allowed):
        right, got = torch.as_tensor(right, dtype=torch.float64), torch.as_tensor(got, dtype=torch.float64)
        difference = ((right - got).abs().max() / right.abs().max()).item()
        print(f"{self.folder.name}: {what}: {difference:.1e} of the largest, {allowed:.0e} are allowed")
        if not difference <= allowed:
            self.failures.append(f"{self.folder.name}: {what}")

    def steps(self, model, run, optimizer, count):
        losses = []
        for _ in range(count):
            optimizer.zero_grad()
            loss = loss_of(model, run(self.tokens), self.tokens)
            losses.append(loss.item())
            loss.backward()
            optimizer.step()
        return losses

    def optimizer_state(self):
        whole = self.train(self.folder, 20, "--out", "twenty")
        self.train(self.folder, 10, "--out", "ten", "--optimizer-to", "ten.safetensors")
        model, run = open_model(self.work / "ten")
        optimizer = torch.optim.AdamW(model.parameters(), lr=float(RATE))
        load_optimizer(model, optimizer, self.work / "ten.safetensors")
        self.same("ten steps here, ten in PyTorch", whole[10:], self.steps(model, run, optimizer, 10), 1e-4)
        model, run = open_model(self.folder)
        optimizer = torch.optim.AdamW(model.parameters(), lr=float(RATE))
        self.steps(model, run, optimizer, 10)
        model.save_pretrained(self.work / "torch")
        save_optimizer(model, optimizer, self.work / "torch.safetensors")
        after = self.train("torch", 10, "--optimizer-from", "torch.safetensors")
        self.same("ten steps in PyTorch, ten here", whole[10:], after, 1e-4)

    def adapters(self, modules):
        self.train(self.folder, 10, "--lora", f"3:7:{modules}", "--out", "lora", "--merge", "merged")
        beside = self.logits(self.folder, "--lora-from", "lora")
        model, run = open_model(self.folder)
        peft.PeftModel.from_pretrained(model, self.work / "lora").eval()
        self.same("adapters trained here, logits of PEFT", run(self.tokens).detach(), beside, 2e-5)
        model, run = open_model(self.work / "merged")
        self.same("added to the model, logits of transformers", run(self.tokens).detach(), beside, 2e-5)
        model, run = open_model(self.folder)
        kind = "SEQ_CLS" if "classifier" in self.folder.name else "CAUSAL_LM"
        options = peft.LoraConfig(r=2, lora_alpha=5, target_modules=modules.split(","), task_type=kind)
        wrapped = peft.get_peft_model(model, options)
        optimizer = torch.optim.AdamW([p for p in wrapped.parameters() if p.requires_grad], lr=float(RATE))
        self.steps(model, run, optimizer, 10)
        wrapped.save_pretrained(self.work / "peft")
        here = self.logits(self.folder, "--lora-from", "peft")
        self.same("adapters trained by PEFT, logits here", run(self.tokens).detach(), here, 2e-5)
        ours = self.train(self.folder, 10, "--lora-from", "peft", "--optimizer-from", self.saved(wrapped, optimizer))
        self.same("PEFT's training goes on here", self.steps(model, run, optimizer, 10), ours, 1e-4)

    def saved(self, wrapped, optimizer):
        save_optimizer(wrapped, optimizer, self.work / "adapters.safetensors")
        return "adapters.safetensors"


def main():
    torch.set_num_threads(1)
    failures = []
    for name, modules in MODELS.items():
        with tempfile.TemporaryDirectory() as work:
            check = Check(str(pathlib.Path(sys.argv[1]).resolve()), name, pathlib.Path(work))
            check.optimizer_state()
            check.adapters(modules)
            failures += check.failures
    sys.exit("\n".join(["differ:"] + failures) if failures else 0)


if __name__ == "__main__":
    main()
