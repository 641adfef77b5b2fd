#!/usr/bin/env bash
# Installs the client of this very checkout, once per job, and has it do its work (run.py).
set -euo pipefail

fail() {
  echo "::error title=prshots::$*"
  exit 1
}

new_enough_python() {
  local name
  for name in python3 python python3.14 python3.13 python3.12 python3.11; do
    if "$name" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

make_venv() {
  # The pip that is there installs into it, if it can: to bring another takes as long as all the rest.
  pip=("$python" -m pip --python "$venv")
  "$python" -m venv --clear --without-pip "$venv" && "${pip[@]}" --version >/dev/null 2>&1 && return
  pip=("$venv/$programs/python" -m pip)
  "$python" -m venv --clear "$venv"
}

[ -n "${RUNNER_TEMP:-}" ] || fail "RUNNER_TEMP is not set: this wants to be run by a runner of Actions."
python=$(new_enough_python) ||
  fail "This needs Python 3.11 or newer on the runner. Put \`uses: actions/setup-python@v6\` before it."

# By the name of the checkout, which is that of its version: a job may use two.
package=${GITHUB_ACTION_PATH//\\//}
venv=$RUNNER_TEMP/prshots-$(basename "$package")
case ${PRSHOTS_INPUT_SHRINK:-} in
  [Tt]rue | TRUE)
    venv+="-shrink"
    package+="[shrink]"
    ;;
esac
programs=bin
if [ "${RUNNER_OS:-}" = Windows ]; then programs=Scripts; fi

if [ ! -e "$venv/installed" ]; then
  echo "::group::Install the prshots client"
  make_venv ||
    fail "Python could not make a virtual environment. On Debian and Ubuntu that wants the package python3-venv."
  # The few modules that are used get compiled when they are.
  PRSHOTS_WITHOUT_DASHBOARD=1 "${pip[@]}" install --quiet --disable-pip-version-check --no-compile \
    --constraint "$GITHUB_ACTION_PATH/constraints.txt" "$package" ||
    fail "The client could not be installed; pip says why, above."
  touch "$venv/installed"
  echo "::endgroup::"
fi
exec "$venv/$programs/python" "$GITHUB_ACTION_PATH/action/run.py"
