// SPDX-License-Identifier: MIT
// Headers that the rooms about experiments include: the plan, the stored results and the report.
// The compiler reads them once (targets.cmake).
#pragma once

#include "base/error.h"
#include "base/fd.h"
#include "base/json.h"
#include "base/text.h"
#include "base/time.h"
#include "plan/plan.h"
#include "product_headers.h"
#include "report/model.h"
#include "report/words/answer.h"
#include "report/words/quantity.h"
#include "store/exceptions.h"
#include "store/reader.h"
#include "store/records.h"
#include "store/store.h"
