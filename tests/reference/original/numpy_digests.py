#!/usr/bin/env python3
"""Prints the digests that tests/unit/text/numpy_math_test.cpp holds: numpy's float32 exp and log over many arguments.

    .venv-original/bin/python tests/reference/original/numpy_digests.py
"""
import hashlib

import numpy as np


def main():
    bits = np.arange(0xB8800000, 0xC2AE0000, 61, dtype=np.uint32)  # -2^-14 to -87 in steps of 61 floats
    z = bits.view(np.float32)
    print("exp", len(z), hashlib.sha256(np.exp(z).astype("<f4").tobytes()).hexdigest())
    bits = np.arange(0x2B8CBCCC, 0x3F800001, 61, dtype=np.uint32)  # 1e-12 to 1
    p = bits.view(np.float32)
    print("log", len(p), hashlib.sha256(np.log(p).astype("<f4").tobytes()).hexdigest())
    print("numpy", np.__version__)


if __name__ == "__main__":
    main()
