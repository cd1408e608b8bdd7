import { statement } from '@davit/db';

export interface CustomDomainRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly domain: string;
  readonly host: string;
  readonly generate_certificate: boolean;
  readonly use_cdn: boolean;
  /**
   * Time since which the domain is known to belong to the organization. Null: unproven, and the domain is not served.
   */
  readonly proven_at: string | null;
}

const columns = 'id, created_at, updated_at, domain, host, generate_certificate, use_cdn, proven_at';

/** Parameter: service. Returns its domains, oldest first. */
export const listDomains = statement<CustomDomainRow>(
  'custom_domain_list',
  `select ${columns} from custom_domain where service_id = $1 order by created_at, id`,
);

/** A domain with the service and the organization that claim it. */
export interface ClaimRow extends CustomDomainRow {
  readonly organization_id: string;
  readonly service_id: string;
  readonly type: string;
  /** Driver of the service's cluster. */
  readonly driver: string;
}

/** Parameter: service. Returns its domains with the type and the cluster of the service. */
export const listDomainsOfType = statement<ClaimRow>(
  'custom_domain_list_of_type',
  `select d.id, d.created_at, d.updated_at, d.domain, d.host, d.generate_certificate, d.use_cdn, d.proven_at, s.type, s.driver,
          d.organization_id, d.service_id
     from custom_domain d join service s on s.id = d.service_id where d.service_id = $1 order by d.created_at, d.id`,
);

/** Parameter: limit. Returns unproven domains, oldest first. */
export const listUnproven = statement<ClaimRow>(
  'custom_domain_list_unproven',
  `select d.id, d.created_at, d.updated_at, d.domain, d.host, d.generate_certificate, d.use_cdn, d.proven_at, s.type, s.driver,
          d.organization_id, d.service_id
     from custom_domain d join service s on s.id = d.service_id where d.proven_at is null order by d.created_at, d.id limit $1`,
);

/** Parameters: id, host. */
export const proveDomain = statement(
  'custom_domain_prove',
  'update custom_domain set proven_at = clock_timestamp() where id = $1 and host = $2 and proven_at is null',
);

/** Parameters: id, service. */
export const readDomain = statement<CustomDomainRow>(
  'custom_domain_read',
  `select ${columns} from custom_domain where id = $1 and service_id = $2`,
);

/**
 * Parameters: id, organization, service, domain, host, generate_certificate, use_cdn, whether the domain counts as
 * proven.
 */
export const createDomain = statement<CustomDomainRow>(
  'custom_domain_create',
  `insert into custom_domain (id, organization_id, service_id, domain, host, generate_certificate, use_cdn, proven_at)
   values ($1, $2, $3, $4, $5, $6, $7, case when $8 then clock_timestamp() end) returning ${columns}`,
);

/** Parameters: id, service, domain, host, generate_certificate, use_cdn, whether a changed host counts as proven. */
export const editDomain = statement<CustomDomainRow>(
  'custom_domain_edit',
  `update custom_domain set domain = $3, host = $4, generate_certificate = $5, use_cdn = $6, updated_at = clock_timestamp(),
          proven_at = case when host = $4 then proven_at when $7 then clock_timestamp() end
    where id = $1 and service_id = $2 returning ${columns}`,
);

export const deleteDomain = statement('custom_domain_delete', 'delete from custom_domain where id = $1 and service_id = $2');

/**
 * Parameters: host, service. Returns another service that serves the host or is going to, because its running or
 * requested release was composed when that service had the domain.
 */
export const servedElsewhere = statement<{ name: string; organization_id: string }>(
  'custom_domain_served_elsewhere',
  `select s.name, s.organization_id
     from (select service_id, release_id from service_runtime where desired = 'RUNNING'
           union all
           select one.service_id, one.release_id from deployment d join deployment_service one on one.deployment_id = d.id
            where d.status in ('QUEUED', 'RUNNING') and d.action = 'DEPLOY') as t
     join release r on r.id = t.release_id join service s on s.id = t.service_id
    where t.service_id <> $2
      and jsonb_path_exists(r.config, '$.ports[*].customHosts[*] ? (@ == $host)', jsonb_build_object('host', $1::text))
    limit 1`,
);

/** Parameters: wildcard, organization. Returns the service of another organization that has the wildcard, proven. */
export const wildcardElsewhere = statement<{ name: string; organization_id: string }>(
  'custom_domain_wildcard_elsewhere',
  `select s.name, s.organization_id from custom_domain d join service s on s.id = d.service_id
    where d.host = $1 and d.organization_id <> $2 and d.proven_at is not null`,
);

/**
 * Parameters: host, organization. Returns the service that has the domain. The domain is proven or belongs to that
 * organization.
 */
export const ownerOfHost = statement<{ name: string; organization_id: string }>(
  'custom_domain_owner',
  `select s.name, s.organization_id from custom_domain d join service s on s.id = d.service_id where d.host = $1 and (d.proven_at is not null or d.organization_id = $2)
    order by d.organization_id = $2 desc limit 1`,
);
