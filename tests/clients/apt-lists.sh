# apt-lists.sh - source packages where the machine has not enabled them
#
# For sourcing.  apt_lists DIR makes apt use, until APT_CONFIG is unset, the
# machine's own list of where packages come from, with sources added, and
# lists and a cache of its own in DIR: nothing of the machine's is changed.
#
# SPDX-License-Identifier: MIT

apt_lists ()
{
  mkdir -p "$1/lists/partial" "$1/cache/archives/partial" "$1/parts"
  cat /etc/apt/sources.list /etc/apt/sources.list.d/*.list 2>/dev/null \
    | sed -n 's/^deb \(.*\)/deb \1\ndeb-src \1/p' > "$1/parts/machine.list"
  for file in /etc/apt/sources.list.d/*.sources; do
    test -f "$file" || continue
    sed 's/^Types:.*/Types: deb deb-src/' "$file" \
      > "$1/parts/$(basename "$file")"
  done
  cat > "$1/apt.conf" <<CONF
Dir::Etc::sourcelist "/dev/null";
Dir::Etc::sourceparts "$1/parts";
Dir::State::lists "$1/lists";
Dir::Cache "$1/cache";
APT::Sandbox::User "root";
CONF
  APT_CONFIG=$1/apt.conf
  export APT_CONFIG
  apt-get -q update
}
