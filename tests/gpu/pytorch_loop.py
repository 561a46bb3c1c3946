"""The yardstick on the same card: a GPT-2 in PyTorch, float32, the usual training loop, random bytes.

    python pytorch_loop.py eager|compile DEVICE LAYERS HEADS WIDTH CONTEXT ROWS MICROBATCHES     prints tokens per second

Attention is PyTorch's fused one, products are IEEE float32 (no TF32), AdamW is its fused one, the norm is clipped.
"""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

VOCABULARY, STEPS, WARM_UP = 256, 12, 4


class Block(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, tokens, width = x.shape
        parts = self.c_attn(self.ln_1(x)).split(width, dim=2)
        q, k, v = (t.view(batch, tokens, self.heads, width // self.heads).transpose(1, 2) for t in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_proj(y.transpose(1, 2).contiguous().view(batch, tokens, width))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, context):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(heads, width) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens, targets):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.lm_head(self.ln_f(x)).view(-1, VOCABULARY), targets.reshape(-1))


def finish(device):
    if device != "cpu":
        torch.cuda.synchronize()


def main():
    how, device = sys.argv[1:3]
    layers, heads, width, context, rows, microbatches = map(int, sys.argv[3:9])
    torch.manual_seed(1)
    model = Gpt(layers, heads, width, context).to(device)
    compute = torch.compile(model) if how == "compile" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    times = []
    for _ in range(WARM_UP + STEPS):
        finish(device)
        start = time.perf_counter()
        for _ in range(microbatches):
            tokens = torch.randint(VOCABULARY, (rows, context + 1)).to(device)
            (compute(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous()) / microbatches).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        finish(device)
        times.append(time.perf_counter() - start)
    print(round(rows * context * microbatches / statistics.median(times[WARM_UP:])))


if __name__ == "__main__":
    main()
