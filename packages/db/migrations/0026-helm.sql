-- The values of a Helm chart may come from another repository than the chart: the commit that they were taken from, so that a rollback takes
-- the same ones. null: of other releases.
alter table release add column values_commit text;
