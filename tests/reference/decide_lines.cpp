// abba_decide_lines CHECKPOINT [fp32 | bf16]: the C++ side of tests/reference/parity.py. Reads one
// request a line from standard input, {"state":, "questions":, "max_len":, "head_max_len":} (the
// budgets may be missing), and prints one line for each: {"rows": [{"ids":, "markers":, "logits":,
// "act":, "p":}, ...], "answers":, "usage":} or {"refused": reason}. One CPU thread.
#include <iostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/cpu/backend.h"
#include "engine/runtime/runtime.h"
#include "engine/runtime/wire.h"

namespace {

namespace runtime = abba::runtime;
using abba::text::PyValue;

template <typename Numbers>
PyValue list_of(const Numbers& numbers) {
  PyValue list = PyValue::list();
  for (const auto number : numbers) {
    if constexpr (std::is_integral_v<std::remove_const_t<decltype(number)>>) {
      list.items.push_back(PyValue::of_int(number));
    } else {
      list.items.push_back(PyValue::of_float(static_cast<double>(number)));
    }
  }
  return list;
}

PyValue answered(runtime::Runtime& engine, const PyValue& request) {
  const runtime::Response response =
      engine.answer(runtime::read_request(request, "standard input"));
  PyValue rows = PyValue::list();
  for (const runtime::AnsweredQuestion& question : response.answered) {
    PyValue row = PyValue::dict();
    row.add("ids", list_of(question.row.ids));
    row.add("markers", list_of(question.row.markers));
    row.add("logits", list_of(question.logits));
    row.add("act", list_of(question.action_logits));
    row.add("p", list_of(question.answer.exact));
    rows.items.push_back(std::move(row));
  }
  PyValue result = runtime::response_value(response);
  result.add("rows", std::move(rows));
  return result;
}

int run(runtime::Runtime& engine) {
  for (std::string line; std::getline(std::cin, line);) {
    const PyValue request = abba::text::parse_python_json(line, "standard input");
    PyValue result = PyValue::dict();
    try {
      result = answered(engine, request);
    } catch (const abba::base::Error& error) {
      result.add("refused", PyValue::of_string(error.what()));
    }
    std::cout << abba::text::python_dumps(result, true) << '\n';
  }
  return std::cout.flush() ? 0 : 5;
}

}  // namespace

int main(int argc, char** argv) {
  const std::string_view precision = argc == 3 ? argv[2] : "fp32";
  if (argc < 2 || argc > 3 || (precision != "fp32" && precision != "bf16")) {
    std::cerr << "usage: abba_decide_lines CHECKPOINT [fp32 | bf16] < REQUESTS\n";
    return 2;
  }
  try {
    abba::cpu::Settings settings;
    settings.precision =
        precision == "fp32" ? abba::ops::Precision::kFp32 : abba::ops::Precision::kBf16;
    runtime::LoadedModel model(argv[1], abba::cpu::make_backend(settings));
    return run(model.runtime);
  } catch (const abba::base::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
