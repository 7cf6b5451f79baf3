// SPDX-License-Identifier: Apache-2.0
// What tells how far streams have got, and the launches of graphs.
#include "analyzer/ledger/ledger.h"

namespace gputrace::ledger {

using trace::ObjectKind;
using trace::Record;
using trace::Role;

namespace {

constexpr uint64_t kNonBlocking = 1;  // cuda.h: CU_STREAM_NON_BLOCKING

}  // namespace

StreamCall Ledger::StreamOf(const Operands& operands, const Record& record) {
  StreamCall call;
  call.stream = operands.InOr(Role::kStream, 0);
  call.context = contexts_.OfDictionary(record.context);
  call.record = &record;
  return call;
}

void Ledger::CreateStream(const Operands& operands, uint64_t handle, const Record& record) {
  uint64_t flags = 0;
  uint64_t green = 0;
  const bool blocking = operands.In(Role::kFlags, &flags) && (flags & kNonBlocking) == 0;
  const uint32_t context = operands.In(Role::kContext, &green)
                               ? contexts_.PrimaryOfGreen(green)
                               : contexts_.OfDictionary(record.context);
  stream_order_.Create(handle, blocking, context);
}

void Ledger::RunStreamStep(const Step& step, const Operands& operands, const Record& record) {
  const uint64_t event = operands.InOr(Role::kEvent, 0);
  uint64_t named = 0;
  const bool names_context = operands.In(Role::kContext, &named);
  switch (step.action) {
    case Action::kSyncStream:
      return stream_order_.Synchronize(StreamOf(operands, record));
    case Action::kSyncContext:
      // A green context's streams are some of those of its primary context: not known which.
      if (contexts_.IsGreen(record.context)) return;
      return stream_order_.SynchronizeContext(contexts_.OfDictionary(record.context), record);
    case Action::kSyncEvent:
      return stream_order_.SynchronizeEvent(event, record);
    case Action::kRecordEvent: {
      uint64_t stream = 0;
      if (operands.In(Role::kStream, &stream)) {
        return stream_order_.Record(event, StreamOf(operands, record));
      }
      const uint32_t context = names_context ? contexts_.OfHandle(named) : 0;
      if (context == 0 || contexts_.IsGreen(record.context)) {
        return stream_order_.ForgetEvent(event);
      }
      return stream_order_.RecordContext(event, context, record);
    }
    case Action::kWaitEvent:
      // Where a whole context waits nothing is concluded: it has streams that are not known.
      if (!names_context) stream_order_.Wait(event, StreamOf(operands, record));
      return;
    case Action::kBeginCapture:
      return stream_order_.BeginCapture(StreamOf(operands, record));
    case Action::kEndCapture:
      return stream_order_.EndCapture(StreamOf(operands, record));
    case Action::kLaunch: {
      Allocation* exec =
          objects_.FindHandle(ObjectKind::kGraphExec, operands.InOr(Role::kGraphExec, 0));
      if (exec != nullptr) ++exec->launches;
      return;
    }
    default:
      return;
  }
}

}  // namespace gputrace::ledger
