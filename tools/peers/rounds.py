"""Peers as resident processes, each stopped (SIGSTOP) while it is not its turn, and ratios taken within a round."""
import json
import os
import random
import signal
import statistics
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]


class Peer:
    """A worker process, stopped but in its turns. Its first line says what ran or why not."""

    def __init__(self, worker, *arguments):
        command = [sys.executable, str(HERE / worker), *map(str, arguments)]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
                                        stderr=subprocess.DEVNULL)
        line = self.process.stdout.readline()
        first = json.loads(line) if line else {"refused": f"ended with exit code {self.process.wait()}"}
        self.ran, self.refused = first.get("ran"), first.get("refused")
        if self.refused is None:
            os.kill(self.process.pid, signal.SIGSTOP)
        else:
            self.close()

    def turn(self, asked):
        """What the worker answers to a line."""
        os.kill(self.process.pid, signal.SIGCONT)
        self.process.stdin.write(f"{asked}\n")
        self.process.stdin.flush()
        answer = json.loads(self.process.stdout.readline())
        os.kill(self.process.pid, signal.SIGSTOP)
        return answer

    def close(self):
        if self.process.poll() is None:
            self.process.kill()
        self.process.wait()


def in_rounds(turns, rounds):
    """{who: a list of what its turn gave}, everyone once a round, in random order."""
    answers = {name: [] for name in turns}
    for _ in range(rounds):
        for name in random.sample(list(turns), len(turns)):
            answers[name].append(turns[name]())
    return answers


def compared(over, under):
    """Ratios of two lists of rounds, each a list of times: of their medians round by round, and of the least times."""
    ratios = [statistics.median(a) / statistics.median(b) for a, b in zip(over, under)]
    return {"ratio": statistics.median(ratios), "ratio_low": min(ratios), "ratio_high": max(ratios),
            "least": min(map(min, over)) / min(map(min, under))}


def typical_ms(rounds):
    return statistics.median(statistics.median(times) for times in rounds)
