import type { Plan } from '@davit/contract';
import { accessChannel, statement } from '@davit/db';

export interface OrganizationRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string | null;
  readonly plan: Plan;
  readonly website_url: string | null;
  readonly repository: string | null;
  readonly logo_url: string | null;
  readonly icon_url: string | null;
  readonly admin_emails: string[];
  readonly owner: string;
  readonly billing_deployment_restriction: string | null;
}

const columns = `id, created_at, updated_at, name, description, plan, website_url, repository, logo_url, icon_url, admin_emails,
  owner_id as owner, billing_deployment_restriction`;

export const organizationRead = statement<OrganizationRow>(
  'organization_read',
  `select ${columns} from organization where id = $1 and ($2::uuid is null or id = $2)`,
);

export const organizationList = statement<OrganizationRow>(
  'organization_list',
  `select ${columns} from organization where $1::uuid[] is null or id = any($1) order by created_at, id`,
);

/**
 * Creates the organization and its cluster on this machine, because neither exists without the other. Parameter `$6`:
 * the member who owns the organization, or null if it is not created by a person. `$7`: driver of this machine.
 */
export const organizationCreate = statement<OrganizationRow>(
  'organization_create',
  `with made as (
     insert into organization (id, name, plan, owner_id, description, website_url, repository, logo_url, icon_url, admin_emails)
     select $1, $2, $3, $4, fields->>'description', fields->>'website_url', fields->>'repository', fields->>'logo_url',
            fields->>'icon_url', array(select jsonb_array_elements_text(nullif(fields->'admin_emails', 'null')))
       from (select $5::jsonb) as given (fields)
     returning *
   ), local as (
     insert into cluster (id, organization_id, name, description, region, cloud_provider, driver, is_default, is_demo)
     select gen_random_uuid(), id, 'Local', 'The container engine of this machine', 'local', 'ON_PREMISE', $7, true, true
       from made
   ), owner as (
     insert into membership (organization_id, person_id, role) select id, $6, 'ADMIN' from made where $6::uuid is not null
   ), told as (
     select pg_notify('${accessChannel}', '') from made where $6 is not null
   )
   select ${columns} from made`,
);

/** Parameter `$3`: the fields to change. All other fields stay. */
export const organizationEdit = statement<OrganizationRow>(
  'organization_edit',
  `update organization
      set name = case when $3::jsonb ? 'name' then $3->>'name' else name end,
          description = case when $3 ? 'description' then $3->>'description' else description end,
          website_url = case when $3 ? 'website_url' then $3->>'website_url' else website_url end,
          repository = case when $3 ? 'repository' then $3->>'repository' else repository end,
          logo_url = case when $3 ? 'logo_url' then $3->>'logo_url' else logo_url end,
          icon_url = case when $3 ? 'icon_url' then $3->>'icon_url' else icon_url end,
          admin_emails = case when $3 ? 'admin_emails'
            then array(select jsonb_array_elements_text(nullif($3->'admin_emails', 'null'))) else admin_emails end,
          updated_at = clock_timestamp()
    where id = $1 and ($2::uuid is null or id = $2)
   returning ${columns}`,
);

export const organizationDelete = statement(
  'organization_delete',
  'delete from organization where id = $1 and ($2::uuid is null or id = $2)',
);

export const projectNames = statement<{ name: string }>(
  'organization_project_names',
  'select name from project where organization_id = $1 order by created_at, id',
);

export interface RestrictedRow {
  readonly id: string;
  readonly name: string;
  readonly billing_deployment_restriction: string | null;
}

export const organizationRestrictions = statement<RestrictedRow>(
  'organization_restrictions',
  'select id, name, billing_deployment_restriction from organization order by lower(name), id',
);

/** Parameters: id or name (case-insensitive), restriction. */
export const organizationRestrict = statement<RestrictedRow>(
  'organization_restrict',
  `update organization set billing_deployment_restriction = $2, updated_at = clock_timestamp()
    where id::text = lower($1) or lower(name) = lower($1) returning id, name, billing_deployment_restriction`,
);
