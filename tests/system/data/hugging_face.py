"""Reads an exported model as its user would: hugging_face.py tokens FOLDER TEXTS | text FOLDER PROMPT.

tokens: for each of the texts (TEXTS holds a list of strings as JSON) what the library `tokenizers` makes of it by
FOLDER/tokenizer.json, as {"ids": [...], "text": decoded}; a list of them as JSON on stdout. With `transformers` installed
its AutoTokenizer must agree.
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


def text(folder, prompt):
    from transformers import pipeline

    written = pipeline("text-generation", model=folder)(prompt, max_new_tokens=40, do_sample=False)
    print(written[0]["generated_text"])


if __name__ == "__main__":
    {"tokens": tokens, "text": text}[sys.argv[1]](*sys.argv[2:])
