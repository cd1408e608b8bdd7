select a.rolname, a.rolsuper, a.rolinherit, a.rolcreaterole, a.rolcreatedb, a.rolcanlogin, a.rolreplication, a.rolbypassrls,
       a.rolconnlimit, a.rolvaliduntil, case when a.rolname <> current_user then md5(a.rolpassword) end
  from pg_authid a where a.rolname !~ '^pg_' order by 1;
