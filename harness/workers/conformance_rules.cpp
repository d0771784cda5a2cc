#include "harness/workers/conformance_rules.h"

namespace abba::workers {
namespace {

constexpr ConformanceRule kRules[] = {
    // Any message.
    {"answers-are-json", "each line on standard output is one JSON value, nested at most 32 deep"},
    {"one-answer-a-request", "one line answers one request; nothing is printed unasked"},
    {"answers-bounded", "an answer has at most 64 MiB"},
    {"answers-name-their-type", "an answer repeats the type of its request, or is an error"},
    {"errors-say-what", "an error carries a code and a message"},
    // hello
    {"hello-valid", "hello names protocol, program, version, files, capabilities and stages"},
    {"boundaries-nest", "at least one boundary; names differ, parents exist and come to an end"},
    {"metrics-declared", "each metric has a name of its own and a known direction"},
    {"factors-declared", "each factor has distinct levels, known exactness, a default among them"},
    {"capabilities-fit", "outputs is declared exactly with stages; factors come with load"},
    {"files-to-hash-exist", "each file that is to be hashed can be read"},
    {"version-refused", "a version that is not spoken is refused"},
    {"describe-equals-hello", "--describe prints what hello answers and ends with 0"},
    {"describe-touches-no-device", "--describe says the same where no device can be seen"},
    {"unknown-message-refused", "an unknown type is refused and the conversation goes on"},
    {"garbage-survived", "a line that is no JSON is refused and the conversation goes on"},
    {"large-request-refused", "a request over 1 MiB is refused and the conversation goes on"},
    // load
    {"load-valid", "load answers settings, factors and set-up times"},
    {"default-levels-in-effect",
     "a factor that is not named has its default level, or none and is refused by name"},
    {"levels-in-effect", "each level that can be loaded is the one in effect afterwards"},
    {"settings-in-effect", "a setting has the value that was asked for"},
    {"unknown-factor-refused", "an undeclared factor is refused"},
    {"unknown-level-refused", "an undeclared level is refused"},
    {"missing-file-refused", "a file that does not exist is refused"},
    {"device-named", "load names the device's UUID"},
    // prepare
    {"prepare-valid", "prepare answers the work and the facts of a workload"},
    {"prepare-ready", "prepare answers when the workload is ready"},
    {"prepare-answers-a-request", "readiness is one full request, and its time is given"},
    {"example-accepted", "the example input that hello gives can be prepared"},
    {"bad-prepare-refused", "a prepare message without a workload is refused"},
    {"load-forgets-workloads", "after a load every workload is prepared again before a slot"},
    {"workloads-kept", "two prepared workloads answer slots in turn"},
    // slot
    {"slot-valid", "a slot answers its arrays, allocations and digest in their form"},
    {"slot-id-echoed", "a slot answers with its own id"},
    {"request-echoed", "a slot repeats workload, boundary and warm-ups"},
    {"samples-counted", "one start and one duration for each request, whole nanoseconds"},
    {"samples-in-order", "a request starts after the one before has ended"},
    {"failures-in-order", "failed requests are listed once, rising"},
    {"requests-succeed", "no request fails"},
    {"samples-fit-the-exchange", "the samples take no longer than the slot's message did"},
    {"spans-nested", "a span lies in its request and in a span of its parent's name"},
    {"span-totals-add-up", "a total is the sum of its spans where all of them are listed"},
    {"span-limit-kept", "no span is listed beyond max_spans requests"},
    {"values-declared", "values are of declared metrics, one for each request"},
    {"unknown-workload-refused", "a slot of a workload that was not prepared is refused"},
    {"unknown-boundary-refused", "a slot of an undeclared boundary is refused"},
    {"bad-slot-refused", "a slot without requests is refused"},
    {"pacing-kept", "paced requests start no earlier than they are due"},
    {"injected-delay-measured", "a known delay shows in every sample"},
    {"hot-factors-switch", "a slot runs with the hot levels that it names, and repeats them"},
    {"cold-factors-refused", "a slot that names a factor which is not hot is refused"},
    {"flush-makes-cold", "after a flush the same walk over memory takes 1.5 times as long"},
    // outputs and digests
    {"digest-repeatable", "two slots of one process have the same digest"},
    {"digest-same-in-two-processes", "two processes have the same digest"},
    {"variants-repeatable", "the same seed draws the same variants of an input"},
    {"outputs-valid", "outputs answers type, shape, digest and, if asked, values of a stage"},
    {"stages-answered-once", "each stage is answered once"},
    {"stages-asked-for-only", "no stage is answered that was not asked for"},
    {"outputs-repeatable", "the same request has the same outputs"},
    {"digest-as-defined", "a digest is the SHA-256 of type, shape and bytes"},
    {"unknown-stage-refused", "an undeclared stage is refused"},
    // what only some workers do
    {"graph-capture-answered",
     "graph_capture answers a ledger: each shape once, with costs that are whole and not negative"},
    {"unprepared-capture-refused", "graph_capture of a workload that was not prepared is refused"},
    {"results-kept-by-capture", "after graph_capture a slot has the same digest as before"},
    {"serve-answered", "serve answers a base URL on this machine"},
    // the end
    {"shutdown-answered", "shutdown is answered"},
    {"shutdown-exits-zero", "after shutdown the process ends with 0"},
    {"end-of-input-ends", "the end of standard input ends the process"},
};

}  // namespace

std::span<const ConformanceRule> conformance_rules() {
  return kRules;
}

}  // namespace abba::workers
