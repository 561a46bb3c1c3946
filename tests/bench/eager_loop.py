"""The yardstick in Python: the usual eager PyTorch training loop, one thread, float32, random tokens.

    python eager_loop.py small|large [STEPS]      prints the median and the quartiles of a step's time in ms

Same sizes, microbatches (4 per step), clipping and AdamW as bench_single's loop in C++ (eager_loop.cpp). The model is
that of tests/gpu/pytorch_loop.py, too.
"""

import statistics
import sys
import time

import torch
import torch.nn.functional as F
from torch import nn

SIZES = {"small": (4, 4, 128, 64, 12), "large": (6, 6, 384, 256, 8)}
MICROBATCHES, VOCABULARY = 4, 256


class Block(nn.Module):
    def __init__(self, heads, width):
        super().__init__()
        self.heads = heads
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.c_attn, self.attn_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.c_fc, self.mlp_proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        batch, time_, width = x.shape
        parts = self.c_attn(self.ln_1(x)).split(width, dim=2)
        q, k, v = (t.view(batch, time_, self.heads, width // self.heads).transpose(1, 2) for t in parts)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.attn_proj(y.transpose(1, 2).contiguous().view(batch, time_, width))
        return x + self.mlp_proj(F.gelu(self.c_fc(self.ln_2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, heads, width, context):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(VOCABULARY, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(heads, width) for _ in range(layers))
        self.ln_f, self.lm_head = nn.LayerNorm(width), nn.Linear(width, VOCABULARY, bias=False)

    def forward(self, tokens):
        x = self.wte(tokens) + self.wpe(torch.arange(tokens.shape[1], device=tokens.device))
        for block in self.blocks:
            x = block(x)
        return self.lm_head(self.ln_f(x))


def main():
    layers, heads, width, context, rows = SIZES[sys.argv[1]]
    steps = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    torch.set_num_threads(1)
    model = Gpt(layers, heads, width, context)
    decaying = [p for p in model.parameters() if p.dim() == 2]
    others = [p for p in model.parameters() if p.dim() != 2]
    groups = [{"params": decaying, "weight_decay": 0.1}, {"params": others, "weight_decay": 0.0}]
    optimizer = torch.optim.AdamW(groups, lr=1e-4, betas=(0.9, 0.95))
    wall, cpu = [], []
    for _ in range(steps + 2):
        start, busy = time.perf_counter(), time.thread_time()
        optimizer.zero_grad()
        for _ in range(MICROBATCHES):
            tokens = torch.randint(VOCABULARY, (rows, context + 1))
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.reshape(-1, VOCABULARY), tokens[:, 1:].reshape(-1)) / MICROBATCHES
            loss.backward()
            loss.item()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        wall.append(1e3 * (time.perf_counter() - start))
        cpu.append(1e3 * (time.thread_time() - busy))
    for name, times in (("wall", wall[2:]), ("cpu", cpu[2:])):
        low, middle, high = statistics.quantiles(times, n=4)
        print(f"{sys.argv[1]} eager PyTorch {torch.__version__}, {name}: median {middle:.2f} ms [{low:.2f}, {high:.2f}]")


if __name__ == "__main__":
    main()
