#!/bin/sh
# Stands in for docker and podman: notes its arguments, and keeps a folder for each container. What runs "in" one is not run:
# solve.sh and agent.sh leave a mark, and test.sh a reward of 1 where that mark is, else 0.
echo "$*" >> "$HOME/engine.log"
for word in "$@"; do case $word in skillopt-*) box=$HOME/containers/${word%%:*} ;; esac; done
case "$1 $2" in
"info "*) if [ -e "$HOME/engine-is-down" ]; then echo "permission denied at docker.sock" >&2; exit 1; fi ;;
"image inspect") [ -e "$HOME/image" ] && echo sha256:feed ;;
"build "*) if [ -e "$HOME/no-such-image" ]; then echo "manifest unknown" >&2; exit 1; fi; touch "$HOME/image" ;;
"run "*) while [ "$1" != --name ]; do shift; done; mkdir -p "$HOME/containers/$2" ;;
"rm "*) rm -rf "$HOME/containers/$3" ;;
"diff "*) printf 'C /srv\nA /srv/ids.txt\nA /srv/.git\n' ;;
"cp "*) case $2 in
  skillopt-*) cp -r "$box/${2#*:}" "$3" ;;
  *) mkdir -p "$box/${3#*:}"; cp -r "$2" "$box/${3#*:}" ;; esac ;;
"exec "*)
  case $* in
  *"rm -rf"*) shift 4; for place; do rm -rf "$box/$place"; done ;;
  *solve.sh) touch "$box/solved" ;;
  *agent.sh) touch "$box/solved"; cat > /dev/null; echo Done. ;;
  *test.sh)
    [ ! -e "$HOME/tests-hang" ] || sleep 60
    mkdir -p "$box/logs/verifier"
    if [ -e "$box/solved" ]; then echo 1; else echo 0; fi > "$box/logs/verifier/reward.txt" ;;
  esac ;;
esac
