// SPDX-License-Identifier: Apache-2.0
// Layout of the folder: `uses` is an array of records, one for each process, that all of them map;
// `PID.D` is the memory that process PID holds of card D. A record is its process's as long as that
// holds a lock on its bytes: locks go with the process, also if that is killed.
#include "simulator/driver/session.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>

#include "simulator/driver/config.h"

namespace gputrace::sim {
namespace {

constexpr int kMaxProcesses = 1024;
constexpr int kMaxDevices = 64;

struct ProcessRecord {
  std::atomic<uint64_t> used[kMaxDevices];
};

struct Session {
  int file = -1;
  int own = -1;  // index of this process's record
  ProcessRecord* records = nullptr;
};
constinit Session g_session;

struct flock RecordLock(short type, int index) {
  struct flock lock = {};
  lock.l_type = type;
  lock.l_whence = SEEK_SET;
  lock.l_start = static_cast<off_t>(index * sizeof(ProcessRecord));
  lock.l_len = sizeof(ProcessRecord);
  return lock;
}

bool IsAlive(int index) {
  struct flock lock = RecordLock(F_WRLCK, index);
  return fcntl(g_session.file, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

bool TakeRecord() {
  for (int i = 0; i < kMaxProcesses; ++i) {
    struct flock lock = RecordLock(F_WRLCK, i);
    if (fcntl(g_session.file, F_OFD_SETLK, &lock) != 0) continue;
    for (auto& used : g_session.records[i].used) used = 0;
    g_session.own = i;
    return true;
  }
  return false;
}

}  // namespace

bool JoinSession() {
  const std::string& folder = config().session;
  if (folder.empty()) return true;
  if (mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST) return false;
  g_session.file = open((folder + "/uses").c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0600);
  constexpr size_t kSize = kMaxProcesses * sizeof(ProcessRecord);
  if (g_session.file < 0 || ftruncate(g_session.file, kSize) != 0) return false;
  void* mapped = mmap(nullptr, kSize, PROT_READ | PROT_WRITE, MAP_SHARED, g_session.file, 0);
  if (mapped == MAP_FAILED) return false;
  g_session.records = static_cast<ProcessRecord*>(mapped);
  return TakeRecord();
}

uint64_t UsedByOtherProcesses(int physical_device) {
  uint64_t sum = 0;
  for (int i = 0; g_session.records != nullptr && i < kMaxProcesses; ++i) {
    const uint64_t used = g_session.records[i].used[physical_device];
    // Most records are empty: asking the kernel about these would be slow.
    if (used != 0 && i != g_session.own && IsAlive(i)) sum += used;
  }
  return sum;
}

void PublishUse(int physical_device, uint64_t bytes) {
  if (g_session.records != nullptr) g_session.records[g_session.own].used[physical_device] = bytes;
}

std::string BackingPath(int physical_device) {
  if (config().session.empty()) return "";
  return config().session + "/" + std::to_string(getpid()) + "." + std::to_string(physical_device);
}

}  // namespace gputrace::sim
