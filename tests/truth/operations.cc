// SPDX-License-Identifier: Apache-2.0
#include "tests/truth/operations.h"

namespace gputrace::truth {

const std::vector<Operation>& Operations() {
  static const auto* const kOperations = [] {
    auto* all = new std::vector<Operation>;
    for (const auto add :
         {AddLinearOperations, AddHostOperations, AddPoolOperations, AddVirtualOperations,
          AddArrayOperations, AddStreamOperations, AddGraphOperations, AddContextOperations,
          AddModuleOperations, AddExternalOperations, AddProcessOperations}) {
      add(all);
    }
    return all;
  }();
  return *kOperations;
}

bool FindOperation(const std::string& name, uint16_t* position) {
  for (size_t i = 0; i < Operations().size(); ++i) {
    if (name != Operations()[i].name) continue;
    *position = static_cast<uint16_t>(i);
    return true;
  }
  return false;
}

}  // namespace gputrace::truth
