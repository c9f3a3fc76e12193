"""OpenVINO's whole passes: a graph of each batch's shape; int8 by NNCF."""
import os

from openvino_run import compiled, hint_of, operations_of

import numpy as np
import openvino
import torch

from job import Batch, Refused, named
from network import Network, input_arrays, input_tensors, open_model, settled

ANY_SHAPE = [-1, -1]
MOST_OFF = 1e-2  # of the largest logit: by rounding graphs of the same model differ by far less


class OpenvinoPeer:
    def __init__(self, job):
        self.job, self.compiled, self.hint = job, {}, hint_of(job)
        self.network = Network(job, open_model(job)).eval()
        self.quantised = None if job.word("quantised") is None else self.quantised_model()

    def quantised_model(self):
        """By NNCF, of any shape. It is kept: each cell and the scores are processes of their own."""
        kept = self.job.kept / f"quantised-{'-'.join(self.network.names)}-{'last' if self.job.last_only else 'all'}.xml"
        if not kept.exists():
            import nncf
            rows = [input_arrays(self.job, without_padding(row)) for row in self.job.calibration]
            model = self.model_of_any_shape(rows)
            kind = named(nncf.ModelType, self.job.word("quantised"))
            model = nncf.quantize(model, nncf.Dataset(rows), model_type=kind, subset_size=len(rows))
            made = self.job.folder / "quantised.xml"
            openvino.save_model(model, str(made), compress_to_fp16=False)
            os.replace(made.with_suffix(".bin"), kept.with_suffix(".bin"))
            os.replace(made, kept)
        return openvino.Core().read_model(str(kept))

    def model_of_any_shape(self, rows):
        """Refused where tracing has written the example's shape into it."""
        example = input_tensors(self.job, self.job.batches[0])
        model = openvino.convert_model(self.network, example_input=tuple(example), input=[ANY_SHAPE] * len(example))
        with torch.inference_mode():
            exact = self.network(*map(torch.from_numpy, rows[0])).numpy()
        logits = compiled(model, openvino.Type.f32, self.job.threads)(rows[0])[0]
        if logits.shape != exact.shape or np.abs(logits - exact).max() > MOST_OFF * np.abs(exact).max():
            raise Refused("its graph of any shape gives other logits than the model, so that it cannot be calibrated")
        return model

    def model_for(self, batch):
        """Of that batch's shape and no other, which is optimised the most."""
        shape = list(batch.ids.shape)
        if self.quantised is not None:
            model = self.quantised.clone()
            model.reshape({place: shape for place in range(len(model.inputs))})
            return model
        tensors = input_tensors(self.job, batch)
        return openvino.convert_model(self.network, example_input=tuple(tensors), input=[shape] * len(tensors))

    def compiled_for(self, batch):
        shape = batch.ids.shape
        if shape not in self.compiled:
            model = compiled(self.model_for(batch), self.hint, self.job.threads)
            self.compiled[shape] = model, model.create_infer_request()
        return self.compiled[shape]

    def take(self, batch):
        self.batch = batch
        self.model, self.request = self.compiled_for(batch)
        self.feed = [np.ascontiguousarray(array) for array in input_arrays(self.job, batch)]

    def run(self):
        return self.request.infer(self.feed, share_inputs=True, share_outputs=True)[0]

    def logits(self, result):
        return settled(self.job, self.batch, np.asarray(result, np.float32))

    def ran(self):
        return operations_of(self.model)


def without_padding(row):
    """Of one row of ids the real ones."""
    if row.mask is None:
        return row
    return Batch(row.ids[row.mask != 0][None], None, None if row.types is None else row.types[row.mask != 0][None])
