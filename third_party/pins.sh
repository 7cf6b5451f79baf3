# SPDX-License-Identifier: Apache-2.0
# Versions of what is fetched at build time and not installed by apt. Sourced by the scripts.
# shellcheck shell=bash disable=SC2034

# The newest CUDA headers the driver table is made from: a wheel on PyPI that carries cuda.h. Its
# licence forbids redistribution, so that it is fetched and never committed.
CUDA_HEADERS_PACKAGE=nvidia-cuda-runtime
CUDA_HEADERS_VERSION=13.5.37

# Older headers that the table is checked against, as PACKAGE==VERSION.
CUDA_HEADERS_CHECKED=(
  nvidia-cuda-runtime-cu11==11.8.89
  nvidia-cuda-runtime-cu12==12.1.105
  nvidia-cuda-runtime-cu12==12.4.127
  nvidia-cuda-runtime-cu12==12.6.77
  nvidia-cuda-runtime-cu12==12.8.90
  nvidia-cuda-runtime-cu12==12.9.79
  nvidia-cuda-runtime==13.0.96
)

# Debian source packages that are built position independent with hidden symbols, for libgputrace.so.
LIBUNWIND_SOURCE=libunwind=1.6.2-3
ZSTD_SOURCE=libzstd=1.5.4+dfsg2-5
