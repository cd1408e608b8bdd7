import { statement } from '@davit/db';

/**
 * The reason of the last failure, as text for users. `source`: the part that failed, which shows whether the authority
 * was contacted.
 */
export interface CertificateFailure {
  readonly source: 'DNS' | 'GATEWAY' | 'AUTHORITY' | 'LIMIT';
  readonly message: string;
  readonly at: string;
}

/**
 * Names that a certificate is for: a custom domain, Davit itself (also the wildcard above the addresses of services),
 * or one address of a service.
 */
export type Purpose = 'DOMAIN' | 'INSTALLATION' | 'ADDRESS';

export interface DueCertificate {
  readonly id: string;
  readonly host: string;
  readonly purpose: Purpose;
  readonly is_served: boolean;
  /** The authority that issued the certificate. Null: there is none yet. */
  readonly directory: string | null;
  readonly attempts: number;
  readonly checks: number;
  readonly failure: CertificateFailure | null;
  readonly order_url: string | null;
  readonly order_sealed: Uint8Array | null;
  /** The domain and its service; null for all but custom domains. */
  readonly use_cdn: boolean | null;
  readonly service_id: string | null;
  readonly service_type: string | null;
  readonly driver: string | null;
  /** Whether the settings of the service allow checks of DNS. */
  readonly is_checked: boolean;
}

/**
 * Parameters: whether wildcards can have a certificate, driver of this machine. Adds a row for each host that needs a
 * certificate and belongs to a service behind Davit's gateway.
 */
export const noteWanted = statement(
  'certificate_note_wanted',
  `insert into certificate (host)
   select d.host from custom_domain d join service s on s.id = d.service_id and s.driver = $2
    where d.generate_certificate and d.proven_at is not null and ($1 or d.host not like '*.%')
   on conflict (host) do nothing`,
);

/**
 * Parameter: hosts. Adds a row for each of Davit's own hosts. A row that was for something else is for Davit from then
 * on.
 */
export const noteOwn = statement(
  'certificate_note_own',
  `insert into certificate (host, purpose) select unnest($1::text[]), 'INSTALLATION'
   on conflict (host) do update set purpose = 'INSTALLATION' where certificate.purpose <> 'INSTALLATION'`,
);

/**
 * Selects the addresses of the HTTP and gRPC ports of services behind Davit's gateway, and those of public databases
 * that have a certificate of their own. Parameter: driver.
 */
const addresses = `select jsonb_path_query(r.config, '$.ports[*] ? (@.public == true).hosts[*]') #>> '{}' as host, t.desired
   from service_runtime t join release r on r.id = t.release_id join service s on s.id = t.service_id and s.driver = $1`;

/** Parameter: driver of this machine. Adds a row for each address of a running service. */
export const noteAddresses = statement(
  'certificate_note_addresses',
  `insert into certificate (host, purpose) select distinct host, 'ADDRESS' from (${addresses}) a where a.desired = 'RUNNING'
   on conflict (host) do nothing`,
);

/*
 * The database keeps certificates that are not for custom domains (migration 0054), so that a worker of an earlier
 * version, which does not know them, deletes none. The following statements therefore only change the purpose, and
 * `removeUnwanted` deletes the certificate, unless a custom domain has the host now.
 */

/**
 * Parameter: driver of this machine. Gives up certificates of addresses that no service has. Those of a stopped service
 * stay, because authorities limit how many can be issued.
 */
export const giveUpUnwantedAddresses = statement(
  'certificate_give_up_unwanted_addresses',
  `update certificate c set purpose = 'DOMAIN'
    where c.purpose = 'ADDRESS' and not exists (select from (${addresses}) a where a.host = c.host)`,
);

/** Parameter: Davit's own hosts. Gives up the certificates of former ones. */
export const giveUpUnwantedOwn = statement(
  'certificate_give_up_unwanted_own',
  `update certificate set purpose = 'DOMAIN' where purpose = 'INSTALLATION' and host <> all($1::text[])`,
);

export const giveUpAllAddresses = statement(
  'certificate_give_up_all_addresses',
  `update certificate set purpose = 'DOMAIN' where purpose = 'ADDRESS'`,
);

/**
 * Parameter: directory. Returns how many certificates this authority issued for new addresses within seven days, and
 * the seconds until the oldest of them no longer counts. Null: there is none.
 */
export const countAddressIssues = statement<{ count: number; seconds: number | null }>(
  'certificate_count_address_issues',
  `select count(*)::integer as count,
          extract(epoch from min(issued_at) + interval '7 days' - clock_timestamp())::double precision as seconds
     from address_certificate_issue
    where issued_at > clock_timestamp() - interval '7 days' and (directory = $1 or directory is null)`,
);

/** Parameters: host, directory. */
export const addAddressIssue = statement(
  'certificate_add_address_issue',
  'insert into address_certificate_issue (host, directory) values ($1, $2)',
);

export const removeOldAddressIssues = statement(
  'certificate_remove_old_address_issues',
  `delete from address_certificate_issue where issued_at < clock_timestamp() - interval '8 days'`,
);

/**
 * Parameter: whether wildcards can have a certificate. Removes certificates that are no longer wanted. The certificate
 * of a deleted domain stays as long as a service still answers under the domain, which it does until its next
 * deployment.
 */
export const removeUnwanted = statement(
  'certificate_remove_unwanted',
  `delete from certificate c
    where c.purpose = 'DOMAIN'
      and not exists (select from custom_domain d where d.host = c.host and d.generate_certificate and d.proven_at is not null
                         and ($1 or d.host not like '*.%'))
      and (c.sealed is null
           or exists (select from custom_domain d where d.host = c.host and d.proven_at is not null)
           or not exists (select from service_runtime t join release r on r.id = t.release_id
                           where t.desired = 'RUNNING'
                             and jsonb_path_exists(r.config, '$.ports[*].customHosts[*] ? (@ == $host)', jsonb_build_object('host', c.host))))`,
);

/**
 * Parameter: directory. Begins anew what another authority issued or refused, because the operator has changed the
 * authority: the new one knows neither the orders of the former one nor its waits. A certificate that the new authority
 * issued before is renewed when it would have been. A worker of an earlier version stores no `tried_directory`.
 */
export const beginElsewhere = statement(
  'certificate_begin_elsewhere',
  `update certificate
      set due_at = case when directory = $1 then greatest(clock_timestamp(), not_before + (not_after - not_before) * (2.0 / 3))
            else clock_timestamp() end,
          failure = case when directory = $1 then null else failure end,
          tried_directory = $1, attempts = 0, checks = 0, order_url = null, order_sealed = null
    where coalesce(tried_directory, directory) <> $1
       or (directory <> $1 and failure is null and due_at > clock_timestamp())`,
);

/**
 * Parameters: limit, driver of this machine, ids of certificates that are being issued. Returns other due certificates:
 * those of Davit itself first, then the longest due ones.
 */
export const dueCertificates = statement<DueCertificate>(
  'certificate_due',
  `select c.id, c.host, c.purpose, c.sealed is not null as is_served, c.directory, c.attempts, c.checks, c.failure, c.order_url, c.order_sealed,
          d.use_cdn, s.id as service_id, s.type as service_type, s.driver,
          s.spec #>> '{advanced_settings,deployment.custom_domain_check_enabled}' is distinct from 'false' as is_checked
     from certificate c
     left join custom_domain d on c.purpose = 'DOMAIN' and d.host = c.host and d.proven_at is not null and d.generate_certificate
     left join service s on s.id = d.service_id and s.driver = $2
    where c.due_at <= clock_timestamp() and (c.purpose <> 'DOMAIN' or s.id is not null) and c.id <> all($3::uuid[])
    order by c.purpose <> 'INSTALLATION', c.due_at, c.id limit $1`,
);

/** Parameters: id, URL of the order, sealed key, directory. URL and key are null if there is no longer an order. */
export const keepOrder = statement(
  'certificate_keep_order',
  'update certificate set order_url = $2, order_sealed = $3, tried_directory = $4 where id = $1',
);

/** Parameters: id, sealed certificate, directory, not_before, not_after, time of the renewal. */
export const storeCertificate = statement(
  'certificate_store',
  `update certificate set sealed = $2, directory = $3, tried_directory = $3, not_before = $4, not_after = $5, due_at = $6, attempts = 0, checks = 0,
          failure = null, order_url = null, order_sealed = null where id = $1`,
);

/** Parameters: id, failure, attempts, checks, milliseconds until the next attempt, directory. */
export const storeFailure = statement(
  'certificate_store_failure',
  `update certificate set failure = $2, attempts = $3, checks = $4, tried_directory = $6,
          due_at = clock_timestamp() + make_interval(secs => $5::double precision / 1000) where id = $1`,
);

/** Parameters: host, event data. Adds an event of the domain to the audit log: the outcome for its certificate. */
export const noteEvent = statement(
  'certificate_note_event',
  `insert into audit_event (organization_id, event_type, target_type, target_id, target_name, sub_target_type, project_id, project_name,
                            environment_id, environment_name, origin, triggered_by, actor, after)
   select d.organization_id, 'UPDATE', s.type, s.id, s.name, 'CUSTOM_DOMAIN', p.id, p.name, e.id, e.name, 'SERVICE_INTERNAL',
          'Davit', 'certificates', jsonb_build_object('id', d.id, 'domain', d.domain) || $2::jsonb
     from custom_domain d join service s on s.id = d.service_id join environment e on e.id = s.environment_id
     join project p on p.id = e.project_id
    where d.host = $1 and d.proven_at is not null`,
);

/** Parameters: host, token, answer. */
export const addChallenge = statement(
  'http_challenge_add',
  `insert into http_challenge (host, token, answer) values ($1, $2, $3)
   on conflict (host, token) do update set answer = excluded.answer, created_at = clock_timestamp()`,
);

export const removeChallenges = statement('http_challenge_remove', 'delete from http_challenge where host = $1');

/** Removes the challenges that a process left behind when it died. */
export const removeOldChallenges = statement(
  'http_challenge_remove_old',
  `delete from http_challenge where created_at < clock_timestamp() - interval '1 hour'`,
);

export const listChallenges = statement<{ host: string; token: string; answer: string }>(
  'http_challenge_list',
  'select host, token, answer from http_challenge order by host, token',
);

/** Returns the certificates in the form that gateways need. */
export const listServed = statement<{
  id: string;
  host: string;
  purpose: Purpose;
  sealed: Uint8Array;
  not_after: string;
  use_cdn: boolean | null;
}>(
  'certificate_list_served',
  `select c.id, c.host, c.purpose, c.sealed, c.not_after, d.use_cdn
     from certificate c left join custom_domain d on d.host = c.host and d.proven_at is not null
    where c.sealed is not null order by c.host`,
);

export interface CertificateRow {
  readonly is_served: boolean;
  readonly directory: string | null;
  readonly not_before: string | null;
  readonly not_after: string | null;
  readonly due_at: string;
  readonly attempts: number;
  readonly failure: CertificateFailure | null;
}

export const readCertificate = statement<CertificateRow>(
  'certificate_read',
  `select sealed is not null as is_served, directory, not_before, not_after, due_at, attempts, failure
     from certificate where host = $1`,
);

export interface AuthorityRow {
  readonly id: string;
  readonly sealed: Uint8Array;
  readonly certificate: string | null;
  readonly account_url: string | null;
}

export const readAuthority = statement<AuthorityRow>(
  'certificate_authority_read',
  'select id, sealed, certificate, account_url from certificate_authority where directory = $1',
);

/** Parameters: id, directory, sealed key, certificate. Does nothing if the directory already has a row. */
export const addAuthority = statement(
  'certificate_authority_add',
  `insert into certificate_authority (id, directory, sealed, certificate) values ($1, $2, $3, $4)
   on conflict (directory) do nothing`,
);

/** Parameters: directory, URL of the account. Null: the authority no longer knows the account. */
export const keepAccount = statement(
  'certificate_authority_keep_account',
  'update certificate_authority set account_url = $2 where directory = $1',
);
