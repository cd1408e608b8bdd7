import type { ProcessSpec } from './kinds/process.ts';

/** Ids of the organization's records that a spec names, whatever its kind. */
export interface References {
  readonly gitTokenId: string | null;
  readonly registryId: string | null;
}

/** Where a spec of any kind may have them; the indexes that find what uses a record are on the same members. */
interface Referring {
  readonly git_repository?: { readonly git_token_id?: string | null };
  readonly registry_id?: string;
}

export function referencesOf({ git_repository, registry_id }: ProcessSpec & Referring): References {
  return { gitTokenId: git_repository?.git_token_id ?? null, registryId: registry_id ?? null };
}

export function namesOthers(spec: ProcessSpec): boolean {
  const { gitTokenId, registryId } = referencesOf(spec);
  return gitTokenId !== null || registryId !== null;
}
