-- Deliveries of a webhook follow each other; one that the receiver read and refused does not hold up the later ones.
alter table webhook_delivery add column is_refused boolean not null default false;
create index webhook_delivery_pending on webhook_delivery (webhook_id, sequence) where due_at is not null;
