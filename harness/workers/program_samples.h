// What a rung 0 program printed, turned into durations. Pure but for nvbench's binary files, which
// its JSON names. Each throws Error(kBroken, where, ...) if nothing of the workload is there or a
// number is no duration.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace abba::workers {

// Lines "abba-sample WORKLOAD NS"; every other line is ignored.
std::vector<std::int64_t> read_sample_lines(const std::string& text, const std::string& workload,
                                            const std::string& where);

// Google Benchmark's --benchmark_format=json: one sample per repetition (run_type "iteration"), the
// real time of one iteration, of the benchmark whose name or run_name is `benchmark`.
std::vector<std::int64_t> read_google_benchmark(const std::string& json,
                                                const std::string& benchmark,
                                                const std::string& where);

// nvbench's --jsonbin FILE: the sample times of the benchmark "NAME" or the state "NAME STATE";
// files are relative to `folder`.
std::vector<std::int64_t> read_nvbench(const std::string& json, const std::string& benchmark,
                                       const std::string& folder, const std::string& where);

}  // namespace abba::workers
