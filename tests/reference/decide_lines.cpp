// abba_decide_lines CHECKPOINT [fp32 | bf16 [cpu | cuda]]: the C++ side of
// tests/reference/parity.py and of tests/device/text_decisions.py. Reads one request a line from
// standard input, {"state":, "questions":, "max_len":, "head_max_len":} (the budgets may be
// missing), and prints one line for each: {"rows": [{"ids":, "markers":, "logits":, "act":, "p":},
// ...], "answers":, "usage":} or {"refused": reason}. One CPU thread.
#include <iostream>
#include <string>
#include <string_view>
#include <type_traits>

#include "engine/base/error.h"
#include "engine/runtime/runtime.h"
#include "engine/runtime/wire.h"
#include "experiments/laya/engine_backend.h"

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
  const std::string_view precision = argc > 2 ? argv[2] : "fp32";
  const std::string_view backend = argc > 3 ? argv[3] : "cpu";
  if (argc < 2 || argc > 4 || (precision != "fp32" && precision != "bf16") ||
      (backend != "cpu" && backend != "cuda")) {
    std::cerr << "usage: abba_decide_lines CHECKPOINT [fp32 | bf16 [cpu | cuda]] < REQUESTS\n";
    return 2;
  }
  try {
    abba::laya::EngineSettings settings;
    settings.backend = backend;
    settings.cpu.precision = abba::ops::precision_by_name(precision);
    runtime::LoadedModel model(argv[1], abba::laya::make_backend(settings));
    return run(model.runtime);
  } catch (const abba::base::Error& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
