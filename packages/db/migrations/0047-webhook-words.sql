-- The words in which the receiver of a webhook expects deliveries: the base path of the vocabulary whose path the
-- request used that created the webhook; null: the words of the contract.
alter table webhook add column base_path text;
