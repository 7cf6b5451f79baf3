// SPDX-License-Identifier: Apache-2.0
#include "analyzer/ledger/account.h"

#include <string>
#include <vector>

#include "absl/status/status.h"
#include "absl/strings/str_cat.h"
#include "absl/strings/str_split.h"

namespace gputrace::ledger {
namespace {

struct Names {
  std::string_view name;
  std::string_view title;
  std::string_view kind;
};

constexpr Names kNames[kAccounts] = {
    {"device", "device", "device"},
    {"array", "arrays", "array"},
    {"vmm", "virtual memory handles", "vmm"},
    {"pool_reserved", "pools, reserved", "pool"},
    {"pool_used", "pools, used", "pool"},
    {"pool_pending", "pools, pending", "pool_pending"},
    {"graph", "graphs, reserved", "graph"},
    {"managed", "managed", "managed"},
    {"pinned", "pinned host", "pinned"},
    {"registered", "registered host", "registered"},
    {"alias", "aliases", "alias"},
    {"reserved_va", "reserved addresses", "reserved_va"},
    {"framework_reserved", "frameworks, reserved", "framework"},
    {"framework_allocated", "frameworks, allocated", "framework"},
    {"module", "modules", "module"},
    {"context", "contexts", "context"},
    {"stream", "streams", "stream"},
    {"event", "events", "event"},
    {"graph", "graphs", "graph"},
    {"graph_exec", "executable graphs", "graph_exec"},
    {"pool", "pools", "pool"},
    {"other", "other objects", "other"},
};

std::vector<std::string> Split(std::string_view list) {
  return absl::StrSplit(std::string(list), ',');
}

const Names& NamesOf(Account account) { return kNames[static_cast<size_t>(account)]; }

}  // namespace

std::string_view AccountName(Account account) { return NamesOf(account).name; }
std::string_view AccountTitle(Account account) { return NamesOf(account).title; }
std::string_view KindName(Account account) { return NamesOf(account).kind; }

absl::StatusOr<AccountSet> ParseKinds(std::string_view list) {
  AccountSet accounts = 0;
  for (const std::string& part : Split(list)) {
    AccountSet found = part == "all" ? (AccountSet{1} << kMemoryAccounts) - 1 : 0;
    for (size_t i = 0; i < kAccounts; ++i) {
      if (part == kNames[i].kind || part == kNames[i].name) found |= AccountSet{1} << i;
    }
    if (found == 0) return absl::InvalidArgumentError(absl::StrCat("'", part, "' is no kind"));
    accounts |= found;
  }
  return accounts;
}

std::string KindNames(AccountSet accounts) {
  std::string names;
  std::string last;
  for (size_t i = 0; i < kAccounts; ++i) {
    if ((accounts & (AccountSet{1} << i)) == 0 || kNames[i].kind == last) continue;
    last = kNames[i].kind;
    absl::StrAppend(&names, names.empty() ? "" : ",", last);
  }
  return names;
}

std::string DescribeKinds(AccountSet accounts) {
  return accounts == kDeviceAccounts ? "device" : KindNames(accounts);
}

Account AccountOf(trace::ObjectKind kind) {
  using trace::ObjectKind;
  switch (kind) {
    case ObjectKind::kDevice:
      return Account::kDevice;
    case ObjectKind::kManaged:
      return Account::kManaged;
    case ObjectKind::kPinned:
      return Account::kPinned;
    case ObjectKind::kRegistered:
      return Account::kRegistered;
    case ObjectKind::kPoolBlock:
      return Account::kPoolUsed;
    case ObjectKind::kPool:
      return Account::kPoolObject;
    case ObjectKind::kVmmHandle:
      return Account::kVmm;
    case ObjectKind::kReservedVa:
      return Account::kReservedVa;
    case ObjectKind::kArray:
    case ObjectKind::kMipmap:
      return Account::kArray;
    case ObjectKind::kMapping:
    case ObjectKind::kIpcImport:
    case ObjectKind::kExternalMemory:
    case ObjectKind::kExternalBuffer:
      return Account::kAlias;
    case ObjectKind::kGraph:
      return Account::kGraphObject;
    case ObjectKind::kGraphExec:
      return Account::kGraphExec;
    case ObjectKind::kContext:
    case ObjectKind::kPrimaryContext:
    case ObjectKind::kGreenContext:
      return Account::kContext;
    case ObjectKind::kModule:
    case ObjectKind::kLibrary:
      return Account::kModule;
    case ObjectKind::kStream:
      return Account::kStream;
    case ObjectKind::kEvent:
      return Account::kEvent;
    default:
      return Account::kOther;
  }
}

}  // namespace gputrace::ledger
