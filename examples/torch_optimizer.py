"""The optimizer's state in PyTorch, as `assay train --optimizer-to F` writes and `--optimizer-from F` reads it.

    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    load_optimizer(model, optimizer, "state.safetensors")      # of a model that assay trained
    save_optimizer(model, optimizer, "state.safetensors")      # of one for assay to go on with
"""
import torch
from safetensors.torch import load_file, save_file


def names_of(model):
    """Parameters by their names in the file; PEFT's own words for which adapter it is are not in them."""
    short = lambda name: name.replace(".default", "").replace(".modules_to_save", "")  # noqa: E731
    return {short(name): parameter for name, parameter in model.named_parameters() if parameter.requires_grad}


def load_optimizer(model, optimizer, file):
    stored = load_file(file)
    for name, parameter in names_of(model).items():
        entries = {key[len(name) + 1:]: value for key, value in stored.items() if key.rpartition(".")[0] == name}
        if not entries:
            raise KeyError(f"{file}: no state of {name}")
        optimizer.state[parameter] = {
            key: value.clone() if key == "step" else value.to(parameter.device, parameter.dtype).clone()
            for key, value in entries.items()
        }


def save_optimizer(model, optimizer, file):
    state = {name: optimizer.state[parameter] for name, parameter in names_of(model).items()}
    save_file({f"{name}.{key}": torch.as_tensor(value).detach().cpu().contiguous().clone()
               for name, entries in state.items() for key, value in entries.items()}, file)
