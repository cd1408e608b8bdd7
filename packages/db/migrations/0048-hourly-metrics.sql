-- Rows of an hour, for 30 days. A row is in one resolution only: minutes become five minutes after two hours, and those become hours
-- after a day.
-- Needs 0016: the check only allows more. Programs that know the table work with it.
alter table service_metric drop constraint service_metric_seconds_check;
alter table service_metric add constraint service_metric_seconds_check check (seconds in (60, 300, 3600));

-- The minutes are condensed every five minutes. Among the hours of many services they are a few rows.
create index service_metric_minutes on service_metric (at) where seconds = 60;
