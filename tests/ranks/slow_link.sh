#!/bin/sh
# Ranks of Open MPI in four network namespaces, which talk by TCP over links of 10 Mbit/s. Needs root, ip and tc.
# usage: slow_link.sh RANKS PROGRAM [ARGUMENT]...     exits with 77 where the machine has no namespaces
set -u
name=tally$$
folder=$(mktemp -d) || exit 1
end() {
    for i in 1 2 3 4; do ip netns del "$name-$i" 2>/dev/null; done
    ip link del "$name" 2>/dev/null
    rm -rf "$folder"
}
trap end EXIT
trap 'exit 1' HUP INT TERM
skip() { echo "skipped: $*"; exit 77; }
for tool in ip tc mpirun.openmpi; do command -v $tool >/dev/null 2>&1 || skip "no $tool"; done
ip link add "$name" type bridge 2>/dev/null || skip "no bridge: not root, or the kernel has none"
ip link set "$name" up || skip "no bridge"
for i in 1 2 3 4; do
    if ! { ip netns add "$name-$i" && ip link add "v$$-$i" type veth peer name eth0 netns "$name-$i" &&
        ip link set "v$$-$i" master "$name" up && ip -n "$name-$i" addr add "10.77.0.$i/24" dev eth0 &&
        ip -n "$name-$i" link set eth0 up && ip -n "$name-$i" link set lo up &&
        ip netns exec "$name-$i" tc qdisc add dev eth0 root tbf rate 10mbit burst 32kb latency 50ms; }; then
        skip "no network namespaces here"
    fi
    echo "10.77.0.$i slots=16" >>"$folder/hosts"
done 2>/dev/null
# What mpirun starts on another host, it starts by this in its namespace.
cat >"$folder/shell" <<END
#!/bin/sh
while [ "\${1#-}" != "\$1" ]; do shift; done
host=\$1
shift
exec ip netns exec "$name-\${host##*.}" sh -c "\$*"
END
chmod +x "$folder/shell"
ranks=$1
shift
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
ip netns exec "$name-1" mpirun.openmpi --hostfile "$folder/hosts" --map-by node --oversubscribe -n "$ranks" \
    --mca plm_rsh_agent "$folder/shell" --mca pml ob1 --mca btl self,tcp --mca btl_tcp_if_include 10.77.0.0/24 \
    --mca oob_tcp_if_include 10.77.0.0/24 --mca mpi_yield_when_idle 1 --mca hwloc_base_binding_policy none "$@"
