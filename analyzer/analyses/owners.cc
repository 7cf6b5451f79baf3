// SPDX-License-Identifier: Apache-2.0
#include "analyzer/analyses/owners.h"

namespace gputrace::analyses {
namespace {

constexpr std::string_view kPassedThrough[] = {
    "libgputrace", "libcuda.so", "libcudart", "libffi.so",  "_ctypes.", "libc.so",
    "libpthread",  "libstdc++",  "ld-linux",  "linux-vdso", "[vdso]"};
constexpr std::string_view kRuntimes[] = {"libcublas",    "libcudnn",  "libcufft",    "libcusolver",
                                          "libcusparse",  "libcurand", "libnccl",     "libnvrtc",
                                          "libnvJitLink", "libcupti",  "libcutensor", "libnvshmem",
                                          "libnvinfer",   "libnvjpeg"};
constexpr std::string_view kFrameworks[] = {
    "libtorch",  "libc10",        "_C.cpython", "libtensorflow", "_pywrap_tensorflow",
    "libjax",    "xla_extension", "xla_cuda",   "libxla",        "libonnxruntime",
    "libpaddle", "libmxnet",      "libmx.so",   "libdgl",        "librmm"};

template <size_t kCount>
bool StartsWithAny(std::string_view name, const std::string_view (&prefixes)[kCount]) {
  for (std::string_view prefix : prefixes) {
    if (name.substr(0, prefix.size()) == prefix) return true;
  }
  return false;
}

}  // namespace

std::string_view OwnerClassName(OwnerClass owner) {
  constexpr std::string_view kNames[] = {"program", "framework", "runtime", "unknown"};
  return kNames[static_cast<size_t>(owner)];
}

OwnerClass ClassifyModule(std::string_view file_name) {
  if (StartsWithAny(file_name, kRuntimes)) return OwnerClass::kRuntime;
  if (StartsWithAny(file_name, kFrameworks)) return OwnerClass::kFramework;
  return OwnerClass::kProgram;
}

bool IsPassedThrough(std::string_view file_name) {
  return StartsWithAny(file_name, kPassedThrough);
}

std::string_view FileName(std::string_view path) {
  const size_t slash = path.rfind('/');
  return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

std::string_view OwnerTable::NameOf(uint32_t site, OwnerClass* owner_class) const {
  const ledger::Site& where = (*sites_)[site];
  const trace::Dictionary& dictionary = job_->processes()[where.process].reader->dictionary();
  const trace::Stack stack = dictionary.stack(where.native_stack);
  *owner_class = OwnerClass::kUnknown;
  if (stack.pcs.empty()) return "[no stack]";
  for (uint64_t pc : stack.pcs) {
    // The address that a call returns to may be the first of the next module.
    const trace::Module* module = dictionary.FindModule(pc - 1, stack.epoch);
    if (module == nullptr) continue;
    const std::string_view name = FileName(module->path);
    if (IsPassedThrough(name)) continue;
    *owner_class = ClassifyModule(name);
    return name;
  }
  return "[unknown module]";
}

uint32_t OwnerTable::Number(std::string_view name, OwnerClass owner_class) {
  const auto [found, is_new] =
      numbers_.try_emplace(std::string(name), static_cast<uint32_t>(names_.size()));
  if (is_new) {
    names_.emplace_back(name);
    classes_.push_back(owner_class);
  }
  return found->second;
}

uint32_t OwnerTable::OwnerOf(uint32_t site) {
  if (site >= owners_.size()) owners_.resize(sites_->size());
  if (owners_[site] == 0) {
    OwnerClass owner_class = OwnerClass::kUnknown;
    const std::string_view name = NameOf(site, &owner_class);
    owners_[site] = Number(name, owner_class) + 1;
  }
  return owners_[site] - 1;
}

AccountStatistics* Owners::Of(const ledger::Allocation& allocation) {
  const ledger::AccountSet bit = ledger::Bit(allocation.account);
  const bool on_device = (bit & ledger::kDeviceAccounts) != 0 && allocation.device != ledger::kHost;
  const bool managed = allocation.account == ledger::Account::kManaged;
  if (!on_device && !managed && (bit & ledger::kHostAccounts) == 0) return nullptr;
  const uint32_t owner = table_->OwnerOf(allocation.site);
  if (owner >= owners_.size()) owners_.resize(table_->size());
  OwnerStatistics& statistics = owners_[owner];
  return on_device ? &statistics.device : managed ? &statistics.managed : &statistics.host;
}

void Owners::OnAllocate(const ledger::Allocation& allocation) {
  AccountStatistics* statistics = Of(allocation);
  if (statistics != nullptr) statistics->Add(allocation.bytes, allocation.time_ns);
}
void Owners::OnFree(const ledger::Allocation& allocation, const ledger::FreeEvent&) {
  AccountStatistics* statistics = Of(allocation);
  if (statistics != nullptr) statistics->Remove(allocation.bytes);
}
void Owners::OnTakeBack(const ledger::Allocation& allocation, const ledger::FreeEvent&,
                        int64_t time_ns) {
  AccountStatistics* statistics = Of(allocation);
  if (statistics != nullptr) statistics->Add(allocation.bytes, time_ns);
}
void Owners::OnProcessEnd(const ledger::Allocation& allocation, int64_t) {
  AccountStatistics* statistics = Of(allocation);
  if (statistics != nullptr) statistics->survived += allocation.bytes;
}

}  // namespace gputrace::analyses
