// SPDX-License-Identifier: Apache-2.0
#include "trace/repair.h"

namespace gputrace::trace {}
