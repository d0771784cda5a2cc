// The records as JSON and back, every member by its name: how those parts of a run are stored that
// are no table. Numbers that are no number or infinite are written as "nan", "inf", "-inf".
// from_json throws base::Error(kBadInput, where, ...) naming a member of a wrong kind. A member
// that is missing keeps its default (the file is older than the member); unknown ones are ignored.
#pragma once

#include <string>

#include "engine/base/json.h"
#include "harness/record/run_record.h"
#include "harness/record/verdict.h"

namespace abba::store {

base::Json to_json(const record::Manifest& value);
base::Json to_json(const record::Registration& value);
base::Json to_json(const record::Plan& value);
base::Json to_json(const record::WorkerHello& value);
base::Json to_json(const record::LoadReply& value);
base::Json to_json(const record::PrepareReply& value);
base::Json to_json(const record::Analysis& value);
base::Json to_json(const record::RunRecord& value);  // everything, samples included

void from_json(const base::Json& json, const std::string& where, record::Manifest& value);
void from_json(const base::Json& json, const std::string& where, record::Registration& value);
void from_json(const base::Json& json, const std::string& where, record::Plan& value);
void from_json(const base::Json& json, const std::string& where, record::WorkerHello& value);
void from_json(const base::Json& json, const std::string& where, record::LoadReply& value);
void from_json(const base::Json& json, const std::string& where, record::PrepareReply& value);
void from_json(const base::Json& json, const std::string& where, record::Analysis& value);

}  // namespace abba::store
