#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A small training program on CUDA's driver API, by NVIDIA's cuda-bindings package.

It knows nothing of gputrace. It allocates as a training loop does: parameters, gradients and the
optimizer's state once; activations in each step; a workspace from the stream-ordered pool; a pinned
staging buffer. No kernels are launched, only copies and fills, so that it runs on any device.

And it has a bug that is common in real programs: it keeps the loss of each epoch, on the device, in a
list, "to plot them later".
"""
import argparse

from cuda.bindings import driver as cuda

LAYERS = [("embedding", 48 << 20), ("attention", 24 << 20), ("mlp", 32 << 20), ("head", 12 << 20)]
LOSS_BYTES = 3 << 20


def check(answer):
    result, *values = answer
    if result != cuda.CUresult.CUDA_SUCCESS:
        raise RuntimeError(f"{cuda.cuGetErrorName(result)[1].decode()} ({int(result)})")
    return values[0] if values else None


class Model:
    def __init__(self):
        self.parameters = [check(cuda.cuMemAlloc(size)) for _, size in LAYERS]
        self.gradients = [check(cuda.cuMemAlloc(size)) for _, size in LAYERS]
        for address, (_, size) in zip(self.parameters, LAYERS):
            check(cuda.cuMemsetD8(address, 0, size))

    def forward(self, batch_bytes):
        activations = []
        for _ in LAYERS:
            activations.append(check(cuda.cuMemAlloc(batch_bytes)))
        return activations

    def backward(self, activations, stream):
        workspace = check(cuda.cuMemAllocAsync(8 << 20, stream))
        for address in reversed(activations):
            check(cuda.cuMemFree(address))
        check(cuda.cuMemFreeAsync(workspace, stream))

    def free(self):
        for address in self.parameters + self.gradients:
            check(cuda.cuMemFree(address))


class Adam:
    def __init__(self):
        self.moments = [check(cuda.cuMemAlloc(2 * size)) for _, size in LAYERS]

    def step(self, stream):
        check(cuda.cuStreamSynchronize(stream))

    def free(self):
        for address in self.moments:
            check(cuda.cuMemFree(address))


def train(epochs, steps):
    stream = check(cuda.cuStreamCreate(0))
    staging = check(cuda.cuMemHostAlloc(4 << 20, 0))
    model = Model()
    optimizer = Adam()
    history = []
    for epoch in range(epochs):
        for step in range(steps):
            activations = model.forward(batch_bytes=16 << 20)
            model.backward(activations, stream)
            optimizer.step(stream)
        loss = check(cuda.cuMemAlloc(LOSS_BYTES))
        history.append(loss)  # never freed
        print(f"epoch {epoch + 1}/{epochs}: {steps} steps")
    optimizer.free()
    model.free()
    check(cuda.cuMemFreeHost(staging))
    check(cuda.cuStreamDestroy(stream))


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--steps", type=int, default=200, help="per epoch")
    arguments = parser.parse_args()
    check(cuda.cuInit(0))
    device = check(cuda.cuDeviceGet(0))
    context = check(cuda.cuDevicePrimaryCtxRetain(device))
    check(cuda.cuCtxSetCurrent(context))
    train(arguments.epochs, arguments.steps)


if __name__ == "__main__":
    main()
