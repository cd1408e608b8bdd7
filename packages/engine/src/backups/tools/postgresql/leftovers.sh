# What a restore leaves when it is killed: statements that the server goes on with, databases of its own, and once closed ones.

# Names of databases that a restore put aside. There are some from the moment that its own have their places.
formers() { ask -d template1 -c "select datname from pg_database where datname ~ '^davit_former_[0-9]+$'"; }

# Succeeds when no statement of an earlier restore is under way: until then nobody knows whether its databases get their places.
alone() {
  others=$(ask -d template1 -c "select count(pg_terminate_backend(pid)) from pg_stat_activity
                                 where application_name = 'davit restore' and pid <> pg_backend_pid()") || return 1
  [ "$others" = 0 ]
}

discard() {
  ask -d template1 <<'SQL'
select count(pg_terminate_backend(pid)) from pg_stat_activity where datname ~ '^davit_(restore|former)_[0-9]+$';
select format('drop database %I', datname) from pg_database where datname ~ '^davit_(restore|former)_[0-9]+$'
\gexec
SQL
}

tidy() {
  patiently alone
  reopen
  if [ -n "$(formers)" ]; then echo 'the restore had put all of the backup in place before it ended'; fi
  patiently discard
}
