-- Programs that sign in with a code that a person confirms (RFC 8628). A row is deleted when the program gets its token.
create table device_sign_in (
  id uuid primary key,
  device_code_hash bytea not null unique,
  user_code text not null unique,
  name text not null,
  address text not null,
  -- What the program asks for. null: all rights of the person.
  wanted_scope text check (wanted_scope in ('READ', 'DEPLOY', 'WRITE')),
  state text not null default 'PENDING' check (state in ('PENDING', 'CONFIRMED', 'DENIED')),
  -- Set by the person who confirms.
  person_id uuid references person (id) on delete cascade,
  organization_id uuid references organization (id) on delete cascade,
  scope text check (scope in ('READ', 'DEPLOY', 'WRITE')),
  token_days integer,
  -- Seconds between two requests of the program.
  pause_seconds integer not null,
  last_polled_at timestamptz,
  expires_at timestamptz not null,
  created_at timestamptz not null default clock_timestamp()
);
create index device_sign_in_person on device_sign_in (person_id);
create index device_sign_in_organization on device_sign_in (organization_id);

-- A token that a person got for a program ends with the membership that it has its rights from.
alter table api_token add column person_id uuid;
create index api_token_person on api_token (organization_id, person_id) where person_id is not null;

create function end_tokens_of_member() returns trigger language plpgsql as $$
begin
  delete from api_token where organization_id = old.organization_id and person_id = old.person_id;
  return null;
end
$$;
create trigger end_tokens_of_member after update on membership for each row
  when (old.role is distinct from new.role or old.custom_role_id is distinct from new.custom_role_id)
  execute function end_tokens_of_member();

create trigger end_tokens_of_former_member after delete on membership for each row execute function end_tokens_of_member();

create function end_tokens_of_owner() returns trigger language plpgsql as $$
begin
  delete from api_token where organization_id = new.id and person_id = old.owner_id;
  return null;
end
$$;
create trigger end_tokens_of_owner after update on organization for each row
  when (old.owner_id is distinct from new.owner_id) execute function end_tokens_of_owner();
