import { ApiError, type CallInput } from '@davit/client';
import { queryOptions } from '@tanstack/react-query';
import { api } from '../api.ts';
import { inheritedAt, type Edit, type Level, type Slot, type Variable } from '../pages/variables/draft.ts';
import type { Service } from '../words.ts';

type Scope = CallInput<'createVariable'>['body']['variable_scope'];

/** The records to which variables of a service can belong. */
export interface Owners {
  readonly service: Service;
  readonly projectId: string;
}

/** Returns whether services of this type have variables of their own. */
export function hasVariables({ service_type: type }: Service): boolean {
  return type !== 'DATABASE';
}

/** All variables that a service sees; the values of secrets are null. */
export const variablesOf = ({ id, service_type: type, environment }: Service) =>
  queryOptions({
    queryKey: ['variables', environment.id, id],
    enabled: type !== 'DATABASE',
    queryFn: async ({ signal }): Promise<readonly Variable[]> => {
      if (type === 'DATABASE') return [];
      return (await api().call('listVariables', { query: { parent_id: id, scope: type }, signal })).results;
    },
  });

interface Owner {
  readonly scope: Scope;
  readonly id: string;
}

function ownerOf({ service, projectId }: Owners, level: Level): Owner {
  if (level === 'PROJECT') return { scope: 'PROJECT', id: projectId };
  if (level === 'ENVIRONMENT') return { scope: 'ENVIRONMENT', id: service.environment.id };
  if (service.service_type === 'DATABASE') throw new TypeError('a database has no variables of its own');
  return { scope: service.service_type, id: service.id };
}

/** Saves one edit. The server refuses it if its record was changed since the edit began. */
export async function saveEdit(owners: Owners, edit: Edit, slot: Slot | undefined): Promise<void> {
  const { base, change, key, value, level } = edit;
  const owner = ownerOf(owners, level);
  const client = api();
  if (base !== null) {
    const input = {
      params: { variableId: base.id },
      ...(base.updated_at !== undefined && { ifUpdatedAt: base.updated_at }),
    };
    if (change === 'DELETE') await client.call('deleteVariable', input);
    else await client.call('editVariable', { ...input, body: { key, value } });
    return;
  }
  if (edit.aliasOf !== undefined) {
    await client.call('createVariableAlias', {
      params: { variableId: edit.aliasOf.id },
      body: { key, alias_scope: owner.scope, alias_parent_id: owner.id },
    });
    return;
  }
  const inherited = inheritedAt(slot, level);
  if (inherited !== undefined) {
    await client.call('createVariableOverride', {
      params: { variableId: inherited.id },
      body: { value, override_scope: owner.scope, override_parent_id: owner.id },
    });
    return;
  }
  await create(owners.service, edit, owner);
}

/**
 * Creates a variable. Creating a key that an environment or project has already would replace its value; an import
 * leaves such a key as it is, and says so.
 */
async function create(service: Service, edit: Edit, owner: Owner): Promise<void> {
  const { key, value, isSecret, mountPath, level } = edit;
  const client = api();
  if (level === 'SERVICE' || mountPath !== null || service.service_type === 'DATABASE') {
    const body = { key, value, is_secret: isSecret, variable_scope: owner.scope, variable_parent_id: owner.id };
    await client.call('createVariable', { body: { ...body, ...(mountPath !== null && { mount_path: mountPath }) } });
    return;
  }
  const { successful_imported_variables: written } = await client.call('importEnvironmentVariables', {
    query: { service_id: service.id, service_type: service.service_type },
    body: { overwrite: false, vars: [{ name: key, value, scope: owner.scope, is_secret: isSecret }] },
  });
  if (written.length === 0) {
    throw new ApiError({
      status: 409,
      code: 'KEY_TAKEN',
      message: 'Meanwhile somebody created this key here. Nothing was changed.',
    });
  }
}
