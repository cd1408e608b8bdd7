-- Programs that do not know 0052 delete certificates that belong to no custom domain. A worker of such a version may lead again
-- beside a newer one, so a certificate is deleted only after its purpose was changed to DOMAIN.
create function keep_own_certificate() returns trigger language plpgsql as $$
begin
  return null;
end
$$;
create trigger keep_own_certificate before delete on certificate for each row
  when (old.purpose <> 'DOMAIN') execute function keep_own_certificate();
