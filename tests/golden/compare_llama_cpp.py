"""tests/golden/compare_llama_cpp.py: how far llama.cpp is from SmolLM2 in f32, on the 50 chats of smollm2.json.

    python compare_llama_cpp.py FOLDER

Needs torch (2.13), transformers (5.24), accelerate, gguf and llama-cpp-python (LLAMA_CPP_LIB_PATH may name a build of its library), and the folder
that cmake/real_models.cmake has filled. smollm2.json has the tokens that `transformers` says, which tests/models/real.cpp compares with ours (logits within
5e-5 of the greatest), so its logits stand for ours here. The mean of KL(f32 | llama.cpp) over all tokens of the answers must be at most 0.01.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import json
import pathlib
import sys

sys.path.pop(0)  # the folder scipy beside this file is not the package

import llama_cpp as c
import numpy as np
import torch
from transformers import AutoModelForCausalLM

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
FOLDER = pathlib.Path(__file__).parent


@c.llama_log_callback
def quiet(level, text, data):
    pass


class Llama:
    def __init__(self, path):
        c.llama_log_set(quiet, ctypes.c_void_p(0))
        c.llama_backend_init()
        self.model = c.llama_model_load_from_file(str(path).encode(), c.llama_model_default_params())
        options = c.llama_context_default_params()
        options.n_ctx = options.n_batch = options.n_ubatch = 512
        self.context = c.llama_init_from_model(self.model, options)
        self.size = c.llama_vocab_n_tokens(c.llama_model_get_vocab(self.model))

    def logits(self, ids):
        """Of each token, [len(ids), vocabulary]."""
        c.llama_memory_clear(c.llama_get_memory(self.context), True)
        batch = c.llama_batch_init(len(ids), 0, 1)
        batch.n_tokens = len(ids)
        for i, token in enumerate(ids):
            batch.token[i], batch.pos[i], batch.n_seq_id[i], batch.seq_id[i][0], batch.logits[i] = token, i, 1, 0, True
        assert c.llama_decode(self.context, batch) == 0
        rows = np.ctypeslib.as_array(c.llama_get_logits(self.context), (len(ids), self.size)).copy()
        c.llama_batch_free(batch)
        return torch.from_numpy(rows)


if __name__ == "__main__":
    torch.set_num_threads(1)
    path = pathlib.Path(sys.argv[1]) / FILE
    peer = Llama(path)
    model = AutoModelForCausalLM.from_pretrained(path.parent, gguf_file=FILE, dtype=torch.float32).eval()
    apart, same, chats = [], 0, json.loads((FOLDER / "smollm2.json").read_text())["chats"]
    for chat in chats:
        ids, first = chat["ids"] + chat["said"], len(chat["ids"]) - 1
        with torch.no_grad():
            ours = torch.log_softmax(model(torch.tensor([ids]), use_cache=False).logits[0, first:].double(), -1)
        theirs = torch.log_softmax(peer.logits(ids)[first:].double(), -1)
        apart += (ours.exp() * (ours - theirs)).sum(-1).tolist()
        said = theirs[:-1].argmax(-1).tolist()
        same += said == chat["said"]
    mean = float(np.mean(apart))
    print(f"{len(chats)} chats, {len(apart)} tokens: KL {mean:.3g} on average, at most {max(apart):.3g}; llama.cpp would say {same} of the answers")
    sys.exit(not mean <= 0.01)
