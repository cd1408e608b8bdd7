-- Images that Davit brought from a registry, with the names that it gave them on the engine. A pulled image that is not here is
-- somebody else's.
create table pulled_image (
  driver text not null,
  image_id text not null,
  names text[] not null,
  pulled_at timestamptz not null default clock_timestamp(),
  primary key (driver, image_id)
);
