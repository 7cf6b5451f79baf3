// SPDX-License-Identifier: Apache-2.0
// What the driver's handles stand for: devices, contexts, streams, events.
#ifndef GPUTRACE_SIMULATOR_DRIVER_OBJECTS_H_
#define GPUTRACE_SIMULATOR_DRIVER_OBJECTS_H_

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "simulator/driver/cuda_api.h"
#include "simulator/driver/physical_memory.h"
#include "simulator/driver/segment_heap.h"
#include "simulator/driver/timeline.h"

namespace gputrace::sim {

struct Graph;
struct GraphNode;
struct GreenContext;
struct Pool;
struct Context;

struct Stream;

// A stream capture that is under way. Several streams may take part.
struct Capture {
  std::shared_ptr<Graph> graph;
  uint64_t id = 0;
  CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_GLOBAL;
  int thread = 0;                  // that began it
  const Stream* origin = nullptr;  // where it began and must end
  bool invalidated = false;
};

// A stream's part in a capture, or an event's.
struct CaptureState {
  std::shared_ptr<Capture> capture;  // null: none
  std::vector<GraphNode*> tail;      // what the next node depends on

  bool active() const { return capture != nullptr; }
};

struct Stream {
  Context* context = nullptr;  // outlives its streams
  unsigned flags = 0;
  int priority = 0;
  uint64_t id = 0;
  std::shared_ptr<GreenContext> green;
  std::shared_ptr<Timeline> timeline = std::make_shared<Timeline>();
  CaptureState capturing;

  // Waits for, and is waited for by, the legacy default stream.
  bool blocking() const { return (flags & CU_STREAM_NON_BLOCKING) == 0; }
};

struct Event {
  Context* context = nullptr;
  unsigned flags = 0;
  bool recorded = false;
  Moment moment;
  int64_t time_ns = 0;
  CaptureState
      captured;  // recorded on a capturing stream: streams that wait for it join the capture
};

inline constexpr unsigned kLimitCount = CU_LIMIT_MAX;

struct Context {
  int device = 0;
  unsigned flags = 0;
  unsigned api_version = 3020;
  uint64_t id = 0;
  bool primary = false;
  bool alive = false;
  int references = 0;    // of a primary context
  uint64_t charged = 0;  // bytes of the device that the context itself takes
  uint64_t limits[kLimitCount] = {};
  std::unique_ptr<SegmentHeap> device_heap;  // small blocks of cuMemAlloc
  std::unique_ptr<SegmentHeap> host_heap;    // small blocks of cuMemHostAlloc
  std::shared_ptr<Stream> legacy_stream;
  std::map<int, std::shared_ptr<Stream>> per_thread_streams;  // by thread id
  std::map<const Context*, bool> peers;                       // access enabled
};

struct Device {
  int ordinal = 0;   // as this process counts them
  int physical = 0;  // without CUDA_VISIBLE_DEVICES
  uint64_t total = 0;
  uint64_t used = 0;   // by this process
  uint64_t other = 0;  // GPUSIM_OTHER_USE
  std::unique_ptr<PhysicalMemory> memory;
  std::shared_ptr<Context> primary;
  unsigned primary_flags = 0;
  std::shared_ptr<Pool> default_pool;
  std::shared_ptr<Pool> current_pool;
  uint64_t graph_used = 0;
  uint64_t graph_used_high = 0;
  uint64_t graph_reserved = 0;
  uint64_t graph_reserved_high = 0;

  // Bytes that can still be had: without this process's use, that of others, and that of other
  // processes of the session.
  uint64_t Free() const;
  // Takes bytes of the card; false if there are not so many.
  bool Charge(uint64_t bytes);
  void Discharge(uint64_t bytes);
  void Uuid(unsigned char bytes[16]) const;
  std::string UuidText() const;  // "GPU-…"
};

}  // namespace gputrace::sim

#endif  // GPUTRACE_SIMULATOR_DRIVER_OBJECTS_H_
