// SPDX-License-Identifier: Apache-2.0
// Objects that programs know by an opaque handle.
#ifndef GPUTRACE_SIMULATOR_DRIVER_HANDLE_TABLE_H_
#define GPUTRACE_SIMULATOR_DRIVER_HANDLE_TABLE_H_

#include <cstdint>
#include <map>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

namespace gputrace::sim {

template <typename Handle>
uint64_t HandleNumber(Handle handle) {
  if constexpr (std::is_pointer_v<Handle>) {
    return reinterpret_cast<uint64_t>(handle);
  } else {
    return handle;
  }
}

// A handle is the address of its object, so values are used again as a real driver's are. Handles
// that are not alive are recognised, where a real driver may crash. Objects are shared, since work
// that is queued may outlive the handle. Not thread-safe: used under the driver's lock.
template <typename Object, typename Handle>
class HandleTable {
 public:
  Handle Add(std::shared_ptr<Object> object) {
    const auto number = reinterpret_cast<uint64_t>(object.get());
    objects_.emplace(number, std::move(object));
    return ToHandle(number);
  }

  // Null if there is no such object.
  std::shared_ptr<Object> Find(Handle handle) const {
    const auto found = objects_.find(HandleNumber(handle));
    return found == objects_.end() ? nullptr : found->second;
  }

  void Remove(Handle handle) { objects_.erase(HandleNumber(handle)); }

  std::vector<std::shared_ptr<Object>> All() const {
    std::vector<std::shared_ptr<Object>> all;
    all.reserve(objects_.size());
    for (const auto& [number, object] : objects_) all.push_back(object);
    return all;
  }

  static Handle HandleOf(const Object* object) {
    return ToHandle(reinterpret_cast<uint64_t>(object));
  }

 private:
  static Handle ToHandle(uint64_t number) {
    if constexpr (std::is_pointer_v<Handle>) {
      return reinterpret_cast<Handle>(number);
    } else {
      return static_cast<Handle>(number);
    }
  }

  std::map<uint64_t, std::shared_ptr<Object>> objects_;
};

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_HANDLE_TABLE_H_
