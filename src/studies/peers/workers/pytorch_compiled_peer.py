"""PyTorch with torch.compile: inductor's own C++ code; for passes its weights frozen and packed where it can."""
import shutil

import torch

from job import Refused
from pytorch_peer import EagerPeer, TrainingPeer


def compiled(callable_one):
    if shutil.which("g++") is None and shutil.which("c++") is None:
        raise Refused("torch.compile wants a C++ compiler, and there is none")
    return torch.compile(callable_one)


class CompiledPeer(EagerPeer):
    def made_ready(self, network):
        import torch._inductor.config as inductor
        inductor.freezing = True
        return compiled(network)


def open_training(job):
    return TrainingPeer(job, compiled)


def open_peer(job):
    return CompiledPeer(job)
