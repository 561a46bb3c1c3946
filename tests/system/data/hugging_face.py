"""Reads an exported model as its user would: hugging_face.py tokens FOLDER TEXTS | text FOLDER PROMPT. And makes a
tokenizer as published ones were made: hugging_face.py make FOLDER KIND TEXT.

tokens: for each of the texts (TEXTS holds a list of strings as JSON) what the library `tokenizers` makes of it by
FOLDER/tokenizer.json, as {"ids": [...], "text": decoded}; a list of them as JSON on stdout. With `transformers` installed
its AutoTokenizer must agree.
make: trains an encoding on the file TEXT, with the steps before it that KIND has (llama3, qwen2, smollm), and writes
FOLDER/tokenizer.json.
text: what transformers' pipeline("text-generation") writes after PROMPT; needs torch, too. Offline.
"""

import json
import os
import sys

os.environ["HF_HUB_OFFLINE"] = "1"


def tokens(folder, path):
    from tokenizers import Tokenizer

    with open(path, encoding="utf-8") as file:
        texts = json.load(file)
    tokenizer = Tokenizer.from_file(os.path.join(folder, "tokenizer.json"))
    read = [tokenizer.encode(text).ids for text in texts]
    try:
        from transformers import AutoTokenizer
    except ImportError:
        AutoTokenizer = None
    if AutoTokenizer is not None:
        automatic = AutoTokenizer.from_pretrained(folder)
        assert [automatic(text)["input_ids"] for text in texts] == read, "AutoTokenizer gives other tokens"
        assert [automatic.decode(ids) for ids in read] == texts, "AutoTokenizer gives back other texts"
    json.dump([{"ids": ids, "text": tokenizer.decode(ids)} for ids in read], sys.stdout)


def make(folder, kind, path):
    from tokenizers import Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, trainers

    digits = {"llama3": r"\p{N}{1,3}", "qwen2": r"\p{N}"}.get(kind)
    if digits:
        words = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|" + digits
        marks = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        first = pre_tokenizers.Split(Regex(words + marks), "isolated")
    else:
        first = pre_tokenizers.Digits(individual_digits=True)
    tokenizer = Tokenizer(models.BPE())
    tokenizer.normalizer = normalizers.NFC() if kind == "qwen2" else None
    last = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=not digits)
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([first, last])
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=1500,
        show_progress=False,
        special_tokens=["<|endoftext|>", "<|im_start|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
    )
    tokenizer.train([path], trainer)
    tokenizer.save(os.path.join(folder, "tokenizer.json"))


def text(folder, prompt):
    from transformers import pipeline

    written = pipeline("text-generation", model=folder)(prompt, max_new_tokens=40, do_sample=False)
    print(written[0]["generated_text"])


if __name__ == "__main__":
    {"tokens": tokens, "text": text, "make": make}[sys.argv[1]](*sys.argv[2:])
