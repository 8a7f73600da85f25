import type { Command, Option } from 'commander';

interface Word {
  readonly word: string;
  readonly about: string;
}

interface Flag extends Word {
  /** What stands behind it: nothing, something that may be a file, or what is none. */
  readonly takes: 'nothing' | 'file' | 'text';
}

/** What may follow one command. `path` is without `muster`. */
interface Place {
  readonly path: readonly string[];
  readonly children: readonly Word[];
  readonly flags: readonly Flag[];
}

function places(program: Command): Place[] {
  const found: Place[] = [];
  const visit = (command: Command, path: readonly string[]): void => {
    const help = command.createHelp();
    const children = help.visibleCommands(command).filter((child) => child.name() !== 'help');
    const flags = help
      .visibleOptions(command)
      .flatMap((option) =>
        option.long === undefined || option.long === null
          ? []
          : [{ word: option.long, about: option.description, takes: takenBy(option) }],
      );
    found.push({ path, children: children.map((child) => ({ word: child.name(), about: child.summary() })), flags });
    for (const child of children) visit(child, [...path, child.name()]);
  };
  visit(program, []);
  return found;
}

function takenBy({ required, optional, flags }: Option): Flag['takes'] {
  if (!required && !optional) return 'nothing';
  return /[<=[](file|dir|directory|path)\W/.test(flags) ? 'file' : 'text';
}

/**
 * The words typed so far, flags left out, choose the place. What a command is about comes before its flags, which are offered where one is
 * begun or nothing else is known; what neither knows is a file.
 */
export function bashCompletion(program: Command): string {
  const joined = (words: readonly Word[]) => words.map(({ word }) => word).join(' ');
  const cases = places(program).map(({ path, children, flags }) => {
    const taking = (what: Flag['takes']) => joined(flags.filter(({ takes }) => takes === what));
    return `    '${path.join(' ')}') children='${joined(children)}' flags='${joined(flags)}' of_text='${taking('text')}' of_file='${taking('file')}' ;;`;
  });
  return `# muster completion for bash
_muster_ask() { mapfile -t COMPREPLY < <(muster __complete "$@" 2>/dev/null); }
_muster() {
  local current="\${COMP_WORDS[COMP_CWORD]}" before="\${COMP_WORDS[COMP_CWORD-1]}" place='' children='' flags='' of_text='' of_file='' word
  local known='${knownPaths(program)}' of_nodes=''
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    case "$word" in --) of_nodes=yes; break ;; -*) continue ;; esac
    case "$known" in *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;; esac
  done
  # What stands behind -- is a command of nodes, which has nothing of ours.
  if [ -z "$of_nodes" ]; then
    case "$place" in
${cases.join('\n')}
    esac
    case "$current" in -*) COMPREPLY=($(compgen -W "$flags" -- "$current")); return ;; esac
    case "$before" in -*) ;; *)
      COMPREPLY=($(compgen -W "$children" -- "$current"))
      [ \${#COMPREPLY[@]} -gt 0 ] && return ;;
    esac
  fi
  # The words as they are without quotes. \`from\`: how much of the last one stands before what readline replaces, which begins at an
  # open quote, or else where words of bash end, as at colons and equals signs, which are part of ours.
  local line="\${COMP_LINE:0:COMP_POINT}" given=() text='' begun='' quote='' from=0 at char
  for ((at = 0; at < \${#line}; at++)); do
    char="\${line:at:1}"
    if [ -n "$quote" ] && [ "$char" = "$quote" ]; then quote=''
    elif [ "$quote" = "'" ]; then text+="$char"
    elif [ "$char" = '\\' ]; then at=$((at + 1)); text+="\${line:at:1}"; begun=yes
    elif [ -n "$quote" ]; then text+="$char"
    elif [ "$char" = "'" ] || [ "$char" = '"' ]; then quote="$char"; from=\${#text}; begun=yes
    elif [[ "$char" != [[:space:]] ]]; then
      text+="$char"; begun=yes
      [[ "$char" == [:=] && "$COMP_WORDBREAKS" == *"$char"* ]] && from=\${#text}
    elif [ -n "$begun" ]; then given+=("$text"); text=''; begun=''; from=0
    fi
  done
  _muster_ask "\${given[@]:1}" "$text"
  # Readline closes a quote behind the only one: an attribute goes on with its values.
  if [ -n "$quote" ] && [ \${#COMPREPLY[@]} -eq 1 ]; then
    word="\${COMPREPLY[0]}"
    case "$word" in *:)
      _muster_ask "\${given[@]:1}" "$word"
      [ \${#COMPREPLY[@]} -gt 0 ] || COMPREPLY=("$word") ;;
    esac
  fi
  case "\${COMPREPLY[*]}" in *[:=]) compopt -o nospace 2>/dev/null ;; esac
  COMPREPLY=("\${COMPREPLY[@]#"\${text:0:from}"}")
  [ -n "$quote" ] || COMPREPLY=("\${COMPREPLY[@]// /\\\\ }")
  [ \${#COMPREPLY[@]} -gt 0 ] && return
  # Behind a flag its value stands, and none of our words.
  case " $of_text " in *" $before "*) compopt +o default 2>/dev/null; return ;; esac
  case " $of_file " in *" $before "*) return ;; esac
  COMPREPLY=($(compgen -W "$children $flags" -- "$current"))
}
complete -o default -F _muster muster
`;
}

export function zshCompletion(program: Command): string {
  const described = (words: readonly Word[]) =>
    words.map(({ word, about }) => `'${zshWord(word)}:${zshText(about)}'`).join(' ');
  const cases = places(program).map(
    ({ path, children, flags }) =>
      `    '${path.join(' ')}') children=(${described(children)}) flags=(${described(flags)}) ;;`,
  );
  return `#compdef muster
# muster completion for zsh
_muster() {
  local place='' of_nodes='' word
  local -a children flags known_to_server
  local known='${knownPaths(program)}'
  for word in \${words[2,CURRENT-1]}; do
    case "$word" in --) of_nodes=yes; break ;; -*) continue ;; esac
    case "$known" in *"|\${place:+$place }$word|"*) place="\${place:+$place }$word" ;; esac
  done
  [[ -n "$of_nodes" ]] || case "$place" in
${cases.join('\n')}
  esac
  if [[ "\${words[CURRENT]}" == -* && -z "$of_nodes" ]]; then
    _describe 'muster' flags
    return
  fi
  known_to_server=("\${(@f)$(muster __complete "\${(@Q)words[2,CURRENT]}" 2>/dev/null)}")
  known_to_server=("\${(@)known_to_server:#}")
  if (( \${#known_to_server} )); then
    compadd -S '' -a known_to_server
    return
  fi
  _describe 'muster' children || _files || _describe 'muster' flags
}
if [ "$funcstack[1]" = "_muster" ]; then _muster; else compdef _muster muster; fi
`;
}

export function fishCompletion(program: Command): string {
  const lines = places(program).flatMap(({ path, children, flags }) =>
    [...children, ...flags].map(({ word, about }) => {
      const what = word.startsWith('--') ? `-l ${word.slice(2)}` : `-f -a ${word}`;
      return `complete -c muster -n '__muster_at "${path.join(' ')}"' ${what} -d '${fishText(about)}'`;
    }),
  );
  return `# muster completion for fish
function __muster_at
  set -l place ''
  set -l known '${knownPaths(program)}'
  for word in (commandline -opc)[2..-1]
    string match -q -- '-*' $word; and continue
    set -l next (string trim "$place $word")
    string match -q -- "*|$next|*" $known; and set place $next
  end
  test "$place" = "$argv[1]"
end
function __muster_ask
  muster __complete (commandline -opc)[2..-1] (commandline -ct | string trim -l -c '"\\'') 2>/dev/null
end
complete -c muster -a '(__muster_ask)'
${lines.join('\n')}
`;
}

/** `|push|push start|…|`: how a script tells a subcommand from an argument. */
function knownPaths(program: Command): string {
  return `|${places(program)
    .map(({ path }) => path.join(' '))
    .filter((path) => path !== '')
    .join('|')}|`;
}

function zshWord(word: string): string {
  return word.replaceAll(':', '\\:');
}

function zshText(text: string): string {
  return text.replaceAll("'", "'\\''").replaceAll(':', '\\:');
}

function fishText(text: string): string {
  return text.replaceAll('\\', '\\\\').replaceAll("'", "\\'");
}
