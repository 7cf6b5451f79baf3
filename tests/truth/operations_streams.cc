// SPDX-License-Identifier: Apache-2.0
// Streams and events: what orders memory that is allocated in stream order.
#include "tests/truth/player.h"

namespace gputrace::truth {
namespace {

void CreateStream(Turn& t) {
  CUstream stream = nullptr;
  const auto flags = static_cast<unsigned>(t.number(1));
  const CUresult result = t.number(2) == 0 ? cuStreamCreateWithPriority(&stream, flags, -1)
                                           : cuStreamCreate(&stream, flags);
  t.FillInContext(0, result, stream);
}

void CreateEvent(Turn& t) {
  constexpr unsigned kFlags[] = {0, CU_EVENT_DISABLE_TIMING, CU_EVENT_BLOCKING_SYNC, 64};
  CUevent event = nullptr;
  t.FillInContext(0, cuEventCreate(&event, kFlags[t.number(1)]), event);
}

}  // namespace

void AddStreamOperations(std::vector<Operation>* operations) {
  const auto add = [operations](auto... parts) { operations->emplace_back(parts...); };
  using Arguments = std::vector<Argument>;
  const Arguments stream = {Use(Type::kStream)};
  const Arguments event = {Use(Type::kEvent)};
  const Arguments both = {Use(Type::kStream), Use(Type::kEvent)};
  add("StreamCreate", 6, When::kAnytime, Arguments{New(Type::kStream), Below(3), Below(2)},
      CreateStream);
  add("StreamDestroy", 2, When::kAnytime, Arguments{Take(Type::kStream), Below(2)}, [](Turn& t) {
    if (t.number(1) == 0) cuStreamDestroy(t.as<CUstream>(0));
    if (t.number(1) == 1) cuStreamDestroy_v2(t.as<CUstream>(0));
    t.Empty(0);
  });
  add("StreamDestroyAgain", 1, When::kSerial, Arguments{Below(8)}, [](Turn& t) {
    const uint64_t stale = t.player.Stale(Type::kStream, t.number(0));
    if (cuStreamDestroy_v2(reinterpret_cast<CUstream>(stale)) == CUDA_SUCCESS) {
      t.player.ForgetValue(stale);
    }
  });
  add("StreamSynchronize", 3, When::kAnytime, stream,
      [](Turn& t) { cuStreamSynchronize(t.as<CUstream>(0)); });
  add("StreamSynchronizePtsz", 1, When::kAnytime, stream,
      [](Turn& t) { cuStreamSynchronize_ptsz(t.as<CUstream>(0)); });
  add("StreamQuery", 2, When::kAnytime, stream, [](Turn& t) { cuStreamQuery(t.as<CUstream>(0)); });
  add("StreamWaitEvent", 3, When::kAnytime, both,
      [](Turn& t) { cuStreamWaitEvent(t.as<CUstream>(0), t.as<CUevent>(1), 0); });
  add("EventCreate", 4, When::kAnytime, Arguments{New(Type::kEvent), Below(4)}, CreateEvent);
  add("EventDestroy", 3, When::kAnytime, Arguments{Take(Type::kEvent), Below(2)}, [](Turn& t) {
    if (t.number(1) == 0) cuEventDestroy(t.as<CUevent>(0));
    if (t.number(1) == 1) cuEventDestroy_v2(t.as<CUevent>(0));
    t.Empty(0);
  });
  add("StreamWaitEventPtsz", 1, When::kAnytime, both,
      [](Turn& t) { cuStreamWaitEvent_ptsz(t.as<CUstream>(0), t.as<CUevent>(1), 0); });
  add("EventRecordPtsz", 1, When::kAnytime, both,
      [](Turn& t) { cuEventRecord_ptsz(t.as<CUevent>(1), t.as<CUstream>(0)); });
  add("EventRecordWithFlags", 1, When::kAnytime, both,
      [](Turn& t) { cuEventRecordWithFlags(t.as<CUevent>(1), t.as<CUstream>(0), 0); });
  add("EventRecordWithFlagsPtsz", 1, When::kAnytime, both,
      [](Turn& t) { cuEventRecordWithFlags_ptsz(t.as<CUevent>(1), t.as<CUstream>(0), 0); });
  add("EventRecord", 5, When::kAnytime, both,
      [](Turn& t) { cuEventRecord(t.as<CUevent>(1), t.as<CUstream>(0)); });
  add("EventSynchronize", 2, When::kAnytime, event,
      [](Turn& t) { cuEventSynchronize(t.as<CUevent>(0)); });
  add("EventQuery", 2, When::kAnytime, event, [](Turn& t) { cuEventQuery(t.as<CUevent>(0)); });
  add("CtxSynchronize", 1, When::kAnytime, Arguments{}, [](Turn&) { cuCtxSynchronize(); });
}

}  // namespace gputrace::truth
