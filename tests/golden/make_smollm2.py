"""tests/golden/make_smollm2.py: write smollm2.json, what `transformers` answers with SmolLM2-135M-Instruct in f32.

    python make_smollm2.py FOLDER

Needs torch (2.13), transformers (5.24), accelerate and gguf, and the folder that cmake/real_models.cmake has filled; minutes. Each chat is a question, the ids
of its prompt, the first 64 tokens of the greedy answer, and the five greatest logits behind the prompt with their tokens and the greatest magnitude of all.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import pathlib
import sys

sys.path.pop(0)  # the folder scipy beside this file is not the package

import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

FILE = "SmolLM2-135M-Instruct.Q4_1.gguf"
QUESTIONS = """What is the capital of France?
Why is the sky blue?
Write a haiku about rain.
How do I boil an egg?
Name three primary colours.
What is 2 + 2?
Who wrote Hamlet?
Explain gravity to a child.
Translate 'good morning' into Spanish.
What is a prime number?
Give me a recipe for pancakes.
What causes tides?
List five animals that live in Africa.
How far is the Moon?
What is photosynthesis?
Tell me a joke.
Why do cats purr?
What is an operating system?
Write one sentence about autumn.
How does a bicycle stay upright?
What is the largest ocean?
Define entropy.
Suggest a name for a dog.
What is the boiling point of water?
How many continents are there?
What is a haiku?
Who was Ada Lovelace?
What does CPU stand for?
Describe a sunset.
What is the speed of light?
Write a C++ function that adds two integers.
What is recursion?
Why is exercise healthy?
How do plants drink water?
What is democracy?
Name a planet with rings.
What is inflation?
How do vaccines work?
What should I read next?
Explain what an array is.
What is the tallest mountain?
Write a limerick about a mouse.
How do I learn to swim?
What is a noun?
When did the First World War end?
What is DNA?
How does a fridge work?
Give three tips for sleeping well.
What is the Pythagorean theorem?
Say hello in Japanese.""".splitlines()

if __name__ == "__main__":
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(sys.argv[1], gguf_file=FILE)
    model = AutoModelForCausalLM.from_pretrained(sys.argv[1], gguf_file=FILE, dtype=torch.float32).eval()
    chats = []
    for question in QUESTIONS:
        ids = tokenizer.apply_chat_template([{"role": "user", "content": question}], add_generation_prompt=True)["input_ids"]
        x = torch.tensor([ids])
        with torch.no_grad():
            logits = model(x).logits[0, -1]
            said = model.generate(x, max_new_tokens=64, do_sample=False, eos_token_id=2, pad_token_id=2)[0][len(ids):].tolist()
        best = logits.topk(5)
        chats.append(dict(question=question, ids=ids, said=[t for t in said if t != 2], top=best.indices.tolist(),
                          logits=[float(f"{v:.8g}") for v in best.values.tolist()], greatest=float(f"{logits.abs().max():.8g}")))
    lines = ",\n".join(json.dumps(c) for c in chats)
    (pathlib.Path(__file__).parent / "smollm2.json").write_text('{"chats": [\n' + lines + "\n]}\n")
