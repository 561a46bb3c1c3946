"""Logits of transformers' LlamaForCausalLM and Qwen3ForCausalLM for the weights that `shoal init` wrote.

    shoal init CONFIG --out init.safetensors
    python transformers_logits.py --recipe llama_logits.json --init init.safetensors --record llama_logits.json

The recipe (JSON) has the keys of a Shoal configuration that matter here. Recorded are the logits of every fifth position
and every seventeenth token, for two sequences of tokens that a formula gives.
"""

import argparse
import json

import torch
import transformers
from safetensors.torch import load_file


def config_of(model):
    rope = {"rope_type": "default", "rope_theta": float(model["rope_theta"])}
    if model.get("rope_scaling", "none") == "llama3":
        rope |= {
            "rope_type": "llama3",
            "factor": float(model["rope_factor"]),
            "low_freq_factor": float(model["rope_low_freq_factor"]),
            "high_freq_factor": float(model["rope_high_freq_factor"]),
            "original_max_position_embeddings": model["rope_original_context"],
        }
    kind = transformers.Qwen3Config if model.get("qk_norm") else transformers.LlamaConfig
    return kind(
        num_hidden_layers=model["layers"],
        num_attention_heads=model["heads"],
        num_key_value_heads=model["kv_heads"],
        head_dim=model.get("head_size", model["width"] // model["heads"]),
        hidden_size=model["width"],
        intermediate_size=model["hidden"],
        max_position_embeddings=model["context"],
        vocab_size=256,
        rms_norm_eps=model["norm_eps"],
        rope_parameters=rope,
        tie_word_embeddings=False,
    )


@torch.no_grad()
def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--recipe", "--init"):
        parser.add_argument(name, required=True)
    parser.add_argument("--record", help="write recipe and logits as JSON")
    arguments = parser.parse_args()
    with open(arguments.recipe) as file:
        recipe = json.load(file)
    config = config_of(recipe["model"])
    kind = transformers.Qwen3ForCausalLM if recipe["model"].get("qk_norm") else transformers.LlamaForCausalLM
    model = kind(config).float().eval()
    model.load_state_dict(load_file(arguments.init), strict=True)
    time = recipe["model"]["context"]
    tokens = torch.tensor([[(31 * b + 7 * t * t + 3) % 256 for t in range(time)] for b in range(2)])
    logits = model(tokens).logits[:, ::5, ::17].reshape(-1).tolist()
    print(f"{len(logits)} logits, the largest {max(map(abs, logits)):.4f}")
    if arguments.record:
        recipe["recorded"] = {"transformers": transformers.__version__, "logits": logits}
        with open(arguments.record, "w") as file:
            json.dump(recipe, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
