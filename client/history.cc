// SPDX-License-Identifier: MIT

#include "client/history.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "base/text.h"
#include "client/client.h"
#include "client/run_folder.h"
#include "client/streams.h"
#include "protocol/document.h"
#include "protocol/messages.h"
#include "results/history.h"

namespace stab::client {
namespace {

// An experiment in the list.
struct ListedExperiment {
  std::int64_t id = 0;
  std::string name;
  std::string state;
};

// Reads reports from a daemon or a folder.
class Source {
 public:
  static Result<Source> open(const Common& common) {
    Source source;
    source.better_ = common.better;
    if (!common.state.empty()) {
      source.folder_ = common.state;
      return source;
    }
    auto client = Client::connect(common.sockets);
    if (!client) return std::unexpected(client.error());
    source.client_ = std::move(*client);
    return source;
  }

  // All experiments, in the order of their numbers.
  Result<std::vector<ListedExperiment>> list() {
    std::vector<ListedExperiment> all;
    if (client_) {
      const auto answer = client_->ask(protocol::ListRequest{});
      if (!answer) return std::unexpected(answer.error());
      for (const protocol::Summary& each : answer->experiments)
        all.push_back({.id = each.id, .name = each.name, .state = each.state});
    } else {
      const auto stored = open_stored(folder_);
      if (!stored) return std::unexpected(stored.error());
      const auto found = stored->reader->experiments();
      if (!found) return fail(found.error().message);
      for (const store::Experiment& each : found->intact)
        all.push_back({.id = each.id, .name = each.name, .state = each.state});
      for (const store::Damage& each : found->damaged)
        all.push_back({.id = each.row, .name = "", .state = "damaged"});
    }
    std::ranges::sort(all, {}, &ListedExperiment::id);
    return all;
  }

  Result<results::history::Experiment> report(std::int64_t id, const std::string& response,
                                              const std::string& benchmark) {
    // The direction is that of the response which the user chose.
    const protocol::ResultsRequest request{.id = id,
                                           .response = response,
                                           .better = response.empty() ? std::string() : better_,
                                           .machines_as_one = true};
    const auto answer = client_ ? client_->ask(request) : answer_stored(folder_, request);
    if (!answer) return std::unexpected(answer.error());
    return results::history::experiment_in(answer->document, benchmark);
  }

 private:
  std::optional<Client> client_;
  std::string folder_;
  std::string better_;
};

class Collector {
 public:
  Collector(Source& source, const Common& common, const HistoryOptions& options)
      : source_(source), options_(options), response_(common.response) {}

  Result<results::history::History> collect(std::vector<ListedExperiment> list) {
    if (!options_.experiment.empty())
      std::erase_if(list,
                    [&](const ListedExperiment& each) { return each.name != options_.experiment; });
    if (list.size() > options_.last) {
      not_looked_at_ = list.size() - options_.last;
      list.erase(list.begin(), list.end() - static_cast<std::ptrdiff_t>(options_.last));
    }
    std::reverse(list.begin(), list.end());
    for (const ListedExperiment& each : list) look_at(each);
    if (found_.empty()) return nothing();
    auto made = results::history::make_history(
        options_.benchmark, std::move(found_),
        {.alpha = options_.alpha, .seed = options_.seed, .pool = options_.pool});
    made.not_looked_at = not_looked_at_;
    made.left_out.insert(made.left_out.begin(), left_out_.begin(), left_out_.end());
    return made;
  }

 private:
  // Must be called in order from the latest experiment. If the user chose no response, the latest
  // experiment that measured the benchmark determines it.
  void look_at(const ListedExperiment& each) {
    if (each.state != "done") {
      if (each.state == "damaged") leave_out(each, "its row is damaged");
      return;
    }
    auto read = source_.report(each.id, response_, options_.benchmark);
    if (read) others_.insert(read->others.begin(), read->others.end());
    if (read && !read->means.empty()) {
      is_known_ = true;
      if (response_.empty()) response_ = read->response;
      return found_.push_back(std::move(*read));
    }
    if (response_.empty()) {
      if (!read) leave_out(each, read.error().message);
      return;
    }
    // The names of benchmarks depend on the response: "sort" has a wall time, "sort/BM_a" has
    // measures of Google Benchmark.
    const auto own = source_.report(each.id, "", options_.benchmark);
    if (!own) return leave_out(each, own.error().message);
    others_.insert(own->others.begin(), own->others.end());
    if (own->means.empty()) return;
    is_known_ = true;
    leave_out(each, read ? fmt::format("'{}' was not measured for {}", response_,
                                       one_line(options_.benchmark, 100))
                         : read.error().message);
  }

  void leave_out(const ListedExperiment& each, const std::string& reason) {
    left_out_.push_back({.id = each.id, .name = each.name, .reason = one_line(reason, 500)});
  }

  [[nodiscard]] std::unexpected<Error> nothing() const {
    const std::string name = one_line(options_.benchmark, 100);
    const std::vector<std::string> known(others_.begin(), others_.end());
    if (!left_out_.empty() && (is_known_ || known.empty()))
      return fail(
          fmt::format("no usable experiment has measured {} for {}; experiment {} is left out: {}",
                      response_.empty() ? "a number" : response_, name, left_out_.front().id,
                      left_out_.front().reason));
    if (known.empty())
      return fail(fmt::format(
          "no experiment here has finished{}: look for finished experiments with 'stabctl list' "
          "and 'stabctl runs'",
          options_.experiment.empty() ? ""
                                      : " under the name " + one_line(options_.experiment, 100)));
    const std::string near = nearest(options_.benchmark, known);
    return fail(one_line(
        fmt::format("no experiment has measured {}{}{}; the experiments here have measured {}",
                    name, near.empty() ? "" : ", did you mean " + near + "?", unread_words(),
                    fmt::join(known, ", ")),
        1000));
  }

  // "; 2 more cannot be read, among them experiment 3: its row is damaged"
  [[nodiscard]] std::string unread_words() const {
    if (left_out_.empty()) return "";
    return fmt::format("; {} more cannot be read, among them experiment {}: {}", left_out_.size(),
                       left_out_.front().id, one_line(left_out_.front().reason, 200));
  }

  Source& source_;
  const HistoryOptions& options_;
  std::string response_;
  std::vector<results::history::Experiment> found_;
  std::vector<results::history::LeftOut> left_out_;
  std::set<std::string> others_;
  bool is_known_ = false;  // some experiment measured the benchmark
  std::size_t not_looked_at_ = 0;
};

}  // namespace

Result<int> show_history(const Common& common, const HistoryOptions& options) {
  auto source = Source::open(common);
  if (!source) return std::unexpected(source.error());
  auto list = source->list();
  if (!list) return std::unexpected(list.error());
  Collector collector(*source, common, options);
  const auto made = collector.collect(std::move(*list));
  if (!made) return std::unexpected(made.error());
  if (!options.html.empty())
    if (auto written = write_output(history::as_page(*made), options.html, Colours::none); !written)
      return std::unexpected(written.error());
  const std::string text = common.json ? history::as_json(*made) : history::as_text(*made);
  if (auto written = write_output(text, "", Colours::ours); !written)
    return std::unexpected(written.error());
  return exit_ok;
}

}  // namespace stab::client
