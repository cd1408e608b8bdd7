-- What a runner must know to carry a deployment out. Programs before this migration have written nothing but version 1.
alter table deployment add column journal_version integer not null default 1;
