-- When a service came into its stage, or was last skipped or taken in there: `updated_at` of the stage's entry. A row that an older program
-- writes keeps the former time.
alter table service add column stage_entry_updated_at timestamptz;
update service set stage_entry_updated_at = stage_entered_at;
alter table service alter column stage_entry_updated_at set default clock_timestamp();
alter table service alter column stage_entry_updated_at set not null;
