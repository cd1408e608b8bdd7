-- The databases of an environment, oldest first: what each of its services is told of them by built-in variables.
create index service_database on service (environment_id) where type = 'DATABASE';
create function databases_of(environment uuid) returns jsonb language sql stable parallel safe as $$
  select coalesce(jsonb_agg(jsonb_build_object('id', id, 'name', name, 'spec', spec,
           'created_at', to_char(created_at at time zone 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')) order by created_at, id), '[]')
    from service where environment_id = environment and type = 'DATABASE'
$$;
