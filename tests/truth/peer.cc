// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/peer.h"

#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <cstring>
#include <random>
#include <string>
#include <vector>

namespace gputrace::truth {
namespace {

constexpr int kCalls = 16;
constexpr size_t kDescriptors = 2;

union Control {
  cmsghdr header;
  char bytes[CMSG_SPACE(kDescriptors * sizeof(int))];
};

// Descriptors travel only as such, so there always are two; standard input stands for none.
bool Send(int socket, const Offer& offer) {
  const int descriptors[kDescriptors] = {offer.physical < 0 ? 0 : offer.physical,
                                         offer.pool < 0 ? 0 : offer.pool};
  Control control = {};
  iovec data = {const_cast<Offer*>(&offer), sizeof(offer)};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  control.header = {CMSG_LEN(sizeof(descriptors)), SOL_SOCKET, SCM_RIGHTS};
  memcpy(CMSG_DATA(&control.header), descriptors, sizeof(descriptors));
  return sendmsg(socket, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(sizeof(offer));
}

bool Receive(int socket, Offer* offer) {
  Control control = {};
  iovec data = {offer, sizeof(*offer)};
  msghdr message = {};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = control.bytes;
  message.msg_controllen = sizeof(control.bytes);
  if (recvmsg(socket, &message, 0) != static_cast<ssize_t>(sizeof(*offer))) return false;
  int descriptors[kDescriptors];
  memcpy(descriptors, CMSG_DATA(&control.header), sizeof(descriptors));
  const auto keep = [](int had, int got) {
    if (had >= 0) return got;
    close(got);
    return -1;
  };
  offer->physical = keep(offer->physical, descriptors[0]);
  offer->pool = keep(offer->pool, descriptors[1]);
  return true;
}

void* AsHandle(int descriptor) { return reinterpret_cast<void*>(intptr_t{descriptor}); }

// The second process's side.
class Importer {
 public:
  void Start() {
    if (cuInit(0) != CUDA_SUCCESS) _exit(2);
    Retain();
  }
  void Use(const Offer& offer) {
    random_.seed(static_cast<uint32_t>(offer.seed));
    for (int i = 0; i < kCalls; ++i) One(offer);
    if (offer.physical >= 0) close(offer.physical);
    if (offer.pool >= 0) close(offer.pool);
  }

 private:
  struct Range {
    CUdeviceptr address;
    size_t size;
  };
  static constexpr auto kType = CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR;
  static constexpr size_t kGranule = size_t{2} << 20;

  void Retain() {
    cuDevicePrimaryCtxRetain(&context_, 0);
    cuCtxSetCurrent(context_);
  }
  uint32_t Below(size_t bound) { return random_() % static_cast<uint32_t>(bound); }
  // Takes one out of several; false if there is none.
  template <typename Value>
  bool Pick(std::vector<Value>* values, Value* value) {
    if (values->empty()) return false;
    const uint32_t at = Below(values->size());
    *value = (*values)[at];
    (*values)[at] = values->back();
    values->pop_back();
    return true;
  }

  void One(const Offer& offer) {
    switch (Below(12)) {
      case 0:
      case 1:
        return Open(offer);
      case 2:
      case 3:
        return Close();
      case 4:
        return ImportPhysical(offer);
      case 5:
        return Map();
      case 6:
        return Unmap();
      case 7:
        return Release();
      case 8:
        return ImportPool(offer);
      case 9:
        return ImportPointer(offer);
      case 10:
        return FreePointer();
      default:
        return Others();
    }
  }

  void Open(const Offer& offer) {
    CUdeviceptr address = 0;
    if (!offer.has_memory) return;
    const auto flags = Below(10) == 0 ? 0U : unsigned{CU_IPC_MEM_LAZY_ENABLE_PEER_ACCESS};
    const CUresult result = Below(2) == 0 ? cuIpcOpenMemHandle(&address, offer.memory, flags)
                                          : cuIpcOpenMemHandle_v2(&address, offer.memory, flags);
    if (result == CUDA_SUCCESS) opened_.push_back(address);
  }
  void Close() {
    CUdeviceptr address = 0;
    if (Pick(&opened_, &address)) cuIpcCloseMemHandle(address);
  }
  void ImportPhysical(const Offer& offer) {
    CUmemGenericAllocationHandle handle = 0;
    if (offer.physical < 0) return;
    if (cuMemImportFromShareableHandle(&handle, AsHandle(offer.physical), kType) == CUDA_SUCCESS) {
      handles_.push_back(handle);
    }
  }
  void Map() {
    if (handles_.empty()) return;
    CUdeviceptr address = 0;
    if (cuMemAddressReserve(&address, kGranule, 0, 0, 0) != CUDA_SUCCESS) return;
    const CUmemGenericAllocationHandle handle = handles_[Below(handles_.size())];
    if (cuMemMap(address, kGranule, 0, handle, 0) == CUDA_SUCCESS) {
      mapped_.push_back({address, kGranule});
    }
  }
  void Unmap() {
    Range range = {};
    if (!Pick(&mapped_, &range)) return;
    cuMemUnmap(range.address, range.size);
    cuMemAddressFree(range.address, range.size);
  }
  void Release() {
    CUmemGenericAllocationHandle handle = 0;
    if (Pick(&handles_, &handle)) cuMemRelease(handle);
  }
  void ImportPool(const Offer& offer) {
    CUmemoryPool pool = nullptr;
    if (offer.pool < 0) return;
    if (cuMemPoolImportFromShareableHandle(&pool, AsHandle(offer.pool), kType, 0) == CUDA_SUCCESS) {
      pools_.push_back(pool);
    }
  }
  void ImportPointer(const Offer& offer) {
    CUdeviceptr address = 0;
    CUmemPoolPtrExportData data = offer.pointer;
    if (!offer.has_pointer || pools_.empty()) return;
    if (cuMemPoolImportPointer(&address, pools_.back(), &data) == CUDA_SUCCESS) {
      pointers_.push_back(address);
    }
  }
  void FreePointer() {
    CUdeviceptr address = 0;
    if (!Pick(&pointers_, &address)) return;
    if (Below(2) == 0) cuMemFree_v2(address);
    if (address != 0) cuMemFreeAsync(address, nullptr);
  }
  void Others() {
    CUmemoryPool pool = nullptr;
    CUdeviceptr address = 0;
    if (Below(3) == 0 && Pick(&pools_, &pool)) cuMemPoolDestroy(pool);
    if (Below(3) == 0 && cuMemAlloc_v2(&address, 1000) == CUDA_SUCCESS) cuMemFree_v2(address);
    if (Below(8) != 0) return;
    cuDevicePrimaryCtxReset_v2(0);
    opened_.clear();
    Retain();
  }

  std::minstd_rand random_;
  CUcontext context_ = nullptr;
  std::vector<CUdeviceptr> opened_;
  std::vector<CUmemGenericAllocationHandle> handles_;
  std::vector<Range> mapped_;
  std::vector<CUmemoryPool> pools_;
  std::vector<CUdeviceptr> pointers_;
};

void RenameOutput(const char* variable) {
  if (const char* value = getenv(variable)) {
    setenv(variable, (std::string(value) + ".peer").c_str(), 1);
  }
}

[[noreturn]] void RunPeer(int socket) {
  RenameOutput("GPUSIM_JOURNAL");
  RenameOutput("GPUSIM_LEDGER");
  Importer importer;
  importer.Start();
  Offer offer;
  while (Receive(socket, &offer)) {
    importer.Use(offer);
    const char done = 0;
    if (write(socket, &done, 1) != 1) break;
  }
  exit(0);
}

}  // namespace

Peer::Peer() {
  int sockets[2];
  if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0) abort();
  child_ = fork();
  if (child_ == 0) {
    close(sockets[0]);
    RunPeer(sockets[1]);
  }
  close(sockets[1]);
  socket_ = sockets[0];
}

Peer::~Peer() {
  close(socket_);
  int status = 0;
  waitpid(child_, &status, 0);
}

void Peer::TakeTurn(const Offer& offer) {
  char done = 0;
  if (Send(socket_, offer) && read(socket_, &done, 1) != 1) abort();
}

}  // namespace gputrace::truth
