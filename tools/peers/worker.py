"""One peer in a process of its own: prepares one cell, says on one line what ran or why not, then times one round for
every line of stdin (its seconds) and answers with the times in ms. compare.py stops the process between rounds."""
import json
import os
import sys
import time

import torch

from backends import PEERS
from models import ids_for
from refused import Refused


def answer(line):
    print(json.dumps(line), file=OUT, flush=True)


def prepare(peer, name, ids, precision):
    try:
        with torch.inference_mode():
            run, ran = PEERS[peer](name, ids, precision)
            for _ in range(3):
                run()
        answer({"ran": ran})
        return run
    except Refused as reason:
        answer({"refused": str(reason)})
    except Exception as error:  # a peer's own failure is a row, not the end of the comparison
        first_line = next(iter(str(error).splitlines()), "")[:140]
        answer({"refused": f"{type(error).__name__}: {first_line}"})
    return None


def times_ms(run, seconds):
    times = []
    with torch.inference_mode():
        run()
        end = time.perf_counter() + seconds
        while time.perf_counter() < end or len(times) < 2:
            begin = time.perf_counter()
            run()
            times.append((time.perf_counter() - begin) * 1e3)
    return times


def main():
    peer, name, batch, seq, precision, threads = sys.argv[1:]
    torch.set_num_threads(int(threads))
    run = prepare(peer, name, ids_for(name, int(batch), int(seq)), precision)
    while run is not None and (line := sys.stdin.readline()):
        answer(times_ms(run, float(line)))


# Answers go to the pipe; whatever a peer prints goes to stderr.
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
main()
