// SPDX-License-Identifier: Apache-2.0
// Operands that cannot be written as a plain expression over a call's parameters. Each tolerates
// NULL, returns 0 where nothing can be said, and never changes what the program sees.
#ifndef GPUTRACE_INTERPOSE_HOOKS_COLLECTORS_H_
#define GPUTRACE_INTERPOSE_HOOKS_COLLECTORS_H_

#include <cuda.h>

#include <cstddef>
#include <cstdint>

namespace gputrace::interpose {

// Bytes of a module image, from its own header: ELF (end of the section header table, ELF-64
// specification), a fat binary (magic and sizes in the public header fatbinary.h), or PTX (a
// string).
uint64_t ImageBytes(const void* image);
// Bytes of a file.
uint64_t FileBytes(const char* path);

// Bytes that an array takes on the device: as the driver says, else by the descriptor. 0 for arrays
// without memory of their own (sparse, deferred).
uint64_t ArrayBytes(CUarray array);
uint64_t Array3DBytes(CUarray array, const CUDA_ARRAY3D_DESCRIPTOR& descriptor);
uint64_t MipmapBytes(CUmipmappedArray array, const CUDA_ARRAY3D_DESCRIPTOR& descriptor);

// Bytes of the allocation that an address lies in, as the driver says: of memory that another
// process has allocated no call tells them.
uint64_t AllocationBytes(CUdeviceptr address);

// For handles that are larger than an operand: the same bytes give the same nonzero value.
uint64_t HashBytes(const void* data, size_t size);

// Attribute values are 32 or 64 bits wide, by attribute (documentation of CUmemPool_attribute).
uint64_t PoolAttributeValue(CUmemPool_attribute attribute, const void* value);

// The handle that an export wrote, or an import is given, as a number: file descriptors as such,
// larger handles hashed.
uint64_t ShareableHandle(CUmemAllocationHandleType type, const void* handle);
uint64_t ImportedHandle(CUmemAllocationHandleType type, const void* handle);

uint64_t ReadU64(const void* value);
uint64_t ReadInt(const void* value);

// Of a graph node that allocates or frees memory.
uint64_t NodeBytes(const CUgraphNodeParams& node);
uint64_t NodeAddress(const CUgraphNodeParams& node);

}  // namespace gputrace::interpose

#endif  // GPUTRACE_INTERPOSE_HOOKS_COLLECTORS_H_
