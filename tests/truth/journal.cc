// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/journal.h"

#include <charconv>
#include <fstream>
#include <string_view>

#include "absl/container/flat_hash_map.h"
#include "absl/container/flat_hash_set.h"

namespace gputrace::truth {
namespace {

// The members come in one order, and no value has a quote or a comma in it.
class Line {
 public:
  explicit Line(std::string_view text) : rest_(text) {}

  std::string_view Next() {
    const size_t colon = rest_.find(':');
    if (colon == std::string_view::npos) return "";
    std::string_view value = rest_.substr(colon + 1);
    const size_t end = value.find_first_of(",}");
    if (end == std::string_view::npos) return "";
    rest_ = value.substr(end);
    value = value.substr(0, end);
    if (value.size() >= 2 && value.front() == '"') value = value.substr(1, value.size() - 2);
    return value;
  }
  template <typename Number>
  bool Next(Number* number) {
    const std::string_view text = Next();
    return std::from_chars(text.data(), text.data() + text.size(), *number).ec == std::errc();
  }

 private:
  std::string_view rest_;
};

class Reader {
 public:
  explicit Reader(Account* account) : account_(*account) {}

  bool Add(std::string_view text) {
    Line line(text);
    Change change;
    if (!line.Next(&change.number)) return false;
    change.call = account_.Intern(line.Next());
    const std::string_view kind_name = line.Next();
    uint64_t address = 0;
    uint64_t context = 0;
    uint64_t handle = 0;
    if (!line.Next(&address) || !line.Next(&change.size) || !line.Next(&change.device) ||
        !line.Next(&context) || !line.Next(&change.pool) || !line.Next(&handle)) {
      return false;
    }
    change.begins = line.Next() == "+";
    if (kind_name == "mapping") CountMapping(handle, change.begins);
    const size_t kind = FindKind(kind_name);
    const uint64_t identity = address != 0 ? address : handle;
    // Memory of graphs is no object of the ledger's.
    if (kind != kNoKind && !IsHidden(kind_name, identity, change)) {
      account_.Add(kind, identity, change);
    }
    return true;
  }

 private:
  // Modules that libraries load into contexts come and go without a call that says so.
  bool IsHidden(std::string_view kind, uint64_t identity, const Change& change) {
    if (kind != "module") return false;
    if (!change.begins) return hidden_.erase(identity) == 1;
    if (change.call.starts_with("cuModule")) return false;
    hidden_.insert(identity);
    return true;
  }

  void CountMapping(uint64_t memory, bool begins) {
    static const size_t kExtra = FindKind("extra_mapping");
    uint64_t& mappings = mappings_[memory];
    if (begins ? mappings++ > 0 : --mappings > 0) account_.AddToTotal(kExtra, begins ? 1 : -1);
  }

  Account& account_;
  absl::flat_hash_set<uint64_t> hidden_;
  absl::flat_hash_map<uint64_t, uint64_t> mappings_;  // by handle of the memory
};

}  // namespace

bool ReadJournal(const std::string& path, Account* account, std::string* error) {
  std::ifstream file(path);
  if (!file) {
    *error = "cannot read " + path;
    return false;
  }
  Reader reader(account);
  std::string line;
  while (std::getline(file, line)) {
    if (reader.Add(line)) continue;
    *error = "not a line of a journal: " + line;
    return false;
  }
  return true;
}

}  // namespace gputrace::truth
