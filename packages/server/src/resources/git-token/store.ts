import type { GitProvider } from '@davit/contract';
import { statement } from '@davit/db';

export interface GitTokenRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly type: GitProvider;
  readonly workspace: string | null;
  readonly git_api_url: string | null;
  readonly associated_services_count: number;
}

// Services name their tokens in their spec. The indexes service_git_token and service_values_git_token use the same
// expressions.
const users = `from service where (service.spec #>> '{git_repository,git_token_id}' = git_token.id::text
  or service.type = 'HELM' and service.spec #>> '{values_override,file,git,git_repository,git_token_id}' = git_token.id::text)`;
const clusters = `from cluster where cluster.organization_id = git_token.organization_id
  and lower(cluster.spec #>> '{infrastructure_charts_parameters,eks_anywhere_parameters,git_repository,git_token_id}') = git_token.id::text`;
const columns = `id, created_at, updated_at, name, description, type, workspace, git_api_url,
  (select count(*) ${users}) as associated_services_count`;
const visible = `organization_id = $1 and ($2::uuid is null or organization_id = $2)`;

export const gitTokenList = statement<GitTokenRow>(
  'git_token_list',
  `select ${columns} from git_token where ${visible} order by created_at, id`,
);

export const gitTokenRead = statement<GitTokenRow>(
  'git_token_read',
  `select ${columns} from git_token where ${visible} and id = $3`,
);

export const gitTokenCreate = statement<GitTokenRow>(
  'git_token_create',
  `insert into git_token (id, organization_id, name, description, type, workspace, git_api_url, sealed)
   select $3, organization.id, $4, $5, $6, $7, $8, $9 from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning id, created_at, updated_at, name, description, type, workspace, git_api_url, 0 as associated_services_count`,
);

const staysGeneric = `($9::boolean and type = 'GENERIC'
        and (not $6 ? 'git_api_url' or coalesce($6->>'git_api_url', '') = coalesce(git_api_url, '')))`;

/**
 * Parameters: `$6` the fields to change; `$7` the new value or null; `$8` the default URL of the API; `$9` whether a
 * generic token stays generic unless its URL changes. If `$7` is null, nothing may change that determines where the
 * token is sent.
 */
export const gitTokenEdit = statement<GitTokenRow>(
  'git_token_edit',
  `update git_token
      set name = $4, type = case when ${staysGeneric} then type else $5 end,
          description = case when $6::jsonb ? 'description' then coalesce($6->>'description', '') else description end,
          workspace = case when $6 ? 'workspace' then $6->>'workspace' else workspace end,
          git_api_url = case when $6 ? 'git_api_url' then $6->>'git_api_url' else git_api_url end,
          sealed = coalesce($7::bytea, sealed), hosts = case when $7::bytea is null then hosts else '{}' end,
          updated_at = clock_timestamp()
    where ${visible} and id = $3
      and ($7::bytea is not null or ${staysGeneric} or type = $5 and (not $6 ? 'git_api_url' or coalesce(nullif($6->>'git_api_url', ''), $8) = coalesce(nullif(git_api_url, ''), $8)))
   returning ${columns}`,
);

export const gitTokenDelete = statement(
  'git_token_delete',
  `delete from git_token where ${visible} and id = $3 and not exists (select 1 ${users}) and not exists (select 1 ${clusters})`,
);

/** Parameter: id of the token. Returns the clusters that are installed from a repository with the token. */
export const gitTokenClusters = statement<{ readonly name: string }>(
  'git_token_clusters',
  `select cluster.name from git_token, cluster where git_token.id = $1 and cluster.id in (select cluster.id ${clusters})
    order by cluster.created_at, cluster.id`,
);

/** Parameters: organization, id. Locks the token, so that no other transaction deletes it before this one ends. */
export const gitTokenShare = statement(
  'git_token_share',
  'select id from git_token where organization_id = $1 and id = $2 for key share',
);

export interface SealedToken {
  readonly type: GitProvider;
  readonly workspace: string | null;
  readonly git_api_url: string | null;
  readonly hosts: string[];
  readonly sealed: Buffer;
}

export const gitTokenSealed = statement<SealedToken>(
  'git_token_sealed',
  'select type, workspace, git_api_url, hosts, sealed from git_token where id = $1',
);

/** Parameters: id, host. Binds the token to the host if it has no hosts yet. Returns the hosts of the token. */
export const gitTokenBind = statement<{ readonly hosts: string[] }>(
  'git_token_bind',
  `update git_token set hosts = case when hosts = '{}' then array[$2::text] else hosts end where id = $1 returning hosts`,
);
