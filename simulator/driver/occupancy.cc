// SPDX-License-Identifier: Apache-2.0
// Occupancy of kernels that use few registers and only the shared memory they are told.
#include <algorithm>

#include "bodies.h"

namespace gputrace::sim {
namespace {

constexpr int kThreadsPerProcessor = 2048;
constexpr int kBlocksPerProcessor = 32;
constexpr size_t kSharedPerProcessor = 233472;
constexpr size_t kReservedPerBlock = 1024;
constexpr int kProcessors = 132;
constexpr int kMaxBlock = 1024;

CUresult ActiveBlocks(int* blocks, int block_size, size_t shared) {
  if (blocks == nullptr || block_size <= 0) return CUDA_ERROR_INVALID_VALUE;
  const auto by_shared = static_cast<int>(kSharedPerProcessor / (shared + kReservedPerBlock));
  *blocks = std::min({kThreadsPerProcessor / block_size, kBlocksPerProcessor, by_shared});
  return CUDA_SUCCESS;
}

CUresult PotentialBlock(int* grid, int* block, CUoccupancyB2DSize shared_of_block, size_t shared,
                        int limit) {
  if (grid == nullptr || block == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *block = limit > 0 ? std::min(limit, kMaxBlock) : kMaxBlock;
  int blocks = 0;
  ActiveBlocks(&blocks, *block, shared_of_block != nullptr ? shared_of_block(*block) : shared);
  *grid = std::max(blocks, 1) * kProcessors;
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuOccupancyMaxActiveBlocksPerMultiprocessor(int* numBlocks, CUfunction,
                                                            int blockSize, size_t dynamicSMemSize) {
  return ActiveBlocks(numBlocks, blockSize, dynamicSMemSize);
}
CUresult gpusim_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* numBlocks, CUfunction,
                                                                     int blockSize,
                                                                     size_t dynamicSMemSize,
                                                                     unsigned) {
  return ActiveBlocks(numBlocks, blockSize, dynamicSMemSize);
}
CUresult gpusim_cuOccupancyMaxPotentialBlockSize(int* minGridSize, int* blockSize, CUfunction,
                                                 CUoccupancyB2DSize blockSizeToDynamicSMemSize,
                                                 size_t dynamicSMemSize, int blockSizeLimit) {
  return PotentialBlock(minGridSize, blockSize, blockSizeToDynamicSMemSize, dynamicSMemSize,
                        blockSizeLimit);
}
CUresult gpusim_cuOccupancyMaxPotentialBlockSizeWithFlags(
    int* minGridSize, int* blockSize, CUfunction, CUoccupancyB2DSize blockSizeToDynamicSMemSize,
    size_t dynamicSMemSize, int blockSizeLimit, unsigned) {
  return PotentialBlock(minGridSize, blockSize, blockSizeToDynamicSMemSize, dynamicSMemSize,
                        blockSizeLimit);
}
CUresult gpusim_cuOccupancyAvailableDynamicSMemPerBlock(size_t* dynamicSmemSize, CUfunction,
                                                        int numBlocks, int blockSize) {
  if (dynamicSmemSize == nullptr || numBlocks <= 0 || blockSize <= 0)
    return CUDA_ERROR_INVALID_VALUE;
  const size_t share = kSharedPerProcessor / static_cast<size_t>(numBlocks);
  *dynamicSmemSize = share > kReservedPerBlock ? share - kReservedPerBlock : 0;
  return CUDA_SUCCESS;
}
CUresult gpusim_cuOccupancyMaxPotentialClusterSize(int* clusterSize, CUfunction,
                                                   const CUlaunchConfig*) {
  if (clusterSize == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *clusterSize = 8;
  return CUDA_SUCCESS;
}
CUresult gpusim_cuOccupancyMaxActiveClusters(int* numClusters, CUfunction, const CUlaunchConfig*) {
  if (numClusters == nullptr) return CUDA_ERROR_INVALID_VALUE;
  *numClusters = 16;
  return CUDA_SUCCESS;
}

}  // extern "C"

}  // namespace gputrace::sim
