-- Requests merge if actor, action and merge key are equal. Until now the key was a part of the actor (`<id> DIFF`), which events showed.
-- While processes of the version before still accept requests, one of them may merge a request into a waiting plan or diff of the same
-- actor, because it does not compare the key: upgrade the processes that accept requests together.
alter table deployment add column merge_key text not null default '';
update deployment
   set merge_key = substr(actor, strpos(actor, ' ') + 1), actor = substr(actor, 1, strpos(actor, ' ') - 1)
 where actor ~ '^[^ ]+( (DIFF|PLAN|FORCE_UNLOCK|MIGRATE_STATE|DESTROY|FORGET))+$';
update audit_event set actor = substr(actor, 1, strpos(actor, ' ') - 1)
 where actor ~ '^[^ ]+( (DIFF|PLAN|FORCE_UNLOCK|MIGRATE_STATE|DESTROY|FORGET))+$';
