"""A peer in a process of its own: answers each line of its input, a question as JSON, with a line of JSON.

    {"do": "prepare", "job": file}           {"ran": [operations]}, the first batch taken and run; of
                                             generation also "ran_in_decode"
    {"do": "take", "batch": 3}               {"taken": 3}
    {"do": "run"}                            {"seconds": 0.0123, "value": 0.5}: one pass, and its first logit
    {"do": "check"}                          {"finite": true}, of the last pass where ids are real
    {"do": "logits", "batch": 3, "out": f}   {"shape": [8, 128, 50257]}: the logits of that batch, written as f32
    {"do": "prefill"}                        {"seconds": 0.2, "value": 17}: the prompt read, and the id that follows
    {"do": "decode"}                         {"seconds": 0.9, "token_ms": [..], "value": 5}: the new tokens
    {"do": "step"}                           {"seconds": 0.3, "phases_s": [0.1, 0.17, 0.03], "value": 6.2}: a step of a
                                             training: forward, backward and update, and its loss

Where it cannot, the answer is {"refused": sentence}. A module of the peers has open_peer(job): an object with
ran() -> [Operation], take(batch), run() -> anything, and logits(what run gave) -> f32 array. One that generates has
open_generation(job): ran() and ran_in_decode() (of the prompt, of a new token), prefill() -> (seconds, id),
decode() -> ([ms a token], id), is_finite() of the last logits. One that trains has open_training(job): ran(), and
step() -> ([seconds of the three], loss)."""
import dataclasses
import importlib
import json
import os
import sys
import time

ADVICE = "'assay peers --remove' and --install make it anew"
try:
    import numpy as np
    from job import Job, Refused
except ImportError as missing:  # As where the system's Python is another one by now.
    sys.exit(f"its environment is damaged: {missing}; {ADVICE}")


class Worker:
    def __init__(self, module):
        self.module = module

    def prepare(self, question):
        self.job = Job(question["job"])
        ran = self.opened(question)
        self.job.check_all_were_asked_for()
        return ran

    def opened(self, question):
        module = importlib.import_module(self.module)
        if self.job.generation is not None:
            self.peer = module.open_generation(self.job)
            self.prefill(question)
            self.decode(question)
            return {"ran": as_json(self.peer.ran()), "ran_in_decode": as_json(self.peer.ran_in_decode())}
        if self.job.training is not None:
            self.peer = module.open_training(self.job)
            return {"ran": as_json(self.peer.ran())}
        self.peer = module.open_peer(self.job)
        self.seen = set()
        self.take({"batch": 0})
        return {"ran": as_json(self.peer.ran())}

    def prefill(self, question):
        seconds, chosen = self.peer.prefill()
        return {"seconds": seconds, "value": chosen}

    def decode(self, question):
        begin = time.perf_counter()
        token_ms, chosen = self.peer.decode()
        return {"seconds": time.perf_counter() - begin, "token_ms": token_ms, "value": chosen}

    def step(self, question):
        begin = time.perf_counter()
        phases, loss = self.peer.step()
        return {"seconds": time.perf_counter() - begin, "phases_s": phases, "value": loss if np.isfinite(loss) else None}

    def take(self, question):
        self.batch = self.job.batches[question["batch"]]
        self.peer.take(self.batch)
        if self.batch.ids.shape not in self.seen:
            self.seen.add(self.batch.ids.shape)
            self.result = self.peer.run()
        return {"taken": question["batch"]}

    def run(self, question):
        begin = time.perf_counter()
        self.result = self.peer.run()
        return {"seconds": time.perf_counter() - begin, "value": first_value(self.values())}

    def values(self):
        return np.asarray(self.peer.logits(self.result), np.float32)

    def check(self, question):
        if self.job.generation is not None:
            return {"finite": self.peer.is_finite()}
        values = self.values()
        if self.batch.mask is not None and values.shape[:2] == self.batch.mask.shape:
            values = values[self.batch.mask != 0]
        return {"finite": bool(np.isfinite(values).all())}

    def logits(self, question):
        self.take(question)
        self.result = self.peer.run()
        values = np.ascontiguousarray(self.values())
        values.tofile(question["out"])
        return {"shape": list(values.shape)}


def as_json(operations):
    return [dataclasses.asdict(one) for one in operations]


def first_value(values):
    value = float(values.flat[0])
    return value if np.isfinite(value) else None


def answer_to(worker, question):
    try:
        return getattr(worker, question["do"])(question)
    except Refused as reason:
        return {"refused": str(reason)}
    except ImportError as missing:
        return {"refused": f"has a damaged environment: {missing}; {ADVICE}"}
    except Exception as error:  # a peer's own failure is a row, not the end of the comparison
        first_line = next((line for line in str(error).splitlines() if line.strip()), "")
        return {"refused": f"failed: {type(error).__name__}: {first_line[:160]}"}


def main():
    out = os.fdopen(os.dup(1), "w")  # Answers go to the pipe; whatever a peer prints goes to stderr.
    os.dup2(2, 1)
    worker = Worker(sys.argv[1])
    for line in sys.stdin:
        print(json.dumps(answer_to(worker, json.loads(line))), file=out, flush=True)


main()
