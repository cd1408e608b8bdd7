import type { ContainerRegistryKind } from '@davit/contract';
import { statement } from '@davit/db';
import type { Credentials } from '../shared/credentials.ts';

export interface ContainerRegistryRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly kind: ContainerRegistryKind;
  readonly url: string;
  readonly config: Credentials;
  readonly associated_services_count: number;
}

export interface SealedRow extends ContainerRegistryRow {
  readonly sealed: Buffer | null;
}

// The index service_container_registry uses the same expression.
const columns = `id, created_at, updated_at, name, description, kind, url, config,
  (select count(*) from service where service.type in ('CONTAINER', 'JOB')
      and coalesce(service.spec ->> 'registry_id', service.spec #>> '{source,image,registry_id}') = container_registry.id::text
  ) as associated_services_count`;
/** Parameters: organization, organization of the caller. */
const visible = `organization_id = $1 and ($2::uuid is null or organization_id = $2)`;

export const containerRegistryList = statement<ContainerRegistryRow>(
  'container_registry_list',
  `select ${columns} from container_registry where ${visible} order by created_at, id`,
);

export const containerRegistryRead = statement<ContainerRegistryRow>(
  'container_registry_read',
  `select ${columns} from container_registry where ${visible} and id = $3`,
);

/** Returns the registry with its sealed secrets. */
export const containerRegistryOpen = statement<SealedRow>(
  'container_registry_open',
  `select ${columns}, sealed from container_registry where ${visible} and id = $3`,
);

/**
 * Returns kind, URL and sealed credentials for the engine, which has no caller and shows them to nobody. There is no
 * check of permissions.
 */
export const containerRegistrySealed = statement<Pick<SealedRow, 'kind' | 'url' | 'config' | 'sealed'>>(
  'container_registry_sealed',
  'select kind, url, config, sealed from container_registry where id = $1',
);

/**
 * Returns the registry with its sealed secrets and locks it: no other transaction can edit it, delete it or start to
 * use it.
 */
export const containerRegistryLock = statement<SealedRow>(
  'container_registry_lock',
  `select ${columns}, sealed from container_registry where ${visible} and id = $3 for update`,
);

/** Parameters: those of `visible`, then id, name, description, kind, url, config, sealed secrets. */
export const containerRegistryCreate = statement<ContainerRegistryRow>(
  'container_registry_create',
  `insert into container_registry (id, organization_id, name, description, kind, url, config, sealed)
   select $3, organization.id, $4, $5, $6, $7, $8::jsonb, $9 from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning id, created_at, updated_at, name, description, kind, url, config, 0 as associated_services_count`,
);

/** Parameters: id, name, description, kind, url, config, sealed secrets. */
export const containerRegistryEdit = statement<ContainerRegistryRow>(
  'container_registry_edit',
  `update container_registry
      set name = $2, description = $3, kind = $4, url = $5, config = $6::jsonb, sealed = $7, updated_at = clock_timestamp()
    where id = $1 returning ${columns}`,
);

export const containerRegistryDelete = statement('container_registry_delete', 'delete from container_registry where id = $1');
