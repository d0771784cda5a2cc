// The checkpoints that the original publishes, by the names under which its clients ask for them.
#pragma once

#include <string>
#include <string_view>

namespace abba::runtime {

// "english", "multilingual" or "typed-decisions" for a name, an alias or the id of a repository
// that holds one checkpoint, white space around it and case aside; empty for anything else: a name
// of another service's model, or the repository that holds all three, which leaves the choice open.
std::string_view published_model(std::string_view name);

// Whether `name` is a path or the id of a repository other than the one that holds all three: a
// checkpoint of the client's choice, which must not be answered from another one.
bool names_a_source(std::string_view name);

// How the original calls a checkpoint of `family`: "typed" is "typed-decisions" there.
std::string published_name(std::string_view family);

}  // namespace abba::runtime
