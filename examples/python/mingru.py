# SPDX-License-Identifier: Apache-2.0
"""A minGRU layer (docs/recurrence.md) in PyTorch, trained to hold a value: h[t] = (1 - z[t])*h[t-1] + z[t]*v[t] with
the gate z = sig(a). One kernel computes the layer, and gradients come by kernels as well. Needs PyTorch:

    python examples/python/mingru.py [--compile]

Each step of a sequence has a number and a mark, which is 1 or 0. The answer is the last number that was marked."""
import sys

import torch

import tally.torch

LAYER = "linrec:axis=1,map=sig(a)*x,coef=1-sig(a)"


class MinGRU(torch.nn.Module):
    def __init__(self, inputs, width):
        super().__init__()
        self.value = torch.nn.Linear(inputs, width)
        self.gate = torch.nn.Linear(inputs, width)

    def forward(self, x):  # [batch, time, inputs] to [batch, time, width]
        return tally.torch.run(LAYER, self.value(x), a=self.gate(x))


def sequences(count, length, generator):
    """Inputs [count, length, 2] and answers [count, length, 1]."""
    number = torch.rand(count, length, generator=generator)
    mark = (torch.rand(count, length, generator=generator) < 0.1).float()
    mark[:, 0] = 1
    place = torch.cummax(torch.arange(length) * mark.long(), 1)[0]
    return torch.stack([number, mark], 2), number.gather(1, place)[..., None]


def main():
    torch.manual_seed(1)
    generator = torch.Generator().manual_seed(2)
    model = torch.nn.Sequential(MinGRU(2, 32), torch.nn.Linear(32, 1))
    f = torch.compile(model, fullgraph=True) if "--compile" in sys.argv else model
    optimizer = torch.optim.Adam(model.parameters(), lr=0.03)
    for step in range(201):
        x, wanted = sequences(32, 64, generator)
        loss = torch.nn.functional.mse_loss(f(x), wanted)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if step % 40 == 0:
            print(f"step {step:3d}: mean squared error {loss.item():.4f}")


if __name__ == "__main__":
    main()
