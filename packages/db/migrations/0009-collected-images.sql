-- The engine id of an image that was built for a release that is kept no longer, until the engine has removed it. image_id is null
-- from then on: the release cannot be run again.
alter table release add column collected_image text;
