"""The same run in plain PyTorch: an independent program that shares no code with Shoal.

It takes the weights that `shoal init` wrote, the order that `shoal data order` printed and the text, trains with
torch.optim.AdamW, and prints one loss per step. Shoal must give the same losses within 2e-4 over 50 steps.

    shoal init CONFIG --out init.safetensors
    shoal data order CONFIG --steps 50 > order.txt
    python gpt_reference.py --recipe recipe.json --init init.safetensors --order order.txt --text text.txt

On a GPU (--device) and in bf16 (--precision, under PyTorch's autocast) it is what tests/gpu/run trains beside Shoal.
The recipe (JSON) has the keys of a Shoal configuration that matter here, under the same names. --text synthetic:N is
the text of N bytes that tests/reference/synthetic_text.h makes: the recording in this folder needs no file.
"""

import argparse
import json
import math
import struct

import torch
import torch.nn.functional as F


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = {}
    for name, entry in header.items():
        begin, end = entry["data_offsets"]
        values = torch.frombuffer(bytearray(data[begin:end]), dtype=torch.float32)
        tensors[name] = values.reshape(entry["shape"]).clone().requires_grad_(True)
    return tensors


WORDS = "the a fish school swims by its neighbours and losing one changes nothing of what all know".split()


def synthetic_text(byte_count):
    state, text = 1, bytearray()
    while len(text) < byte_count:
        state = (state * 6364136223846793005 + 1442695040888963407) % 2**64
        text += WORDS[(state >> 33) % len(WORDS)].encode() + (b".\n" if (state >> 60) == 0 else b" ")
    return bytes(text[:byte_count])


def read_text(name):
    if name.startswith("synthetic:"):
        return synthetic_text(int(name.split(":")[1]))
    with open(name, "rb") as file:
        return file.read()


def forward_gpt2(w, tokens, model):
    """Logits [B,T,V] of tokens int64 [B,T]."""
    layers, heads = model["layers"], model["heads"]
    batch, time = tokens.shape
    x = F.embedding(tokens, w["wte.weight"]) + w["wpe.weight"][:time]
    width = x.shape[-1]
    for n in range(layers):
        p = f"h.{n}."
        h = F.layer_norm(x, (width,), w[p + "ln_1.weight"], w[p + "ln_1.bias"], 1e-5)
        qkv = h @ w[p + "attn.c_attn.weight"] + w[p + "attn.c_attn.bias"]
        q, k, v = (t.view(batch, time, heads, width // heads).transpose(1, 2) for t in qkv.split(width, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(batch, time, width)
        x = x + y @ w[p + "attn.c_proj.weight"] + w[p + "attn.c_proj.bias"]
        h = F.layer_norm(x, (width,), w[p + "ln_2.weight"], w[p + "ln_2.bias"], 1e-5)
        h = F.gelu(h @ w[p + "mlp.c_fc.weight"] + w[p + "mlp.c_fc.bias"], approximate="tanh")
        x = x + h @ w[p + "mlp.c_proj.weight"] + w[p + "mlp.c_proj.bias"]
    x = F.layer_norm(x, (width,), w["ln_f.weight"], w["ln_f.bias"], 1e-5)
    return x @ w["lm_head.weight"].T


def rms_norm(x, weight, eps):
    return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight


def rotate(x, theta):
    """x [B,H,T,D]: pairs (i, i + D/2) turn by position / theta^(2i/D)."""
    time, size = x.shape[-2:]
    frequencies = 1.0 / theta ** (torch.arange(0, size, 2).float() / size)
    angles = torch.outer(torch.arange(time).float(), frequencies)
    cosine, sine = angles.cos(), angles.sin()
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cosine - b * sine, b * cosine + a * sine), dim=-1)


def forward_llama(w, tokens, model):
    """Logits [B,T,V] of tokens int64 [B,T]."""
    heads, kv_heads, eps = model["heads"], model["kv_heads"], model["norm_eps"]
    size = model["width"] // heads
    batch, time = tokens.shape
    hidden = torch.full((time, time), float("-inf")).triu(1)
    x = F.embedding(tokens, w["model.embed_tokens.weight"])
    for n in range(model["layers"]):
        p = f"model.layers.{n}."
        h = rms_norm(x, w[p + "input_layernorm.weight"], eps)
        q, k, v = (
            F.linear(h, w[p + f"self_attn.{name}_proj.weight"]).view(batch, time, -1, size) for name in ("q", "k", "v")
        )
        if model["qk_norm"]:
            q = rms_norm(q, w[p + "self_attn.q_norm.weight"], eps)
            k = rms_norm(k, w[p + "self_attn.k_norm.weight"], eps)
        q, k = (rotate(t.transpose(1, 2), model["rope_theta"]) for t in (q, k))
        k, v = (t.repeat_interleave(heads // kv_heads, dim=1) for t in (k, v.transpose(1, 2)))
        y = (q @ k.transpose(2, 3) / math.sqrt(size) + hidden).softmax(-1) @ v
        x = x + F.linear(y.transpose(1, 2).reshape(batch, time, -1), w[p + "self_attn.o_proj.weight"])
        h = rms_norm(x, w[p + "post_attention_layernorm.weight"], eps)
        gate = F.silu(F.linear(h, w[p + "mlp.gate_proj.weight"]))
        x = x + F.linear(gate * F.linear(h, w[p + "mlp.up_proj.weight"]), w[p + "mlp.down_proj.weight"])
    return F.linear(rms_norm(x, w["model.norm.weight"], eps), w["lm_head.weight"])


def forward(w, tokens, model):
    return (forward_llama if model.get("kind") == "llama" else forward_gpt2)(w, tokens, model)


def learning_rate(optim, t):
    if t < optim["warmup_steps"]:
        return optim["lr"] * (t + 1) / optim["warmup_steps"]
    if t >= optim["decay_steps"]:
        return optim["min_lr"]
    progress = (t - optim["warmup_steps"]) / (optim["decay_steps"] - optim["warmup_steps"])
    return optim["min_lr"] + (optim["lr"] - optim["min_lr"]) * (1 + math.cos(math.pi * progress)) / 2


def train(recipe, weights, order, text, precision="fp32"):
    """Yields (loss, gradient norm before clipping) per step."""
    autocast = torch.autocast(text.device.type, torch.bfloat16, enabled=precision == "bf16")
    model, optim = recipe["model"], recipe["optim"]
    decaying = [p for p in weights.values() if p.dim() == 2]
    others = [p for p in weights.values() if p.dim() != 2]
    groups = [{"params": decaying, "weight_decay": optim["weight_decay"]}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=optim["lr"], betas=tuple(optim["betas"]), eps=optim["eps"])
    context = model["context"]
    for step, microbatches in order.items():
        optimizer.zero_grad()
        loss_sum, token_count = 0.0, 0
        for offsets in microbatches:
            windows = torch.stack([text[o : o + context + 1] for o in offsets]).long()
            with autocast:
                logits = forward(weights, windows[:, :-1], model)
            logits = logits.float().reshape(-1, logits.shape[-1])
            loss = F.cross_entropy(logits, windows[:, 1:].reshape(-1), reduction="sum")
            loss.backward()
            loss_sum += loss.item()
            token_count += windows[:, 1:].numel()
        for p in weights.values():
            p.grad /= token_count
        norm = torch.nn.utils.clip_grad_norm_(weights.values(), optim["clip_norm"])
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(optim, step)
        optimizer.step()
        yield loss_sum / token_count, norm.item()


@torch.no_grad()
def evaluate(recipe, weights, text):
    """Nats per token over the validation windows at kC, the last partial one kept, each target once."""
    model, context = recipe["model"], recipe["model"]["context"]
    validation = text[len(text) - int(len(text) * recipe["data"]["validation_fraction"]) :].long()
    loss_sum, count = 0.0, len(validation) - 1
    for begin in range(0, count, context):
        window = validation[begin : begin + context + 1]
        logits = forward(weights, window[None, :-1], model)
        loss_sum += F.cross_entropy(logits[0], window[1:], reduction="sum").item()
    return loss_sum / count


def read_order(path):
    order = {}
    with open(path) as file:
        for line in file:
            step, _, *offsets = map(int, line.split())
            order.setdefault(step, []).append(offsets)
    return order


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("--recipe", "--init", "--order", "--text"):
        parser.add_argument(name, required=True)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--record", help="write recipe and losses as JSON")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--precision", choices=("fp32", "bf16"), default="fp32")
    parser.add_argument("--no-validation", action="store_true")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    with open(arguments.recipe) as file:
        recipe = json.load(file)
    text = torch.frombuffer(bytearray(read_text(arguments.text)), dtype=torch.uint8).to(arguments.device)
    losses, norms = [], []
    weights = read_safetensors(arguments.init)
    weights = {name: values.detach().to(arguments.device).requires_grad_(True) for name, values in weights.items()}
    steps = train(recipe, weights, read_order(arguments.order), text, arguments.precision)
    for step, (loss, norm) in enumerate(steps):
        losses.append(loss)
        norms.append(norm)
        print(f"{step} {loss:.7f} {norm:.6f}", flush=True)
    if arguments.no_validation:
        return
    validation_loss = evaluate(recipe, weights, text)
    print(f"validation {validation_loss:.6f} nats per token, {validation_loss / math.log(2):.6f} bits per byte")
    if arguments.record:
        recorded = {"torch": torch.__version__, "losses": losses, "grad_norms": norms}
        recipe["recorded"] = recorded | {"validation_loss": validation_loss}
        with open(arguments.record, "w") as file:
            json.dump(recipe, file, indent=1)
            file.write("\n")


if __name__ == "__main__":
    main()
