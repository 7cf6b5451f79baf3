# SPDX-License-Identifier: Apache-2.0
"""tinygrad on the stand-in: its own driver bindings by ctypes, in a deep-bound handle."""
import os
import unittest

os.environ["CUDA"] = "1"
os.environ["DEV"] = "CUDA"

from tinygrad import Device, Tensor  # noqa: E402


class TinyGrad(unittest.TestCase):
    def test_round_trip(self):
        self.assertEqual(Device.DEFAULT, "CUDA")
        values = [float(i) for i in range(1000)]
        tensor = Tensor(values, device="CUDA").realize()
        self.assertEqual(tensor.tolist(), values)


if __name__ == "__main__":
    unittest.main()
