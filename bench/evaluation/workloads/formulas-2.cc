// SPDX-License-Identifier: MIT
// Two threads parse and evaluate formulas with muParser, each with a parser of its own. Every second formula is wrong,
// and its exception is caught in the thread, or passed on to main().
#include <muParser.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <functional>
#include <map>
#include <string>
#include <thread>

struct Work {
  std::map<int, long> errors;
  double sum = 0;
  std::exception_ptr last;
};

static void evaluate(Work& work, long first, long formulas) {
  for (long i = first; i < formulas; i += 2) {
    double x = 0;
    mu::Parser parser;
    parser.DefineVar("x", &x);
    const std::string n = std::to_string(i % 89);
    std::string text = "x^2/(" + n + "+x)+max(x," + n + ")*exp(-x)";
    if (i % 4 < 2) text += i % 8 < 4 ? ")" : "*missing" + n;
    try {
      parser.SetExpr(text);
      for (x = 1; x < 16; ++x) work.sum += parser.Eval();
    } catch (const mu::Parser::exception_type& error) {
      ++work.errors[static_cast<int>(error.GetCode())];
      work.last = std::current_exception();
    }
  }
}

int main(int count, char** arguments) {
  const long formulas = count > 1 ? std::atol(arguments[1]) : 1000;
  Work works[2];
  std::thread other(evaluate, std::ref(works[1]), 1, formulas);
  evaluate(works[0], 0, formulas);
  other.join();
  for (const Work& work : works) {
    std::printf("%.6e", work.sum);
    for (const auto& [code, times] : work.errors) std::printf(" %d:%ld", code, times);
    try {
      if (work.last) std::rethrow_exception(work.last);
    } catch (const mu::Parser::exception_type& error) {
      std::printf(" %s", error.GetMsg().c_str());
    }
    std::printf("\n");
  }
}
