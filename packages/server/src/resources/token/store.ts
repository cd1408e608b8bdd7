import type { BuiltInRole, Scope } from '@davit/contract';
import { accessChannel, statement } from '@davit/db';

export interface TokenRow {
  readonly id: string;
  readonly created_at: string;
  readonly updated_at: string;
  readonly name: string;
  readonly description: string;
  readonly scope: Scope | null;
  readonly role: BuiltInRole | null;
  readonly custom_role_id: string | null;
  readonly custom_role_name: string | null;
  readonly expires_at: string | null;
}

const columns = `id, created_at, updated_at, name, description, scope, role, custom_role_id, expires_at,
  (select custom_role.name from custom_role where custom_role.id = api_token.custom_role_id) as custom_role_name`;

export const tokenList = statement<TokenRow>(
  'token_list',
  `select ${columns} from api_token
    where organization_id = $1 and ($2::text is null or strpos(lower(name), lower($2)) > 0)
      and ($3::text is null or strpos(lower(created_by), lower($3)) > 0)
    order by created_at, id`,
);

/** $3: the organization of a caller that sees only one. */
export const tokenCreate = statement<TokenRow>(
  'token_create',
  `insert into api_token (id, organization_id, name, description, scope, token_hash, expires_at, created_by, role, custom_role_id)
   select $1, organization.id, $4, $5, $6, $7, $8, $9, $10, $11 from organization
    where organization.id = $2 and ($3::uuid is null or organization.id = $3)
   returning ${columns}`,
);

export const tokenDelete = statement(
  'token_delete',
  `with gone as (
     delete from api_token where id = $1 and organization_id = $2 and ($3::uuid is null or organization_id = $3) returning id
   )
   select pg_notify('${accessChannel}', id::text) from gone`,
);

/** Tokens of the instance administrator belong to no organization. */
export const adminTokenCreate = statement<TokenRow>(
  'admin_token_create',
  `insert into api_token (id, name, scope, token_hash, expires_at, created_by)
   values ($1, $2, 'ADMIN', $3, $4, $5)
   on conflict (token_hash) do nothing
   returning ${columns}`,
);

export const adminTokenList = statement<TokenRow>(
  'admin_token_list',
  `select ${columns} from api_token where organization_id is null order by created_at, id`,
);

export const adminTokenDelete = statement(
  'admin_token_delete',
  `with gone as (delete from api_token where organization_id is null and (id::text = $1 or name = $1) returning id)
   select pg_notify('${accessChannel}', id::text) from gone`,
);

/** Returns whether this is the first start. The lock serializes concurrent first starts. */
export const adminTokenLock = statement('admin_token_lock', 'select id from installation for update');
