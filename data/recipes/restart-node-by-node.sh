#!/bin/sh
# Restarts the nodes of a cluster one after the other, each only if that hurts no queue at that moment, and stops at the
# first one where it would.
#
#   HAWB_API_USER=… HAWB_API_PASSWORD=… restart-node-by-node.sh http://rabbit:15672 rabbit@a rabbit@b rabbit@c
#
# RESTART is the command that restarts a node, called with its name: how that is done is yours to say.
set -eu
api=$1
shift
for node in "$@"; do
    # Asked anew before each: what was safe before the last restart need not be safe after it. 1 is no, 2 is a refused
    # input, 3 is that it cannot be told; whichever it is, no further node is touched.
    hawb safe --live "$api" --node "$node" || exit
    # Clients go, and leaders are handed over, while the node still runs.
    rabbitmq-upgrade --node "$node" drain
    "${RESTART:?is the command that restarts a node}" "$node"
    rabbitmqctl --node "$node" await_startup    # a boot ends the maintenance mode that drain began
    # Members that have come back are behind at first; the next node may be one that they need.
    rabbitmq-upgrade --node "$node" await_online_quorum_plus_one
done
