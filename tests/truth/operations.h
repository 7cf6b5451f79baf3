// SPDX-License-Identifier: Apache-2.0
// What programs of the truth test can do: each operation is one call of the driver (a few are two),
// described well enough for the generator to choose sensible arguments.
#ifndef GPUTRACE_TESTS_TRUTH_OPERATIONS_H_
#define GPUTRACE_TESTS_TRUTH_OPERATIONS_H_

#include <cstdint>
#include <string>
#include <vector>

#include "tests/truth/program.h"

namespace gputrace::truth {

// What a slot can hold.
enum class Type : uint8_t {
  kLinear,    // cuMemAlloc and its like
  kBlock,     // of a memory pool
  kGraphPtr,  // address of a graph's allocation node
  kHost,
  kRegistered,
  kPool,
  kPhysical,  // handle of cuMemCreate
  kRange,     // reserved addresses
  kMapping,
  kMulticast,
  kArray,
  kMipmap,
  kStream,
  kEvent,
  kGraph,
  kExec,
  kContext,
  kGreen,
  kModule,
  kLibrary,
  kExternal,
  kBuffer,  // mapped external memory
  kShared,  // an exported descriptor
  kImport,  // memory of another process
  kCountOf,
};
inline constexpr size_t kTypes = static_cast<size_t>(Type::kCountOf);
inline constexpr uint32_t kSlots = 10;  // of each type and thread

struct Argument {
  enum class Kind : uint8_t {
    kNew,   // an empty slot, which is filled
    kUse,   // a full one
    kTake,  // a full one, which is empty afterwards
    kNumber,
    kSize,      // bytes, from a few to some MiB
    kGranules,  // a few multiples of 2 MiB
  };
  Kind kind = Kind::kNumber;
  Type type = Type::kLinear;
  uint64_t bound = 1;  // kNumber: less than that

  bool is_slot() const { return kind <= Kind::kTake; }
};
constexpr Argument New(Type type) { return {Argument::Kind::kNew, type, 0}; }
constexpr Argument Use(Type type) { return {Argument::Kind::kUse, type, 0}; }
constexpr Argument Take(Type type) { return {Argument::Kind::kTake, type, 0}; }
constexpr Argument Below(uint64_t bound) { return {Argument::Kind::kNumber, Type::kLinear, bound}; }
constexpr Argument Size() { return {Argument::Kind::kSize, Type::kLinear, 0}; }
constexpr Argument Granules() { return {Argument::Kind::kGranules, Type::kLinear, 0}; }

class Turn;

enum class When : uint8_t {
  kAnytime,
  kSerial,  // would be a race of the program's own beside other threads
};

struct Operation {
  Operation(const char* its_name, uint32_t its_weight, When its_when,
            std::vector<Argument> its_arguments, void (*its_play)(Turn&))
      : name(its_name),
        weight(its_weight),
        when(its_when),
        argument_count(its_arguments.size()),
        arguments(std::move(its_arguments)),
        play(its_play) {}

  const char* name;
  uint32_t weight;  // how often it is chosen; 0: only where the generator has reason to
  When when;
  size_t argument_count;
  std::vector<Argument> arguments;
  void (*play)(Turn&);
};

// For which there must be a second process.
inline constexpr char kPeersTurn[] = "PeersTurn";

const std::vector<Operation>& Operations();
bool FindOperation(const std::string& name, uint16_t* position);

// By family; each in a file of its own.
void AddLinearOperations(std::vector<Operation>* operations);
void AddHostOperations(std::vector<Operation>* operations);
void AddPoolOperations(std::vector<Operation>* operations);
void AddVirtualOperations(std::vector<Operation>* operations);
void AddArrayOperations(std::vector<Operation>* operations);
void AddStreamOperations(std::vector<Operation>* operations);
void AddGraphOperations(std::vector<Operation>* operations);
void AddContextOperations(std::vector<Operation>* operations);
void AddModuleOperations(std::vector<Operation>* operations);
void AddExternalOperations(std::vector<Operation>* operations);
void AddProcessOperations(std::vector<Operation>* operations);

}  // namespace gputrace::truth

#endif  // GPUTRACE_TESTS_TRUTH_OPERATIONS_H_
