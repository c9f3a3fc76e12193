"""One peer of generation in a process of its own: prepares one cell, says on one line what runs or why not, then takes one
turn for every line of stdin and answers {"prefill_ms": [], "token_ms": []}. rounds.py stops the process between turns."""
import json
import os
import sys

from generation_peers import PEERS
from refused import Refused


def answer(line):
    print(json.dumps(line), file=OUT, flush=True)


def prepare(peer, *cell):
    try:
        turn, ran = PEERS[peer](*cell)
        turn()
        answer({"ran": ran})
        return turn
    except Refused as reason:
        answer({"refused": str(reason)})
    except Exception as error:  # a peer's own failure is a row, not the end of the comparison
        first_line = next(iter(str(error).splitlines()), "")[:140]
        answer({"refused": f"{type(error).__name__}: {first_line}"})
    return None


def main():
    peer, gguf, precision, *sizes = sys.argv[1:]
    turn = prepare(peer, gguf, precision, *map(int, sizes))
    while turn is not None and sys.stdin.readline():
        prefill_ms, token_ms = turn()
        answer({"prefill_ms": prefill_ms, "token_ms": token_ms})


# Answers go to the pipe; whatever a peer prints goes to stderr.
OUT = os.fdopen(os.dup(1), "w")
os.dup2(2, 1)
main()
