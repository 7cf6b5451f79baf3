// SPDX-License-Identifier: Apache-2.0
// User objects: a destructor of the program that runs when the last reference is gone.
#include <map>

#include "bodies.h"
#include "simulator/driver/driver.h"

namespace gputrace::sim {
namespace {

struct UserObject {
  CUhostFn destroy = nullptr;
  void* data = nullptr;
  uint64_t references = 0;
};
std::map<CUuserObject, UserObject>& Objects() {
  static auto* instance = new std::map<CUuserObject, UserObject>;
  return *instance;
}

CUresult Change(CUuserObject handle, unsigned count, bool retain) {
  UserObject gone;
  {
    const Guard guard;
    const auto found = Objects().find(handle);
    if (found == Objects().end() || count == 0) return CUDA_ERROR_INVALID_VALUE;
    UserObject& object = found->second;
    if (!retain && count > object.references) return CUDA_ERROR_INVALID_VALUE;
    object.references += retain ? count : -uint64_t{count};
    if (object.references > 0) return CUDA_SUCCESS;
    gone = object;
    Objects().erase(found);
  }
  gone.destroy(gone.data);
  return CUDA_SUCCESS;
}

}  // namespace

extern "C" {

CUresult gpusim_cuUserObjectCreate(CUuserObject* object_out, void* ptr, CUhostFn destroy,
                                   unsigned initialRefcount, unsigned) {
  const Guard guard;
  if (object_out == nullptr || destroy == nullptr || initialRefcount == 0) {
    return CUDA_ERROR_INVALID_VALUE;
  }
  *object_out = reinterpret_cast<CUuserObject>(TheDriver().next_id++);
  Objects()[*object_out] = {destroy, ptr, initialRefcount};
  return CUDA_SUCCESS;
}

CUresult gpusim_cuUserObjectRetain(CUuserObject object, unsigned count) {
  return Change(object, count, true);
}
CUresult gpusim_cuUserObjectRelease(CUuserObject object, unsigned count) {
  return Change(object, count, false);
}

// A graph's references last as long as the process: graphs do not give them back here.
CUresult gpusim_cuGraphRetainUserObject(CUgraph graph, CUuserObject object, unsigned count,
                                        unsigned flags) {
  {
    const Guard guard;
    if (TheDriver().graphs.Find(graph) == nullptr) return CUDA_ERROR_INVALID_VALUE;
  }
  const bool moved = flags == CU_GRAPH_USER_OBJECT_MOVE;
  return moved ? CUDA_SUCCESS : Change(object, count, true);
}

}  // extern "C"

}  // namespace gputrace::sim
