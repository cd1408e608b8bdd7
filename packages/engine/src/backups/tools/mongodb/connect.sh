. /davit/common.sh
# The password goes by a file: the tools take it from nowhere else but their arguments.
umask 077
mkdir -p /tmp/davit
speak_with() {
  uri="mongodb://$DAVIT_LOGIN:$DAVIT_PASSWORD@$1:$2/?authSource=admin"
  printf 'uri: "%s"\n' "$uri" > /tmp/davit/tools.yaml
  printf 'db = connect("%s");\n' "mongodb://$DAVIT_LOGIN:$DAVIT_PASSWORD@$1:$2/admin?authSource=admin" > /tmp/davit/connect.js
}
# The shell of version 6 and later, or the one before.
ask() {
  if command -v mongosh >/dev/null; then mongosh --quiet --nodb --norc /tmp/davit/connect.js "$@"; else mongo --quiet --nodb --norc /tmp/davit/connect.js "$@"; fi
}
tool() { program=$1; shift; "$program" --config=/tmp/davit/tools.yaml "$@"; }

cat > /tmp/davit/census.js <<'JS'
const own = ['admin', 'config', 'local'];
for (const { name } of db.adminCommand({ listDatabases: 1 }).databases) {
  if (own.includes(name)) continue;
  const one = db.getSiblingDB(name);
  const sums = one.runCommand({ dbHash: 1 }).collections || {};
  for (const info of one.getCollectionInfos()) {
    const at = name + '.' + info.name;
    if (info.type !== 'collection' || info.name.startsWith('system.')) { print(info.type + ' ' + at); continue; }
    const indexes = one.getCollection(info.name).getIndexes().map((index) => index.name).sort().join(',');
    print('rows of ' + at + ' ' + one.getCollection(info.name).countDocuments({}) + ' ' + sums[info.name] + ' ' + indexes);
  }
}
JS
printf 'db.adminCommand({ ping: 1 });\n' > /tmp/davit/ping.js
census() { ask /tmp/davit/census.js | sort; }
