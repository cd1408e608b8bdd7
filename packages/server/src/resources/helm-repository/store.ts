import type { HelmRepositoryKind } from '@davit/contract';
import { statement } from '@davit/db';
import type { Credentials } from '../shared/credentials.ts';

export interface HelmRepositoryRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly kind: HelmRepositoryKind;
  readonly url: string;
  readonly skip_tls_verification: boolean;
  readonly config: Credentials;
  readonly associated_services_count: number;
}

export interface SealedRow extends HelmRepositoryRow {
  readonly sealed: Buffer | null;
}

// The index service_helm_repository uses the same expression.
const columns = `id, created_at, updated_at, name, description, kind, url, skip_tls_verification, config,
  (select count(*) from service where service.type = 'HELM'
      and service.spec #>> '{source,helm_repository,repository}' = helm_repository.id::text) as associated_services_count`;
/** Parameters: organization, organization of the caller. */
const visible = `organization_id = $1 and ($2::uuid is null or organization_id = $2)`;

export const helmRepositoryList = statement<HelmRepositoryRow>(
  'helm_repository_list',
  `select ${columns} from helm_repository where ${visible} order by created_at, id`,
);

export const helmRepositoryRead = statement<HelmRepositoryRow>(
  'helm_repository_read',
  `select ${columns} from helm_repository where ${visible} and id = $3`,
);

/** Returns the repository with its sealed secrets. */
export const helmRepositoryOpen = statement<SealedRow>(
  'helm_repository_open',
  `select ${columns}, sealed from helm_repository where ${visible} and id = $3`,
);

/** Returns a repository of any organization, for deployments of that organization. */
export const helmRepositorySealed = statement<SealedRow>(
  'helm_repository_sealed',
  `select ${columns}, sealed from helm_repository where id = $1`,
);

/**
 * Returns the repository with its sealed secrets and locks it: no other transaction can edit it, delete it or start to
 * use it.
 */
export const helmRepositoryLock = statement<SealedRow>(
  'helm_repository_lock',
  `select ${columns}, sealed from helm_repository where ${visible} and id = $3 for update`,
);

/**
 * Parameters: those of `visible`, then id, name, description, kind, url, skip_tls_verification, config, sealed secrets.
 */
export const helmRepositoryCreate = statement<HelmRepositoryRow>(
  'helm_repository_create',
  `insert into helm_repository (id, organization_id, name, description, kind, url, skip_tls_verification, config, sealed)
   select $3, organization.id, $4, $5, $6, $7, $8, $9::jsonb, $10 from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning id, created_at, updated_at, name, description, kind, url, skip_tls_verification, config, 0 as associated_services_count`,
);

/** Parameters: id, name, description, kind, url, skip_tls_verification, config, sealed secrets. */
export const helmRepositoryEdit = statement<HelmRepositoryRow>(
  'helm_repository_edit',
  `update helm_repository
      set name = $2, description = $3, kind = $4, url = $5, skip_tls_verification = $6, config = $7::jsonb, sealed = $8, updated_at = clock_timestamp()
    where id = $1 returning ${columns}`,
);

export const helmRepositoryDelete = statement('helm_repository_delete', 'delete from helm_repository where id = $1');
