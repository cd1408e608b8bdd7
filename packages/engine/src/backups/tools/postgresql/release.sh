# After a restore that did not end by itself.
. /davit/connect.sh
. /davit/leftovers.sh
speak_with "$DAVIT_HOST" "$DAVIT_PORT"
patiently ask -d template1 -c 'select 1'
tidy
patiently ask -c 'select 1'
