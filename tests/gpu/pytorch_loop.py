"""The yardstick on the same card: a GPT-2 in PyTorch, the usual training loop, random bytes.

    python pytorch_loop.py eager|compile DEVICE LAYERS HEADS WIDTH CONTEXT ROWS MICROBATCHES fp32|bf16 VOCABULARY

It prints tokens per second. Attention is cuDNN's in bf16, and else PyTorch's fused one; products are IEEE float32 (no
TF32), or with bf16 those of its autocast; AdamW is its fused one, the norm is clipped. The vocabulary is padded to a
multiple of 64.
"""

import statistics
import sys
import time
from pathlib import Path

import torch
import torch.nn.functional as F
from torch import nn

sys.path.append(str(Path(__file__).resolve().parent.parent / "bench"))  # in a pack it lies beside this file
import eager_loop
from torch.nn.attention import SDPBackend, sdpa_kernel

STEPS, WARM_UP = 9, 3


class Loss(nn.Module):
    """Model and loss as one, so that both are compiled."""

    def __init__(self, model):
        super().__init__()
        self.model = model

    def forward(self, tokens, targets):
        return F.cross_entropy(self.model(tokens).view(-1, eager_loop.VOCABULARY), targets.reshape(-1))


def finish(device):
    if device != "cpu":
        torch.cuda.synchronize()


def main():
    how, device = sys.argv[1:3]
    layers, heads, width, context, rows, microbatches = map(int, sys.argv[3:9])
    autocast = torch.autocast(device.split(":")[0], torch.bfloat16, enabled=sys.argv[9] == "bf16")
    vocabulary = int(sys.argv[10])
    eager_loop.VOCABULARY = (vocabulary + 63) // 64 * 64
    fused = [SDPBackend.CUDNN_ATTENTION, SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]
    torch.manual_seed(1)
    model = Loss(eager_loop.Gpt(layers, heads, width, context)).to(device)
    compute = torch.compile(model) if how == "compile" else model
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    times = []
    for _ in range(WARM_UP + STEPS):
        finish(device)
        start = time.perf_counter()
        for _ in range(microbatches):
            tokens = torch.randint(vocabulary, (rows, context + 1)).to(device)
            with autocast, sdpa_kernel(fused, set_priority=True):
                loss = compute(tokens[:, :-1].contiguous(), tokens[:, 1:].contiguous())
            (loss / microbatches).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
        finish(device)
        times.append(time.perf_counter() - start)
    print(round(rows * context * microbatches / statistics.median(times[WARM_UP:])))


if __name__ == "__main__":
    main()
