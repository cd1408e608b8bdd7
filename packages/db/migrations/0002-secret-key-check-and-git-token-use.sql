-- A value sealed with the vault's key at the first start: each later start proves by it that its key belongs to this database.
alter table installation add column secret_key_check bytea;

-- Which services use a git token, for its record and before it is deleted.
create index service_git_token on service ((spec #>> '{git_repository,git_token_id}'));
