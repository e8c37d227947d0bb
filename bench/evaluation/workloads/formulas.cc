// SPDX-License-Identifier: MIT
// Parses and evaluates formulas with muParser. Every fourth formula is wrong, and its exception is caught.
#include <muParser.h>

#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

int main(int count, char** arguments) {
  const long formulas = count > 1 ? std::atol(arguments[1]) : 1000;
  double x = 0;
  double sum = 0;
  std::map<int, long> errors;
  mu::Parser parser;
  parser.DefineVar("x", &x);
  for (long i = 0; i < formulas; ++i) {
    const std::string n = std::to_string(i % 97);
    std::string text = "(x+" + n + ")*sqrt(x*x+1)-min(x," + n + ")/(1+abs(x-" + n + "))";
    if (i % 4 == 3) text += i % 8 == 3 ? "*(" : "+unknown" + n;
    try {
      parser.SetExpr(text);
      for (int k = 0; k < 20; ++k) {
        x = static_cast<double>(k);
        sum += parser.Eval();
      }
    } catch (const mu::Parser::exception_type& error) {
      ++errors[static_cast<int>(error.GetCode())];
    }
  }
  std::printf("%.6e", sum);
  for (const auto& [code, times] : errors) std::printf(" %d:%ld", code, times);
  std::printf("\n");
}
