// SPDX-License-Identifier: Apache-2.0
// cuMemset and its like.
#include "bodies.h"
#include "simulator/driver/copy.h"

namespace gputrace::sim {
namespace {

CUresult Fill(CUdeviceptr address, size_t pitch, unsigned element_size, unsigned value,
              size_t width, size_t height, CUstream stream) {
  const Guard guard;
  Context* context = nullptr;
  GPUSIM_TRY(CurrentContext(&context));
  auto node = std::make_unique<GraphNode>();
  node->type = CU_GRAPH_NODE_TYPE_MEMSET;
  node->fill = {address, pitch, value, element_size, width, height};
  FillPlan plan;
  GPUSIM_TRY(PlanFill(node->fill, &plan));
  node->run = [plan] { Run(plan); };
  return Perform(stream, std::move(node), false);
}

}  // namespace

extern "C" {

CUresult gpusim_cuMemsetD8_v2(CUdeviceptr dstDevice, unsigned char uc, size_t N) {
  return Fill(dstDevice, 0, 1, uc, N, 1, nullptr);
}
CUresult gpusim_cuMemsetD8Async(CUdeviceptr dstDevice, unsigned char uc, size_t N,
                                CUstream hStream) {
  return Fill(dstDevice, 0, 1, uc, N, 1, hStream);
}
CUresult gpusim_cuMemsetD2D8_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                size_t Width, size_t Height) {
  return Fill(dstDevice, dstPitch, 1, uc, Width, Height, nullptr);
}
CUresult gpusim_cuMemsetD2D8Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned char uc,
                                  size_t Width, size_t Height, CUstream hStream) {
  return Fill(dstDevice, dstPitch, 1, uc, Width, Height, hStream);
}

CUresult gpusim_cuMemsetD16_v2(CUdeviceptr dstDevice, unsigned short us, size_t N) {
  return Fill(dstDevice, 0, 2, us, N, 1, nullptr);
}
CUresult gpusim_cuMemsetD16Async(CUdeviceptr dstDevice, unsigned short us, size_t N,
                                 CUstream hStream) {
  return Fill(dstDevice, 0, 2, us, N, 1, hStream);
}
CUresult gpusim_cuMemsetD2D16_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                 size_t Width, size_t Height) {
  return Fill(dstDevice, dstPitch, 2, us, Width, Height, nullptr);
}
CUresult gpusim_cuMemsetD2D16Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned short us,
                                   size_t Width, size_t Height, CUstream hStream) {
  return Fill(dstDevice, dstPitch, 2, us, Width, Height, hStream);
}

CUresult gpusim_cuMemsetD32_v2(CUdeviceptr dstDevice, unsigned ui, size_t N) {
  return Fill(dstDevice, 0, 4, ui, N, 1, nullptr);
}
CUresult gpusim_cuMemsetD32Async(CUdeviceptr dstDevice, unsigned ui, size_t N, CUstream hStream) {
  return Fill(dstDevice, 0, 4, ui, N, 1, hStream);
}
CUresult gpusim_cuMemsetD2D32_v2(CUdeviceptr dstDevice, size_t dstPitch, unsigned ui, size_t Width,
                                 size_t Height) {
  return Fill(dstDevice, dstPitch, 4, ui, Width, Height, nullptr);
}
CUresult gpusim_cuMemsetD2D32Async(CUdeviceptr dstDevice, size_t dstPitch, unsigned ui,
                                   size_t Width, size_t Height, CUstream hStream) {
  return Fill(dstDevice, dstPitch, 4, ui, Width, Height, hStream);
}

}  // extern "C"

}  // namespace gputrace::sim
