#!/bin/bash
# Stands for systemd in try-packages.sh: starts what a unit says, and stops it as the unit says. It keeps what it was asked for.
set -euo pipefail
echo "$*" >> /run/systemctl.log
action="$1"; shift
[ "$action" = daemon-reload ] && exit
units() { for word in "$@"; do case "$word" in --*|*@*) ;; *) echo "${word%.service}";; esac; done; }
pid_of() { cat "/run/unit.$1" 2> /dev/null || true; }
running() { local pid; pid="$(pid_of "$1")"; [ -n "$pid" ] && kill -0 "$pid" 2> /dev/null; }
start() {
  local unit="/lib/systemd/system/$1.service" user line
  line="$(sed -n 's/^ExecStart=//p' "$unit")"
  user="$(sed -n 's/^User=//p' "$unit")"
  for directory in $(sed -n 's/^StateDirectory=//p' "$unit"); do
    install -d -o "$user" -m "$(sed -n 's/^StateDirectoryMode=//p' "$unit")" "/var/lib/$directory"
  done
  setsid setpriv --reuid "$user" --regid "$user" --init-groups env -i -C / PATH="$PATH" $line >> "/var/log/$1.log" 2>&1 < /dev/null &
  echo $! > "/run/unit.$1"
}
# KillMode=process, as all units have it whose work outlives them.
stop() {
  running "$1" || return 0
  local pid; pid="$(pid_of "$1")"
  kill "$pid"
  for ((tries = 0; tries < 300; tries++)); do kill -0 "$pid" 2> /dev/null || break; sleep 0.1; done
  rm -f "/run/unit.$1"
}
for unit in $(units "$@"); do
  case "$action" in
    enable) case " $* " in *' --now '*) start "$unit";; esac;;
    stop) stop "$unit";;
    disable) ;;
    try-restart) if running "$unit"; then stop "$unit"; start "$unit"; fi;;
    *) echo "no action $action" >&2; exit 1;;
  esac
done
