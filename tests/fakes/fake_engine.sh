#!/bin/sh
# Stands in for docker and podman: notes its arguments, and keeps a folder for each container. What runs "in" one is not run:
# bash of solve.sh leaves a mark, and bash of test.sh a reward of 1 where that mark is, else 0.
echo "$*" >> "$HOME/engine.log"
inside() { echo "$HOME/containers/$1"; }
case "$1 $2" in
"info "*) [ ! -e "$HOME/engine-is-down" ] ;;
"image inspect") [ -e "$HOME/image" ] && echo sha256:feed ;;
"build "*) if [ -e "$HOME/no-such-image" ]; then echo "manifest unknown" >&2; exit 1; fi; touch "$HOME/image" ;;
"run "*) while [ "$1" != --name ]; do shift; done; mkdir -p "$(inside "$2")" ;;
"rm "*) rm -rf "$(inside "$3")" ;;
"kill "*) : ;;
"cp "*) case $2 in
  *:/*) cp -r "$(inside "${2%%:*}")/${2#*:}" "$3" ;;
  *) to="$(inside "${3%%:*}")/${3#*:}"; mkdir -p "$to"; cp -r "$2" "$to" ;; esac ;;
"exec "*)
  case $* in
  *"rm -rf"*) rm -rf "$(inside "$2")/$5" ;;
  *solve.sh) touch "$(inside "$4")/solved" ;;
  *test.sh)
    [ ! -e "$HOME/tests-hang" ] || sleep 60
    mkdir -p "$(inside "$4")/logs/verifier"
    if [ -e "$(inside "$4")/solved" ]; then echo 1; else echo 0; fi > "$(inside "$4")/logs/verifier/reward.txt" ;;
  esac ;;
esac
