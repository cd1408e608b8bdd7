-- A key whose process seemed dead may have been given to another request: then the first one must not go through any more.
create or replace function mark_idempotency_key(request jsonb) returns void language plpgsql as $$
declare
  key_id constant uuid := request ->> 'idempotency_id';
begin
  update idempotency_key set has_changed = true where id = key_id and not has_changed;
  if not found and not exists (select from idempotency_key where id = key_id) then
    raise exception 'the idempotency key was given to another request' using errcode = 'DV409';
  end if;
end
$$;
