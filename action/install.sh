#!/usr/bin/env bash
# Installs the client from this checkout, once per job, and tells the next step which Python runs it.
#
# The workspace may hold files of a stranger. Python runs isolated (-I), so it imports nothing from there and obeys no
# PYTHONPATH. pip runs code of other packages, so it gets only the variables that it needs: no token is among them.
set -euo pipefail

fail() {
  echo "::error title=prshots::$*"
  exit 1
}

new_enough_python() {
  local name
  for name in python3 python python3.14 python3.13 python3.12 python3.11; do
    if "$name" -I -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null; then
      echo "$name"
      return
    fi
  done
  return 1
}

keep_what_pip_needs() {
  local name
  # pip starts more Pythons, which do not inherit -I.
  cleanly=(env -i PYTHONSAFEPATH=1 PRSHOTS_WITHOUT_DASHBOARD=1)
  for name in $(compgen -e); do
    case $name in
      PATH | HOME | LANG | LC_ALL | TMPDIR | TMP | TEMP | XDG_* | LD_LIBRARY_PATH) ;;
      [Hh][Tt][Tt][Pp]_[Pp]* | [Hh][Tt][Tt][Pp][Ss]_[Pp]* | [Aa][Ll][Ll]_[Pp]* | [Nn][Oo]_[Pp]*) ;;  # proxies
      PIP_* | SSL_CERT_FILE | SSL_CERT_DIR | REQUESTS_CA_BUNDLE | CURL_CA_BUNDLE) ;;
      SYSTEMROOT | SystemRoot | WINDIR | COMSPEC | PATHEXT | USERPROFILE | APPDATA | LOCALAPPDATA | PROGRAMDATA) ;;
      *) continue ;;
    esac
    cleanly+=("$name=${!name}")
  done
}

make_venv() {
  # Use the existing pip if possible: installing another one takes as long as everything else.
  pip=("${cleanly[@]}" "$python" -I -m pip --python "$venv")
  "${cleanly[@]}" "$python" -I -m venv --clear --without-pip "$venv" && "${pip[@]}" --version >/dev/null 2>&1 && return
  pip=("${cleanly[@]}" "$venv/$programs/python" -I -m pip)
  "${cleanly[@]}" "$python" -I -m venv --clear "$venv"
}

[ -n "${RUNNER_TEMP:-}" ] || fail "RUNNER_TEMP is not set: run this in GitHub, Gitea or Forgejo Actions."
python=$(new_enough_python) ||
  fail "This action needs Python 3.11 or newer. Add \`uses: actions/setup-python@v6\` before it."

# Named after the checkout, which is named after the version: a job may use two versions.
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
  keep_what_pip_needs
  make_venv ||
    fail "Python could not create a virtual environment. On Debian and Ubuntu, install the package python3-venv."
  # Modules are compiled when they are imported: only a few are.
  "${pip[@]}" install --quiet --disable-pip-version-check --no-compile \
    --constraint "$GITHUB_ACTION_PATH/constraints.txt" "$package" ||
    fail "The client could not be installed. See the messages of pip above."
  touch "$venv/installed"
  echo "::endgroup::"
fi
echo "python=$venv/$programs/python" >> "$GITHUB_OUTPUT"
