"""A small torch program for profile_overhead.py: some thirty kernels of many kinds."""

from __future__ import annotations

import torch
from torch import nn

torch.manual_seed(0)
device = torch.device("cuda")
width, heads, tokens = 512, 8, 1024
block = nn.TransformerEncoderLayer(width, heads, 4 * width, dropout=0.0, batch_first=True).to(
    device
)
convolution = nn.Sequential(
    nn.Conv2d(64, 64, 3, padding=1, groups=64), nn.GroupNorm(8, 64), nn.ReLU(), nn.Conv2d(64, 64, 1)
).to(device)
hidden = torch.randn(4, tokens, width, device=device)
image = torch.randn(8, 64, 128, 128, device=device)
loss = block(hidden).square().mean() + convolution(image).square().mean()
torch.cuda.synchronize()
print(f"loss {loss.item():.6f}")
