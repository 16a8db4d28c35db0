#!/usr/bin/env bash
# two_hosts.sh COMMAND...: runs the command as 2 + 2 ranks of Open MPI on two emulated hosts, each with a network, a
# host name and an /etc/hosts of its own. Leaves nothing behind. Exit code 77: not possible here, with the reason.
set -euo pipefail

refuse() {
  echo "two hosts cannot be emulated here: $1"
  exit 77
}
for program in ip unshare nsenter hostname mpirun.openmpi; do
  command -v "$program" >/dev/null || refuse "$program is not installed"
done
unshare -n -u -m true 2>/dev/null || refuse "namespaces of its own are not allowed to this user"

folder=$(mktemp -d)
hosts=()
finish() {
  ((${#hosts[@]} == 0)) || kill -KILL "${hosts[@]}" 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

printf '127.0.0.1 localhost\n192.0.2.1 h1\n192.0.2.2 h2\n' >"$folder/hosts"
for number in 1 2; do
  unshare -n -u -m sh -c "mount --bind '$folder/hosts' /etc/hosts && hostname h$number && touch '$folder/up$number' &&
    exec sleep 600" >"$folder/log" 2>&1 &
  hosts+=($!)
done
for number in 1 2; do
  for ((tries = 0; tries < 600; ++tries)); do
    [[ -e $folder/up$number ]] && break
    kill -0 "${hosts[number - 1]}" 2>/dev/null || refuse "$(tail -n 1 "$folder/log")"
    sleep 0.05
  done
  [[ -e $folder/up$number ]] || refuse "the namespace of host $number did not come up within 30 s"
done
ip link add e0 netns "${hosts[0]}" type veth peer name e0 netns "${hosts[1]}" 2>"$folder/log" ||
  refuse "$(tail -n 1 "$folder/log")"
for number in 1 2; do
  enter=(nsenter -t "${hosts[number - 1]}" -n)
  "${enter[@]}" ip addr add "192.0.2.$number/24" dev e0
  "${enter[@]}" ip link set e0 up
  "${enter[@]}" ip link set lo up
done

cat >"$folder/agent" <<AGENT
#!/usr/bin/env bash
case \$1 in h1) host=${hosts[0]} ;; h2) host=${hosts[1]} ;; esac
shift
exec nsenter -t "\$host" -n -u -m bash -c "\$*"
AGENT
chmod +x "$folder/agent"
names=()
for name in PATH LD_LIBRARY_PATH $(compgen -e TUTTI_); do [[ -z ${!name+set} ]] || names+=(-x "$name"); done
root=()
((EUID != 0)) || root=(--allow-run-as-root)
nsenter -t "${hosts[0]}" -n -u -m mpirun.openmpi --mca plm_rsh_agent "$folder/agent" --mca btl_tcp_if_include e0 \
  --mca oob_tcp_if_include e0 --mca mpi_yield_when_idle 1 --oversubscribe "${root[@]}" -H h1:2,h2:2 -n 4 \
  "${names[@]}" "$@"
