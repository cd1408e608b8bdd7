import type { CredentialProvider, CredentialType } from '@davit/contract';
import { statement } from '@davit/db';

export interface CredentialsRow {
  readonly id: string;
  readonly provider: CredentialProvider;
  readonly object_type: CredentialType;
  readonly name: string;
  /** All fields except the secrets. */
  readonly fields: Readonly<Record<string, string>>;
}

const columns = 'id, provider, object_type, name, fields';
const visible = 'organization_id = $1 and ($2::uuid is null or organization_id = $2)';

export const credentialsList = statement<CredentialsRow>(
  'credentials_list',
  `select ${columns} from cloud_credentials where ${visible} and provider = $3 order by created_at, id`,
);

export const credentialsListWithClusters = statement<
  CredentialsRow & { readonly clusters: readonly { id: string; name: string; cloud_provider: CredentialProvider }[] }
>(
  'credentials_list_with_clusters',
  `select ${columns},
     (select coalesce(jsonb_agg(jsonb_build_object('id', c.id, 'name', c.name, 'cloud_provider', c.cloud_provider)
                                order by c.created_at, c.id), '[]')
        from cluster as c where c.credentials_id = cloud_credentials.id) as clusters
   from cloud_credentials where ${visible} order by created_at, id`,
);

export const credentialsRead = statement<CredentialsRow>(
  'credentials_read',
  `select ${columns} from cloud_credentials where ${visible} and provider = $3 and id = $4`,
);

/** Returns the credentials with their secrets, and locks the row until the transaction ends. */
export const credentialsLock = statement<CredentialsRow & { readonly sealed: Buffer | null }>(
  'credentials_lock',
  `select ${columns}, sealed from cloud_credentials where ${visible} and provider = $3 and id = $4 for no key update`,
);

export const credentialsCreate = statement<CredentialsRow>(
  'credentials_create',
  `insert into cloud_credentials (id, organization_id, provider, object_type, name, fields, sealed)
   select $4, organization.id, $3, $5, $6, $7, $8 from organization
    where organization.id = $1 and ($2::uuid is null or organization.id = $2)
   returning ${columns}`,
);

export const credentialsEdit = statement<CredentialsRow>(
  'credentials_edit',
  `update cloud_credentials set object_type = $2, name = $3, fields = $4, sealed = $5, updated_at = clock_timestamp()
    where id = $1 returning ${columns}`,
);

export const credentialsDelete = statement(
  'credentials_delete',
  `delete from cloud_credentials where ${visible} and provider = $3 and id = $4
     and not exists (select 1 from cluster where cluster.credentials_id = cloud_credentials.id)`,
);

export const credentialsUsers = statement<{ name: string }>(
  'credentials_users',
  'select name from cluster where credentials_id = $1 order by created_at, id',
);

/** Returns credentials that a cluster may refer to: those of its organization, by id. */
export const credentialsOfOrganization = statement<CredentialsRow>(
  'credentials_of_organization',
  `select ${columns} from cloud_credentials where organization_id = $1 and id = $2`,
);
