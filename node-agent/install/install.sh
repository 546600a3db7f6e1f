#!/bin/sh
# Makes this machine a GPU host of Edgerun, or brings one up to date:
#
#   (echo EDGERUN_JOIN_TOKEN=<join token>; curl -fsSL <edge>/agent/install.sh) | sudo sh -s --
#
# Without a token it asks for one on the terminal. A token among the arguments could be seen by other users.
# The script can be run again: what is there is kept or renewed. Nothing happens before the last line was read.
set -eu

# The edge that serves this script puts its own address here.
EDGE=

PREFIX=/opt/edgerun
COMMAND=/usr/local/bin/edgerun-agent
CONFIG=/etc/edgerun/agent.env
UNIT=edgerun-agent.service
UNIT_PATH=/etc/systemd/system/$UNIT
AGENT=$PREFIX/edgerun-agent.mjs

# The oldest Node that the agent runs on, and the one fetched if none is there; hashes as nodejs.org publishes them.
NODE_MIN_MAJOR=22
NODE_MIN_MINOR=16
NODE_VERSION=24.11.1
NODE_SHA256_X64=58a5ff5cc8f2200e458bea22e329d5c1994aa1b111d499ca46ec2411d58239ca
NODE_SHA256_ARM64=0dc93ec5c798b0d347f068db6d205d03dea9a71765e6a53922b682b91265d71f

CONNECT_SECONDS=60

say() { printf "%s\n" "$@"; }
warn() { printf 'warning: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$1" >&2
  shift
  for line in "$@"; do printf '  %s\n' "$line" >&2; done
  exit 1
}
has() { command -v "$1" >/dev/null 2>&1; }

usage() {
  cat <<'HELP'
Options:
  --token-file <file>     holds the join token; needed once, and again after the host was removed
                          (default: EDGERUN_JOIN_TOKEN, else it is asked for on the terminal)
  --edge <url>            address of the edge (default: where this script came from)
  --name <name>           name of this host (default: its host name)
  --data-center <id>      where this host is, such as EU-RO-1
  --runtime <kind>        docker (default) or process, which isolates nothing
  --state <directory>     what the agent remembers (default: /var/lib/edgerun-agent)
  --volumes <directory>   where the network volumes of workers are
  --allow-plain-http      speak to an edge of another computer without https
  --proxy <url>           proxy through which the edge is reached
  --node <path>           Node to run the agent with (default: one that fits, else one is fetched)
  --no-systemd            only install; say how to run the agent
  --uninstall [--now]     remove everything, after running jobs; with --now at once
HELP
}

# Arguments

read_arguments() {
  token=${EDGERUN_JOIN_TOKEN:-} token_file='' plain_http='' edge='' name='' data_center='' runtime='' state='' volumes='' proxy='' node=''
  with_systemd=yes uninstalls=no now=''
  unset EDGERUN_JOIN_TOKEN # no other program needs it
  while [ $# -gt 0 ]; do
    case $1 in
      --no-systemd) with_systemd=no ;;
      --uninstall) uninstalls=yes ;;
      --now) now=--now ;;
      --allow-plain-http) plain_http=true ;;
      --help | -h) usage && exit 0 ;;
      --token | --token-file | --edge | --name | --data-center | --runtime | --state | --volumes | --proxy | --node)
        [ -n "${2:-}" ] || die "$1 needs a value." "See --help."
        case $1 in
          --token)
            token=$2
            warn "Other users of this machine can see --token. Use --token-file, or EDGERUN_JOIN_TOKEN."
            ;;
          --token-file) token_file=$2 ;;
          --edge) edge=${2%/} ;;
          --name) name=$2 ;;
          --data-center) data_center=$2 ;;
          --runtime) runtime=$2 ;;
          --state) state=$2 ;;
          --volumes) volumes=$2 ;;
          --proxy) proxy=$2 ;;
          --node) node=$2 ;;
        esac
        shift
        ;;
      *) die "There is no option $1." "See --help." ;;
    esac
    shift
  done
}

read_token_file() {
  [ -z "$token_file" ] || token=$(cat -- "$token_file") || die "The join token could not be read."
}

# From the terminal, even where this script comes through a pipe; it is not shown.
ask_token() {
  (: >/dev/tty) 2>/dev/null || return 0
  printf 'Join token (GraphQL: joinTokenCreate): ' >/dev/tty
  trap 'stty echo </dev/tty; exit 130' HUP INT TERM
  stty -echo </dev/tty
  IFS= read -r token </dev/tty || token=''
  stty echo </dev/tty
  trap - HUP INT TERM
  printf '\n' >/dev/tty
}

# A name that is this very computer, so that nothing of it is sent over a network.
is_loopback() { # address
  host=${1#*://} host=${host%%/*}
  case $host in *@*) return 1 ;; esac
  case $host in
    localhost | localhost:* | *.localhost | *.localhost:* | '[::1]' | '[::1]:'*) return 0 ;;
    127.*) case ${host%%:*} in *[!0-9.]*) return 1 ;; *) return 0 ;; esac ;;
    *) return 1 ;;
  esac
}

# What an earlier run wrote for a setting; nothing if it wrote none.
kept() {
  [ -r "$CONFIG" ] || return 0
  sed -n "s/^$1=\"\\(.*\\)\"\$/\\1/p" "$CONFIG"
}

settle_arguments() {
  [ -n "$edge" ] || edge=$EDGE
  [ -n "$edge" ] || edge=$(kept EDGERUN_EDGE)
  [ -n "$edge" ] || die "Which edge shall this host belong to? Say it with --edge <url>."
  [ -n "$name" ] || name=$(kept EDGERUN_NAME)
  [ -n "$name" ] || name=$(uname -n)
  [ -n "$data_center" ] || data_center=$(kept EDGERUN_DATA_CENTER)
  [ -n "$runtime" ] || runtime=$(kept EDGERUN_RUNTIME)
  [ -n "$runtime" ] || runtime=docker
  [ -n "$state" ] || state=$(kept EDGERUN_STATE)
  [ -n "$state" ] || state=/var/lib/edgerun-agent
  [ -n "$volumes" ] || volumes=$(kept EDGERUN_VOLUMES)
  [ -n "$proxy" ] || proxy=$(kept HTTPS_PROXY)
  [ -n "$proxy" ] || proxy=${HTTPS_PROXY:-${https_proxy:-}}
  [ -n "$plain_http" ] || plain_http=$(kept EDGERUN_ALLOW_PLAIN_HTTP)
  [ -n "$plain_http" ] || plain_http=${EDGERUN_ALLOW_PLAIN_HTTP:-}
  case $edge in
    https://*) ;;
    http://*) is_loopback "$edge" || [ "$plain_http" = true ] || die \
      "$edge is not safe: without https others can read the join token, and change what is installed." \
      "Use its https address, or give --allow-plain-http if you trust the network." ;;
    *) die "--edge must begin with https://." ;;
  esac
  case $runtime in docker | process) ;; *) die "--runtime must be docker or process." ;; esac
  for path in "$state" "$volumes"; do
    case $path in '' | /*) ;; *) die "$path must be a whole path, from / on." ;; esac
  done
  case $state in / | /etc* | /usr* | /bin* | /opt | /var | /var/lib | /home | /root)
    die "--state must be a directory of the agent's own." ;;
  esac
  for value in "$edge" "$name" "$data_center" "$state" "$volumes" "$proxy" "$node"; do
    case $value in
      *[\"\\\$\`\']* | *'
'*) die "$value may not hold quotes, backslashes, \$ or line ends." ;;
    esac
  done
  read_token_file
  [ -n "$token" ] || [ -e "$state/host.json" ] || ask_token
  case $token in *[!A-Za-z0-9_-]*) die "This is no join token: it has letters, digits, _ and - only." ;; esac
  if [ -z "$token" ] && [ ! -e "$state/host.json" ]; then
    die "This host has not joined yet, so it needs a join token." \
      "Create one (GraphQL: joinTokenCreate) and paste the line that comes with it, or use --token-file."
  fi
}

# What must be there

check_machine() {
  [ "$(uname -s)" = Linux ] || die "A GPU host runs Linux; this is $(uname -s)."
  [ "$(id -u)" = 0 ] || die "This must run as root. Put sudo before sh."
  for command in sed mkdir mv chmod rm cat sha256sum mktemp; do
    has "$command" || die "The command $command is missing on this machine."
  done
  has curl || has wget || die "Neither curl nor wget is there. Install one of them."
  [ "$with_systemd" = no ] || [ -d /run/systemd/system ] || die \
    "This machine is not run by systemd, which would keep the agent running." \
    "With --no-systemd everything is installed, and you start the agent yourself: edgerun-agent run"
}

check_docker() {
  [ "$runtime" = docker ] || return 0
  has docker || die "Docker is missing, and workers run in its containers." \
    "Debian, Ubuntu:  apt-get install docker.io     or see https://docs.docker.com/engine/install" \
    "Then run this again. Without Docker: --runtime process, which isolates nothing."
  docker version >/dev/null 2>&1 || die "Docker is there, but its daemon does not answer." \
    "Start it:  systemctl enable --now docker     and see: docker version"
  if ! has nvidia-smi; then
    warn "nvidia-smi is not there: without the NVIDIA driver this host offers no GPU."
  elif ! has nvidia-ctk && ! has nvidia-container-cli; then
    die "This host has an NVIDIA driver, but containers cannot reach the GPUs: the NVIDIA Container Toolkit is missing." \
      "See https://docs.nvidia.com/datacenter/cloud-native/container-toolkit, then:" \
      "nvidia-ctk runtime configure --runtime=docker && systemctl restart docker"
  fi
}

# Files

fetch() { # address, file
  # A redirect must not lead from https to http.
  case $1 in https://*) protocols='=https' ;; *) protocols='=http,https' ;; esac
  if has curl; then
    ${proxy:+env "https_proxy=$proxy" "http_proxy=$proxy"} \
      curl --proto "$protocols" --tlsv1.2 -fsSL --retry 3 -o "$2" "$1"
  else
    if wget --version 2>/dev/null | grep -q GNU; then redirects=--max-redirect=0; else redirects=''; fi
    ${proxy:+env "https_proxy=$proxy" "http_proxy=$proxy"} wget -q $redirects -O "$2" "$1"
  fi || die "$1 could not be fetched." "Can this machine reach it? Behind a proxy: --proxy <url>"
}

verify() { # file, hash
  actual=$(sha256sum "$1")
  [ "${actual%% *}" = "$2" ] || die "$1 is not what it should be: its SHA-256 is ${actual%% *}, not $2." \
    "If the edge was deployed at this moment, run this again."
}

node_fits() { # path of a Node
  [ -x "$1" ] || return 1
  version=$("$1" --version 2>/dev/null) || return 1
  major=${version#v} major=${major%%.*}
  minor=${version#v*.} minor=${minor%%.*}
  case $major$minor in '' | *[!0-9]*) return 1 ;; esac
  [ "$major" -gt $NODE_MIN_MAJOR ] || { [ "$major" -eq $NODE_MIN_MAJOR ] && [ "$minor" -ge $NODE_MIN_MINOR ]; }
}

find_node() {
  if [ -n "$node" ]; then
    node_fits "$node" || die "$node is no Node of version $NODE_MIN_MAJOR.$NODE_MIN_MINOR or later."
    return 0
  fi
  for node in "$(kept EDGERUN_NODE)" "$PREFIX/node/bin/node" "$(command -v node || true)"; do
    if node_fits "$node"; then return 0; fi
  done
  fetch_node
}

fetch_node() {
  case $(uname -m) in
    x86_64) arch=x64 hash=$NODE_SHA256_X64 ;;
    aarch64) arch=arm64 hash=$NODE_SHA256_ARM64 ;;
    *) die "There is no Node for $(uname -m) to fetch. Install Node $NODE_MIN_MAJOR.$NODE_MIN_MINOR or later and pass --node <path>." ;;
  esac
  for command in tar gzip; do
    has "$command" || die "Node has to be unpacked, and $command is missing."
  done
  say "Fetching Node $NODE_VERSION ..."
  archive=node-v$NODE_VERSION-linux-$arch
  fetch "https://nodejs.org/dist/v$NODE_VERSION/$archive.tar.gz" "$scratch/node.tar.gz"
  verify "$scratch/node.tar.gz" $hash
  tar -xzf "$scratch/node.tar.gz" -C "$scratch" "$archive/bin/node" "$archive/LICENSE"
  rm -rf "$PREFIX/node"
  mv "$scratch/$archive" "$PREFIX/node"
  node=$PREFIX/node/bin/node
  node_fits "$node" || die "The fetched Node does not run on this machine." "Install another one and pass --node <path>."
}

place() { # file to be, mode; the content comes from standard input
  cat >"$1.new"
  chmod "$2" "$1.new"
  mv -f "$1.new" "$1"
}

install_agent() {
  fetch "$edge/agent/edgerun-agent.mjs" "$scratch/agent.mjs"
  fetch "$edge/agent/edgerun-agent.mjs.sha256" "$scratch/agent.sha256"
  verify "$scratch/agent.mjs" "$(cat "$scratch/agent.sha256")"
  version=$("$node" "$scratch/agent.mjs" --version) || die "The fetched agent does not start with $node."
  if [ -e "$AGENT" ] && ! cmp -s "$AGENT" "$scratch/agent.mjs"; then
    place "$PREFIX/edgerun-agent.previous.mjs" 644 <"$AGENT"
  fi
  place "$AGENT" 644 <"$scratch/agent.mjs"
  place "$COMMAND" 755 <<COMMAND_END
#!/bin/sh
exec env NODE_USE_ENV_PROXY=1 "$node" --disable-warning=ExperimentalWarning \\
  --env-file-if-exists=$CONFIG $AGENT "\$@"
COMMAND_END
}

write_settings() {
  mkdir -p /etc/edgerun "$state"
  chmod 700 "$state"
  {
    printf 'EDGERUN_EDGE="%s"\nEDGERUN_NAME="%s"\nEDGERUN_RUNTIME="%s"\nEDGERUN_STATE="%s"\nEDGERUN_NODE="%s"\n' \
      "$edge" "$name" "$runtime" "$state" "$node"
    [ -z "$data_center" ] || printf 'EDGERUN_DATA_CENTER="%s"\n' "$data_center"
    [ "$plain_http" != true ] || printf 'EDGERUN_ALLOW_PLAIN_HTTP="true"\n'
    [ -z "$volumes" ] || printf 'EDGERUN_VOLUMES="%s"\n' "$volumes"
    [ -z "$proxy" ] || printf 'HTTPS_PROXY="%s"\nHTTP_PROXY="%s"\nNO_PROXY="localhost,127.0.0.1"\n' "$proxy" "$proxy"
  } | place "$CONFIG" 600
  # The agent reads it once and removes it when the host has joined.
  if [ -n "$token" ]; then printf '%s\n' "$token" | place "$state/join-token" 600; fi
}

# systemd

# What the agent itself may take: containers of Docker have limits of their own, but plain processes count as its own.
memory_limits() {
  [ "$runtime" = docker ] || return 0
  printf 'MemoryHigh=1536M\nMemoryMax=2G\n'
}

write_unit() {
  place "$UNIT_PATH" 644 <<UNIT_END
[Unit]
Description=Edgerun agent: runs jobs on this host
Documentation=$edge/docs
Wants=network-online.target
After=network-online.target docker.service nvidia-persistenced.service
StartLimitIntervalSec=0

[Service]
EnvironmentFile=$CONFIG
ExecStart=$COMMAND run
Restart=always
RestartSec=2
# The edge does not know this host any more: starting again would not help.
RestartPreventExitStatus=78
# Workers continue while the agent is stopped or renewed; the next agent takes them over.
KillMode=process
TimeoutStopSec=60
OOMPolicy=continue
$(memory_limits)
NoNewPrivileges=yes
RestrictRealtime=yes
LockPersonality=yes
RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6 AF_NETLINK

[Install]
WantedBy=multi-user.target
UNIT_END
}

start_service() {
  systemctl daemon-reload
  systemctl --quiet enable "$UNIT"
  systemctl restart "$UNIT"
  if "$COMMAND" status --wait $CONNECT_SECONDS >"$scratch/status" 2>&1; then
    cat "$scratch/status"
    return 0
  fi
  cat "$scratch/status" >&2
  say "The last lines of its log:" >&2
  journalctl --no-pager --unit "$UNIT" --lines 15 --output cat >&2 || true
  die "The agent was started, but did not connect to $edge within $CONNECT_SECONDS s." \
    "Look what is in the way:  edgerun-agent doctor" "and run this again."
}

# The whole

uninstall() {
  if [ -x "$COMMAND" ] && [ -e "$AGENT" ]; then exec "$COMMAND" uninstall $now; fi
  [ ! -e "$PREFIX" ] || die "Parts of the agent are missing." \
    "Run this without --uninstall first, which repairs it, and then again."
  say "There is no agent on this machine."
}

install_edgerun() {
  read_arguments "$@"
  [ "$(id -u)" = 0 ] || die "This must run as root. Put sudo before sh."
  if [ "$uninstalls" = yes ]; then uninstall && return 0; fi
  check_machine
  settle_arguments
  check_docker
  umask 022
  scratch=$(mktemp -d)
  trap 'rm -rf "$scratch"' EXIT
  trap 'exit 130' HUP INT TERM
  mkdir -p "$PREFIX" "${COMMAND%/*}"
  find_node
  install_agent
  write_settings
  if [ "$with_systemd" = no ]; then
    say "Installed edgerun-agent $version. Start it, and keep it running:" "  edgerun-agent run"
    return 0
  fi
  write_unit
  start_service
  say "" "This host runs edgerun-agent $version. What now?" \
    "  edgerun-agent doctor      what could be better on this host" \
    "  edgerun-agent status      what runs here" \
    "  journalctl -fu ${UNIT%.service}   what the agent does"
}

install_edgerun "$@"
