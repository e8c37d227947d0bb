// SPDX-License-Identifier: MIT
#include "stabd/daemon/children/loop_child.h"

#include <fmt/format.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/wait.h>

#include <algorithm>
#include <csignal>
#include <utility>

namespace stab::daemon {
namespace {

LoopChild* owner(uv_poll_t* handle) {
  return static_cast<LoopChild*>(handle->data);
}

}  // namespace

Result<std::shared_ptr<LoopChild>> LoopChild::start(uv_loop_t* loop,
                                                    const machine::ContainedStart& what, bool idle,
                                                    const std::vector<unsigned>& cpus,
                                                    OnEnded ended) {
  auto process = machine::start_contained(what);
  if (!process) return std::unexpected(process.error());
  std::shared_ptr<LoopChild> child(new LoopChild);
  child->process_ = std::move(*process);
  child->ended_ = std::move(ended);
  child->self_ = child;
  if (idle) {
    const sched_param none{};
    sched_setscheduler(child->process_.pid, SCHED_IDLE, &none);
    setpriority(PRIO_PROCESS, static_cast<id_t>(child->process_.pid), 19);
  }
  child->move_to(cpus);
  if (const int failed = uv_poll_init(loop, &child->poll_, child->process_.pidfd.get());
      failed != 0) {
    child->kill_group();
    waitpid(child->process_.pid, nullptr, 0);
    child->self_.reset();
    return fail(fmt::format("cannot watch a process: {}", uv_strerror(failed)));
  }
  child->poll_.data = child.get();
  uv_poll_start(&child->poll_, UV_READABLE,
                [](uv_poll_t* handle, int, int) { owner(handle)->process_ended(); });
  return child;
}

void LoopChild::move_to(const std::vector<unsigned>& cpus) const {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const unsigned cpu : cpus)
    if (cpu < CPU_SETSIZE) CPU_SET(cpu, &set);
  if (!cpus.empty()) sched_setaffinity(process_.pid, sizeof set, &set);
}

void LoopChild::hurry() const {
  const sched_param none{};
  sched_setscheduler(process_.pid, SCHED_OTHER, &none);
  setpriority(PRIO_PROCESS, static_cast<id_t>(process_.pid), 0);
}

void LoopChild::send_signal(int number) const {
  ::kill(process_.pid, number);
}

// The child may lead a session of its own, so its process group is killed, too. A pid namespace
// ends with the child anyway.
void LoopChild::kill_group() const {
  ::kill(process_.pid, SIGKILL);
  ::kill(-process_.pid, SIGKILL);
}

void LoopChild::abandon() {
  ended_ = nullptr;
  kill_group();
}

void LoopChild::end(std::chrono::steady_clock::time_point until) {
  abandon();
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(until - std::chrono::steady_clock::now());
  if (has_ended(std::max(left, std::chrono::milliseconds(0)))) machine::reap(process_.pid);
  close();
}

bool LoopChild::has_ended(std::chrono::milliseconds within) const {
  pollfd wait{process_.pidfd.get(), POLLIN, 0};
  return poll(&wait, 1, static_cast<int>(within.count())) == 1;
}

void LoopChild::process_ended() {
  if (!has_ended(std::chrono::milliseconds(0))) return;
  // Until the child is reaped, the kernel gives its pid to no other process.
  kill_group();
  const auto status = machine::reap(process_.pid);
  const auto alive = self_;
  close();
  if (const auto ended = std::exchange(ended_, nullptr)) ended(status);
}

void LoopChild::close() {
  uv_close(reinterpret_cast<uv_handle_t*>(&poll_),
           [](uv_handle_t* handle) { owner(reinterpret_cast<uv_poll_t*>(handle))->self_.reset(); });
}

}  // namespace stab::daemon
