// SPDX-License-Identifier: MIT
// What nearly every test includes, for the compiler to read once (targets.cmake).
#pragma once

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "product_headers.h"
