import type { ServiceSpec } from './spec.ts';

/** Ids of the organization's records that a spec references, whatever its kind. */
export interface References {
  readonly gitTokenId: string | null;
  readonly registryId: string | null;
  readonly helmRepositoryId: string | null;
  /** Git token for the repository of a Helm chart's values. */
  readonly valuesTokenId: string | null;
}

/**
 * The members in which specs of any kind keep these ids. The indexes that find users of a record are on the same
 * members.
 */
interface Referring {
  readonly git_repository?: { readonly git_token_id?: string | null };
  readonly registry_id?: string;
  readonly source?: { readonly helm_repository?: { readonly repository: string } | null };
  readonly values_override?: {
    readonly file: { readonly git: { readonly git_repository: { readonly git_token_id: string | null } } | null } | null;
  };
}

export function referencesOf({ git_repository, registry_id, source, values_override }: ServiceSpec & Referring): References {
  return {
    gitTokenId: git_repository?.git_token_id ?? null,
    registryId: registry_id ?? null,
    helmRepositoryId: source?.helm_repository?.repository ?? null,
    valuesTokenId: values_override?.file?.git?.git_repository.git_token_id ?? null,
  };
}

export function namesOthers(spec: ServiceSpec): boolean {
  return Object.values(referencesOf(spec)).some((id) => id !== null);
}
