# After a restore that did not end by itself.
. /davit/connect.sh
patiently detached
if [ -e /tmp/detached ]; then cat /tmp/detached; fi
