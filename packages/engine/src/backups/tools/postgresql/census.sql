-- What there is in a database: objects by name, and of each table the number of rows and a sum over all of them that does not
-- depend on their order.
set extra_float_digits = 1;
set datestyle = 'ISO, MDY';
set intervalstyle = 'postgres';
set timezone = 'UTC';
set bytea_output = 'hex';
set lc_monetary = 'C';
set row_security = off;
select 'object', n.nspname, c.relkind, c.relname from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 2, 3, 4;
select 'function', n.nspname, p.proname, md5(p.prosrc) from pg_proc p join pg_namespace n on n.oid = p.pronamespace
 where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by 2, 3, 4;
select 'constraint', n.nspname, c.conname, c.contype from pg_constraint c join pg_namespace n on n.oid = c.connamespace
 where n.nspname !~ '^pg_' and n.nspname <> 'information_schema' and c.contype <> 'n' order by 2, 3, 4;
select 'trigger', c.relname, t.tgname from pg_trigger t join pg_class c on c.oid = t.tgrelid where not t.tgisinternal order by 2, 3;
select 'extension', extname from pg_extension order by 2;
select 'large objects', count(*) from pg_largeobject_metadata;
select format('select %L, count(*), coalesce(sum((''x'' || substr(md5(davit_row::text), 1, 16))::bit(64)::bigint::numeric), 0) from only %I.%I davit_row',
              format('rows of %I.%I', n.nspname, c.relname), n.nspname, c.relname)
  from pg_class c join pg_namespace n on n.oid = c.relnamespace
 where c.relkind = 'r' and n.nspname !~ '^pg_' and n.nspname <> 'information_schema' order by n.nspname, c.relname
\gexec
