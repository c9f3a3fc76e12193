"""PyTorch with torch.compile: inductor's own C++ code, its weights frozen and packed where it can."""
import shutil

import torch

from job import Refused
from pytorch_peer import EagerPeer


class CompiledPeer(EagerPeer):
    def made_ready(self, network):
        if self.job.precision == "int8":
            raise Refused("cannot be asked for int8")
        if shutil.which("g++") is None and shutil.which("c++") is None:
            raise Refused("torch.compile wants a C++ compiler, and there is none")
        import torch._inductor.config as inductor
        inductor.freezing = True
        return torch.compile(network)


def open_peer(job):
    return CompiledPeer(job)
