// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/rings_file.h"

#include <sys/prctl.h>
#include <sys/vfs.h>

#include <cerrno>
#include <cstring>

#include "interpose/record/sys.h"
#include "interpose/stacks/unwinder.h"
#include "trace/crc32.h"

namespace gputrace::interpose {
namespace {

constexpr size_t kPageBytes = trace::kLivePageBytes;

// Magic numbers from linux/magic.h: ext2-4, XFS, Btrfs, tmpfs, overlayfs. Network file systems are
// left out: a shared mapping there can block or be lost.
bool IsGoodFileSystem(const char* directory) {
  struct statfs info {};
  if (sys::Call(SYS_statfs, sys::Pointer(directory), sys::Pointer(&info)) < 0) return false;
  switch (static_cast<uint32_t>(info.f_type)) {
    case 0xef53u:
    case 0x58465342u:
    case 0x9123683eu:
    case 0x01021994u:
    case 0x794c7630u:
      return true;
    default:
      return false;
  }
}

// Makes sure that [offset, offset + size) has room on the disk. File systems without fallocate get
// zeros written.
long AllocateRoom(int fd, uint64_t offset, uint64_t size) {
  long error = sys::Allocate(fd, offset, size);
  if (error != -EOPNOTSUPP && error != -ENOSYS && error != -EINVAL && error != -EPERM) return error;
  static const uint8_t kZeros[kPageBytes] = {};
  for (uint64_t done = 0; done < size; done += kPageBytes) {
    error = sys::Call(SYS_pwrite64, fd, sys::Pointer(kZeros), kPageBytes,
                      static_cast<long>(offset + done));
    if (error < 0) return error;
  }
  return 0;
}

long CreateAt(Session* session, const char* path, uint64_t process_start_time) {
  const int fd = sys::Open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd < 0) return fd;
  // The first ring is allocated with the header, so that a place without room is found out now.
  long error = AllocateRoom(fd, 0, 2 * kPageBytes + session->options.ring_bytes);
  void* page = nullptr;
  if (error == 0) {
    page = sys::Map(kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd);
    if (page == nullptr) error = -ENODEV;
  }
  sys::Close(fd);
  if (error < 0) {
    sys::Unlink(path);
    return error;
  }
  auto* live = static_cast<trace::LiveHeader*>(page);
  memcpy(live->trace_id, session->trace_id, sizeof(live->trace_id));
  live->pid = session->pid;
  live->ring_bytes = session->options.ring_bytes;
  live->process_start_time = process_start_time;
  live->header_crc32 = trace::Crc32(
      live->trace_id, offsetof(trace::LiveHeader, rings) - offsetof(trace::LiveHeader, trace_id));
  live->version = trace::kLiveVersion;
  memcpy(live->magic, trace::kLiveMagic, trace::kMagicBytes);
  session->live = live;
  return 0;
}

// Maps ring `index` of the file, its data twice in a row. The file is opened for the moment only: a
// descriptor that stays open could be closed, and its number used, by the program.
bool MapRing(Session* session, uint32_t index) {
  const size_t ring_bytes = session->options.ring_bytes;
  const uint64_t offset = kPageBytes + uint64_t{index} * (kPageBytes + ring_bytes);
  const int fd = sys::Open(session->live_path.c_str(), O_RDWR | O_CLOEXEC | O_NOFOLLOW);
  if (fd < 0) return false;
  bool mapped = AllocateRoom(fd, offset, kPageBytes + ring_bytes) == 0;
  if (mapped) {
    void* header = sys::Map(kPageBytes, PROT_READ | PROT_WRITE, MAP_SHARED, fd, offset);
    auto* data = static_cast<uint8_t*>(
        sys::Map(2 * ring_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE));
    mapped = header != nullptr && data != nullptr;
    for (size_t copy = 0; copy < 2 && mapped; ++copy) {
      mapped = sys::Map(ring_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED, fd,
                        offset + kPageBytes, data + copy * ring_bytes) != nullptr;
    }
    if (mapped) {
      session->rings[index] = static_cast<trace::RingHeader*>(header);
      session->ring_data[index] = data;
    }
  }
  sys::Close(fd);
  return mapped;
}

bool FindRing(Session* session, uint32_t* index) {
  const uint32_t count = session->live->rings.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < count; ++i) {
    if (session->rings[i]->state.load(std::memory_order_acquire) ==
        static_cast<uint32_t>(trace::RingState::kUnused)) {
      *index = i;
      return true;
    }
  }
  if (count == trace::kMaxRings || !MapRing(session, count)) return false;
  *index = count;
  return true;
}

void OwnRing(Session* session, uint32_t index) {
  trace::RingHeader* ring = session->rings[index];
  ring->head.store(0);
  ring->tail.store(0);
  ring->committing.store(0);
  ring->in_call.store(0);
  ring->tid = sys::GetTid();
  ring->ring_id = ++session->next_ring_id;
  ring->thread = ring->ring_id;
  memset(ring->name, 0, sizeof(ring->name));
  sys::Call(SYS_prctl, PR_GET_NAME, sys::Pointer(ring->name));
  ring->state.store(static_cast<uint32_t>(trace::RingState::kOwned), std::memory_order_release);
  const uint32_t count = session->live->rings.load(std::memory_order_relaxed);
  if (index == count) session->live->rings.store(count + 1, std::memory_order_release);
}

}  // namespace

long CreateRingsFile(Session* session, uint64_t process_start_time) {
  PathBuffer directory;
  directory.Add(session->trace_path.c_str());
  const char* slash = strrchr(directory.c_str(), '/');
  PathBuffer parent;
  parent.Add(directory.c_str(),
             slash == directory.c_str() ? 1 : static_cast<size_t>(slash - directory.c_str()));
  long error = -ENODEV;
  if (IsGoodFileSystem(parent.c_str())) {
    session->live_path.Clear();
    session->live_path.Add(session->trace_path.c_str()).Add(".live");
    error = CreateAt(session, session->live_path.c_str(), process_start_time);
  }
  for (const char* place : {"/dev/shm", "/tmp"}) {
    if (error == 0) break;
    session->live_path.Clear();
    session->live_path.Add(place).Add("/gputrace.").AddHex(session->trace_id, 16).Add(".live");
    error = CreateAt(session, session->live_path.c_str(), process_start_time);
  }
  return error;
}

ThreadState* MakeThreadState(Session* session) {
  const ForkSafeLock lock(&session->page->ring_lock);
  uint32_t index = 0;
  if (!FindRing(session, &index)) return nullptr;
  ThreadState*& state = session->states[index];
  if (state == nullptr) {
    state = static_cast<ThreadState*>(sys::MapPrivate(sizeof(ThreadState)));
    if (state == nullptr) return nullptr;
  } else {
    Unwinder* unwinder = state->unwinder;
    memset(static_cast<void*>(state), 0, sizeof(*state));
    state->unwinder = unwinder;
    if (unwinder != nullptr) unwinder->ChangeThread();
  }
  if (state->unwinder == nullptr) {
    state->unwinder = static_cast<Unwinder*>(sys::MapPrivate(sizeof(Unwinder)));
  }
  if (index == session->live->rings.load(std::memory_order_relaxed)) {
    OwnRing(session, index);
  } else {
    // The writer must see all of the change of owner, or nothing.
    const ForkSafeLock drain_lock(&session->page->drain_lock);
    OwnRing(session, index);
  }
  state->session = session;
  state->generation = session->generation;
  state->ring = session->rings[index];
  state->data = session->ring_data[index];
  state->ring_bytes = session->options.ring_bytes;
  state->clock = session->clock;
  state->wake_at = session->options.ring_bytes / 4;
  return state;
}

void RemoveRingsFile(Session* session) {
  session->live->ended.store(1, std::memory_order_release);
  sys::Unlink(session->live_path.c_str());
}

}  // namespace gputrace::interpose
