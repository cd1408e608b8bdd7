import type { ContainerRegistryKind } from '@davit/contract';
import { isVendorRegistry, type VendorRegistries } from '../../vendors.ts';
import { checkIds, noCredentials, userAndPassword, type CredentialRules } from '../shared/credentials.ts';
import type { Problems } from '../shared/problems.ts';

/** The rules for each kind. Null: the kind is no longer supported. */
export const kindRules: Readonly<Record<ContainerRegistryKind, CredentialRules | null>> = {
  ECR: { required: ['region', 'access_key_id', 'secret_access_key'], optional: ['role_arn'] },
  VENDORA_CR: { required: ['region', 'vendora_access_key', 'vendora_secret_key'], optional: ['vendora_project_id'] },
  HUBA_CR: userAndPassword,
  HOSTA_CR: userAndPassword,
  HOSTA_ENTERPRISE_CR: userAndPassword,
  HOSTB_CR: userAndPassword,
  PUBLIC_ECR: noCredentials,
  DOCR: null,
  GENERIC_CR: userAndPassword,
  CLOUDC_ARTIFACT_REGISTRY: { required: ['region', 'json_credentials'], optional: [] },
  VENDORB_CR: { required: [], optional: ['vendorb_tenant_id', 'vendorb_subscription_id'] },
};

/** Returns the rules of a kind. Adds a problem if the kind is no longer supported. */
export function rulesOf(kind: ContainerRegistryKind, problems: Problems): CredentialRules {
  const rules = kindRules[kind];
  if (rules === null) problems.add('kind', `${kind} is no longer supported; use another kind, GENERIC_CR if none fits`);
  return rules ?? noCredentials;
}

interface UrlSettings {
  readonly allowHttpRegistries: boolean;
  readonly vendorRegistries: VendorRegistries;
}

/**
 * Returns the URL of a registry of this kind: `wanted`, or the fixed URL if the kind has one. Adds errors to
 * `problems`.
 */
export function registryUrl(
  kind: ContainerRegistryKind,
  wanted: string | null,
  { allowHttpRegistries, vendorRegistries }: UrlSettings,
  problems: Problems,
): string {
  if (isVendorRegistry(kind)) {
    const { url } = vendorRegistries[kind];
    const isIt = wanted === null || wanted === '' || wanted.toLowerCase().replace(/\/$/, '') === url;
    if (!isIt) problems.add('url', `must be ${url} for ${kind}, or left out; use GENERIC_CR for a registry of your own`);
    return url;
  }
  if (kindRules[kind] === null) return '';
  if (wanted === null || wanted === '') problems.add('url', `is required for ${kind}: the https:// address of the registry`);
  else checkIds(wanted, allowHttpRegistries ? ['https:', 'http:'] : ['https:'], problems);
  return wanted ?? '';
}
