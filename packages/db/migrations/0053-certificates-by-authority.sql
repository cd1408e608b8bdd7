-- Limits and waits of certificates belong to an authority: the operator may change it.

-- null: recorded by an earlier version. Counts for every authority.
alter table address_certificate_issue add column directory text;
update address_certificate_issue i set directory = c.directory
  from certificate c where c.host = i.host and c.purpose = 'ADDRESS' and c.directory is not null;

-- The authority that attempts, failure, order and due_at belong to. null: recorded by an earlier version, or never tried.
alter table certificate add column tried_directory text;
