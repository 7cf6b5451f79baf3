// SPDX-License-Identifier: Apache-2.0
#include "interpose/record/process.h"

#include <sys/stat.h>
#include <sys/utsname.h>

#include <cstring>

#include "interpose/record/sys.h"

extern "C" char** environ;

namespace gputrace::interpose {
namespace {

constexpr const char* kRankVariables[] = {
    "RANK",         "OMPI_COMM_WORLD_RANK", "PMIX_RANK",     "PMI_RANK",
    "SLURM_PROCID", "MV2_COMM_WORLD_RANK",  "JAX_PROCESS_ID"};

template <size_t kCapacity>
void ReadLink(const char* path, TextBuffer<kCapacity>* out) {
  char target[4096];
  const long n =
      sys::Call(SYS_readlinkat, AT_FDCWD, sys::Pointer(path), sys::Pointer(target), sizeof(target));
  if (n > 0) out->Add(target, static_cast<size_t>(n));
}

void AddJsonString(const char* text, size_t size, TextBuffer<8191>* out) {
  out->Add('"');
  for (size_t i = 0; i < size; ++i) {
    const char c = text[i];
    if (c == '"' || c == '\\') {
      out->Add('\\').Add(c);
    } else if (static_cast<unsigned char>(c) < 0x20) {
      const auto byte = static_cast<uint8_t>(c);
      out->Add("\\u00").AddHex(&byte, 1);
    } else {
      out->Add(c);
    }
  }
  out->Add('"');
}

// Long command lines are cut after a whole argument, so that the array stays well-formed.
void ReadArguments(TextBuffer<8191>* out) {
  char line[3072];
  const size_t size = ReadFile("/proc/self/cmdline", line, sizeof(line));
  out->Add('[');
  size_t at = 0;
  while (at < size) {
    const size_t length = strnlen(line + at, size - at);
    if (at > 0) out->Add(',');
    AddJsonString(line + at, length, out);
    at += length + 1;
  }
  if (size == sizeof(line)) out->Add(",\"…\"");
  out->Add(']');
}

uint64_t ParseNumber(const char* text) {
  uint64_t value = 0;
  for (; *text >= '0' && *text <= '9'; ++text)
    value = value * 10 + static_cast<uint64_t>(*text - '0');
  return value;
}

void ReadStat(ProcessInfo* info) {
  char stat[1024] = {};
  const size_t size = ReadFile("/proc/self/stat", stat, sizeof(stat) - 1);
  const char* at = size > 0 ? strrchr(stat, ')') : nullptr;
  if (at == nullptr) return;
  // After the name come fields 3, 4 (the parent), …
  for (int field = 2; field < 22 && at != nullptr; ++field) {
    at = strchr(at, ' ');
    if (at != nullptr) ++at;
    if (at != nullptr && field + 1 == 4) info->parent = static_cast<uint32_t>(ParseNumber(at));
  }
  if (at != nullptr) info->start_time = ParseNumber(at);
}

}  // namespace

const char* const kRecordedVariables[] = {"RANK",
                                          "LOCAL_RANK",
                                          "WORLD_SIZE",
                                          "LOCAL_WORLD_SIZE",
                                          "GROUP_RANK",
                                          "MASTER_ADDR",
                                          "OMPI_COMM_WORLD_RANK",
                                          "OMPI_COMM_WORLD_LOCAL_RANK",
                                          "OMPI_COMM_WORLD_SIZE",
                                          "PMIX_RANK",
                                          "PMI_RANK",
                                          "MV2_COMM_WORLD_RANK",
                                          "JAX_PROCESS_ID",
                                          "SLURM_JOB_ID",
                                          "SLURM_PROCID",
                                          "SLURM_LOCALID",
                                          "SLURM_NTASKS",
                                          "SLURM_NODEID",
                                          "CUDA_VISIBLE_DEVICES",
                                          "NVIDIA_VISIBLE_DEVICES",
                                          "CUDA_MODULE_LOADING",
                                          "PYTORCH_CUDA_ALLOC_CONF",
                                          "TF_GPU_ALLOCATOR",
                                          "TF_FORCE_GPU_ALLOW_GROWTH",
                                          "XLA_PYTHON_CLIENT_PREALLOCATE",
                                          "XLA_PYTHON_CLIENT_MEM_FRACTION",
                                          "XLA_PYTHON_CLIENT_ALLOCATOR",
                                          nullptr};

const char* Variable(const char* name) {
  const size_t size = strlen(name);
  for (char** variable = environ; variable != nullptr && *variable != nullptr; ++variable) {
    if (strncmp(*variable, name, size) == 0 && (*variable)[size] == '=')
      return *variable + size + 1;
  }
  return nullptr;
}

size_t ReadFile(const char* path, char* out, size_t capacity) {
  const int fd = sys::Open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return 0;
  size_t done = 0;
  while (done < capacity) {
    const long n = sys::Read(fd, out + done, capacity - done);
    if (n <= 0) break;
    done += static_cast<size_t>(n);
  }
  sys::Close(fd);
  return done;
}

void ReadProcess(ProcessInfo* info) {
  info->pid = sys::GetPid();
  utsname names{};
  sys::Call(SYS_uname, sys::Pointer(&names));
  info->host.Add(names.nodename);
  ReadLink("/proc/self/exe", &info->executable);
  const char* slash = strrchr(info->executable.c_str(), '/');
  info->program.Add(slash != nullptr ? slash + 1 : "unknown");
  ReadLink("/proc/self/cwd", &info->directory);
  ReadArguments(&info->arguments);
  char boot_id[64];
  const size_t size = ReadFile("/proc/sys/kernel/random/boot_id", boot_id, 36);
  info->boot_id.Add(boot_id, size);
  ReadStat(info);
  for (const char* name : kRankVariables) {
    const char* value = Variable(name);
    if (value != nullptr && info->rank.size() == 0) info->rank.Add(value);
  }
  if (info->rank.size() == 0) info->rank.Add('0');
}

bool ParentIsTraced(uint32_t parent) {
  constexpr char kLibrary[] = "libgputrace.so";
  TextBuffer<63> path;
  path.Add("/proc/").AddNumber(parent).Add("/maps");
  const int fd = sys::Open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (fd < 0) return false;
  char buffer[4096 + 1];
  size_t kept = 0;
  bool found = false;
  while (!found) {
    const long n = sys::Read(fd, buffer + kept, sizeof(buffer) - 1 - kept);
    if (n <= 0) break;
    const size_t size = kept + static_cast<size_t>(n);
    buffer[size] = '\0';
    found = strstr(buffer, kLibrary) != nullptr;
    // The name may straddle two reads.
    kept = size < sizeof(kLibrary) ? size : sizeof(kLibrary) - 1;
    memmove(buffer, buffer + size - kept, kept);
  }
  sys::Close(fd);
  return found;
}

bool IsLastThread() {
  struct stat info {};
  // Two links of its own and one for each thread, the first one included, which stays until the
  // end.
  constexpr uint64_t kLinksOfTwoThreads = 4;
  if (sys::Call(SYS_newfstatat, AT_FDCWD, sys::Pointer("/proc/self/task"), sys::Pointer(&info), 0) <
          0 ||
      info.st_nlink > kLinksOfTwoThreads) {
    return false;
  }
  char stat[512];
  const size_t size = ReadFile("/proc/self/stat", stat, sizeof(stat) - 1);
  stat[size] = '\0';
  // "PID (NAME) STATE …", and the name may hold anything.
  const char* state = strrchr(stat, ')');
  return state != nullptr && state[1] == ' ' && state[2] == 'Z';
}

}  // namespace gputrace::interpose
