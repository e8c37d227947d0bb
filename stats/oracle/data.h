// SPDX-License-Identifier: MIT
// Numbers for tests, the same on every machine: the raw data of make.R, which holds what R makes of
// them, and simulated samples.
#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

#include "base/random.h"
#include "stats/data/dataset.h"

namespace stab::stats::oracle {

// Park and Miller's generator (Communications of the ACM 31, 1988): exact in R's doubles too.
class Generator {
 public:
  explicit Generator(std::uint64_t seed) : state_(seed) {}

  double uniform() {
    state_ = 16807 * state_ % 2147483647;
    return static_cast<double>(state_) / 2147483647;
  }
  double noise() {
    const double first = uniform();
    const double second = uniform();
    return first + second + uniform() - 1.5;
  }

 private:
  std::uint64_t state_;
};

inline Column column(std::string name, std::uint32_t levels, const std::string& prefix) {
  Column result{.name = std::move(name), .levels = {}, .codes = {}};
  for (std::uint32_t i = 1; i <= levels; ++i) result.levels.push_back(prefix + std::to_string(i));
  return result;
}

struct Size {
  std::uint32_t subjects = 1;
  std::uint32_t opt = 2;
  std::uint32_t aslr = 1;
  std::uint32_t blocks = 1;
};

// Columns bench, opt, aslr, block, in this order.
inline Dataset programs(std::uint64_t seed, const Size& size) {
  Generator random(seed);
  Dataset data;
  data.columns = {column("bench", size.subjects, "b"), column("opt", size.opt, "O"),
                  column("aslr", size.aslr, "a"), column("block", size.blocks, "")};
  for (std::uint32_t s = 0; s < size.subjects; ++s) {
    const double base = 2e8 + 7e8 * random.uniform();
    std::vector<double> effect;
    for (std::uint32_t i = 0; i < size.opt; ++i)
      for (std::uint32_t j = 0; j < size.aslr; ++j)
        effect.push_back(1 - 0.03 * i + 0.01 * j + 0.02 * random.noise());
    for (std::uint32_t r = 0; r < size.blocks; ++r) {
      const double speed = 1 + 0.01 * random.noise();
      for (std::uint32_t cell = 0; cell < effect.size(); ++cell) {
        data.response.push_back(
            std::nearbyint(base * effect[cell] * speed * (1 + 0.01 * random.noise())));
        const std::uint32_t codes[] = {s, cell / size.aslr, cell % size.aslr, r};
        for (std::size_t c = 0; c < 4; ++c) data.columns[c].codes.push_back(codes[c]);
      }
    }
  }
  return data;
}

// Columns opt, seed.
inline Dataset seeds(std::uint64_t seed, std::uint32_t levels, std::uint32_t seeds,
                     std::uint32_t runs) {
  Generator random(seed);
  Dataset data;
  data.columns = {column("opt", levels, "O"), column("seed", seeds, "s")};
  for (std::uint32_t i = 0; i < levels; ++i) {
    for (std::uint32_t j = 0; j < seeds; ++j) {
      const double layout = 0.03 * random.noise();
      for (std::uint32_t r = 0; r < runs; ++r) {
        data.response.push_back(
            std::nearbyint(4e8 * (1 - 0.02 * i) * (1 + layout) * (1 + 0.005 * random.noise())));
        data.columns[0].codes.push_back(i);
        data.columns[1].codes.push_back(j);
      }
    }
  }
  return data;
}

// The rows whose fate `keep` decides; rows count from 1, as in R.
template <class Keep>
Dataset rows_where(const Dataset& data, Keep keep) {
  Dataset result;
  for (const Column& c : data.columns)
    result.columns.push_back({.name = c.name, .levels = c.levels, .codes = {}});
  for (std::size_t row = 0; row < data.response.size(); ++row) {
    if (!keep(row + 1)) continue;
    result.response.push_back(data.response[row]);
    for (std::size_t c = 0; c < data.columns.size(); ++c)
      result.columns[c].codes.push_back(data.columns[c].codes[row]);
  }
  return result;
}

inline Dataset without_rows(const Dataset& data, const std::vector<std::size_t>& lost) {
  return rows_where(data, [&](std::size_t row) {
    for (const std::size_t other : lost)
      if (row == other) return false;
    return true;
  });
}

inline double sum(const std::vector<double>& values) {
  double total = 0;
  for (const double x : values) total += x;
  return total;
}

// R's PlantGrowth: dried weights of plants, groups ctrl, trt1, trt2 (Dobson: An introduction to
// statistical modelling, 1983).
inline Dataset plant_growth() {
  Dataset data{.response = {4.17, 5.58, 5.18, 6.11, 4.50, 4.61, 5.17, 4.53, 5.33, 5.14,
                            4.81, 4.17, 4.41, 3.59, 5.87, 3.83, 6.03, 4.89, 4.32, 4.69,
                            6.31, 5.12, 5.54, 5.50, 5.37, 5.29, 4.92, 6.15, 5.80, 5.26},
               .columns = {{.name = "group", .levels = {"ctrl", "trt1", "trt2"}, .codes = {}}}};
  for (std::uint32_t i = 0; i < 30; ++i) data.columns[0].codes.push_back(i / 10);
  return data;
}

// Simulated normal numbers (Box and Muller, 1958).
class Normal {
 public:
  explicit Normal(std::uint64_t seed) : random_(seed) {}

  // On (0, 1).
  double uniform() { return (static_cast<double>(random_.next() >> 12) + 0.5) * 0x1p-52; }

  double next() {
    const double radius = std::sqrt(-2 * std::log(uniform()));
    return radius * std::cos(2 * std::numbers::pi * uniform());
  }

  std::vector<double> sample(std::size_t n, double mean = 0, double sd = 1) {
    std::vector<double> values(n);
    for (double& x : values) x = mean + sd * next();
    return values;
  }

 private:
  Random random_;
};

}  // namespace stab::stats::oracle
