-- When a service came into its stage, or was last skipped or taken in there: `updated_at` of the stage's entry. An older program leaves the
-- former time.
alter table service add column stage_entry_updated_at timestamptz not null default clock_timestamp();
update service set stage_entry_updated_at = stage_entered_at;
