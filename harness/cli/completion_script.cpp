#include "harness/cli/completion_script.h"

#include "engine/base/text.h"
#include "harness/cli/options.h"

namespace abba::cli {

std::string completion_script(const std::string& shell) {
  std::string cases;
  std::string commands;
  for (const CommandFlags& entry : command_flags()) {
    commands += entry.command + " ";
    cases += "    " + entry.command + ") words=\"" + base::join(entry.flags, " ") + "\" ;;\n";
  }
  const std::string body = "_abba() {\n  local words=\"" + commands +
                           "--help --version\"\n  if [ \"$COMP_CWORD\" -gt 1 ]; then\n"
                           "  case \"${COMP_WORDS[1]}\" in\n" +
                           cases +
                           "    *) words=\"\" ;;\n  esac\n  fi\n"
                           "  COMPREPLY=($(compgen -W \"$words\" -f -- "
                           "\"${COMP_WORDS[COMP_CWORD]}\"))\n}\ncomplete -F _abba abba\n";
  return shell == "zsh" ? "autoload -U +X bashcompinit && bashcompinit\n" + body : body;
}

}  // namespace abba::cli
