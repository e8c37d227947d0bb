// SPDX-License-Identifier: MIT
#include "stabd/results/run_request.h"

#include "design/resolve.h"
#include "plan/substitute.h"

namespace stab::results {
namespace {

std::string from_directory(const std::string& directory, const std::string& path) {
  return path.empty() || path.starts_with('/') ? path : directory + "/" + path;
}

}  // namespace

protocol::RunRequest run_request(const plan::Plan& plan, const plan::Trial& trial,
                                 const std::string& directory, const BuiltPaths& built) {
  const plan::Benchmark& benchmark = plan.benchmarks[trial.benchmark];
  const plan::Task task = plan::resolve(plan, trial);
  plan::Variables late{{"SRC", directory}};
  if (!built.out.empty()) {
    late["OUT"] = built.out;
    late["DIR"] = built.tree;
  }
  protocol::RunRequest request{
      .argv = task.run,
      .env = task.env,
      .env_bytes = task.env_bytes,
      .directory = directory,
      .stdin_path = from_directory(directory, plan::substitute(task.stdin_file.value_or(""), late)),
      .aslr = task.aslr,
      .timeout = benchmark.timeout,
      .output_limit = benchmark.output_limit,
      .memory_limit = benchmark.memory_limit,
      .cpu_limit = benchmark.cpu_limit,
      .process_limit = benchmark.process_limit,
      .file_limit = benchmark.file_limit,
      .check = benchmark.check,
      .options = task.options,
      .needs = task.needs,
      .response = plan.analysis.response};
  for (std::string& word : request.argv) word = plan::substitute(word, late);
  for (auto& [name, value] : request.env) value = plan::substitute(value, late);
  return request;
}

}  // namespace stab::results
