-- A value sealed with the vault's key at the first start: each later start proves by it that its key belongs to this database.
alter table installation add column secret_key_check bytea;
