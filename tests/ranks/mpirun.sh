#!/bin/sh
# Runs a program on so many ranks of Open MPI or MPICH, also as root and on fewer cores.
# usage: mpirun.sh openmpi|mpich RANKS PROGRAM [ARGUMENT]...
set -u
kind=$1 ranks=$2
shift 2
# Ranks of one machine talk through its memory; a failing network interface is not what is tested.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1
export OMPI_MCA_btl_vader_single_copy_mechanism=none OMPI_MCA_mpi_yield_when_idle=1 OMPI_MCA_hwloc_base_binding_policy=none
case $kind in
openmpi) exec mpirun.openmpi --oversubscribe -n "$ranks" "$@" ;;
mpich) exec mpirun.mpich -n "$ranks" "$@" ;;
*) echo "mpirun.sh: no MPI '$kind'" >&2; exit 2 ;;
esac
