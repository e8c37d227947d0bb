// SPDX-License-Identifier: MIT
// Headers that nearly every test includes; the compiler reads them once (targets.cmake).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "product_headers.h"
