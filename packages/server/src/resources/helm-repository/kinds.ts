import type { ContainerRegistryKind, HelmRepositoryKind } from '@davit/contract';
import { isVendorRegistry, type VendorRegistries } from '../../vendors.ts';
import { rulesOf as rulesOfRegistry } from '../container-registry/index.ts';
import { checkIds, userAndPassword, type CredentialRules } from '../shared/credentials.ts';
import { Problems } from '../shared/problems.ts';

/** The kind of container registry that contains the charts. Null: the repository is an index.yaml over HTTPS. */
export const registryKinds: Readonly<Record<HelmRepositoryKind, ContainerRegistryKind | null>> = {
  HTTPS: null,
  OCI_ECR: 'ECR',
  OCI_VENDORA_CR: 'VENDORA_CR',
  OCI_HUBA_CR: 'HUBA_CR',
  OCI_PUBLIC_ECR: 'PUBLIC_ECR',
  OCI_GENERIC_CR: 'GENERIC_CR',
  OCI_HOSTA_CR: 'HOSTA_CR',
  OCI_HOSTB_CR: 'HOSTB_CR',
};

/** Returns the rules of a kind. An OCI repository has those of a registry of its kind. */
export function rulesOf(kind: HelmRepositoryKind): CredentialRules {
  const registryKind = registryKinds[kind];
  return registryKind === null ? userAndPassword : rulesOfRegistry(registryKind, new Problems());
}

interface UrlSettings {
  readonly allowHttpRegistries: boolean;
  readonly vendorRegistries: VendorRegistries;
}

/**
 * Returns the URL of a repository of this kind: `wanted`, or the URL of the public registry if the kind stands for one.
 * Adds errors to `problems`.
 */
export function repositoryUrl(
  kind: HelmRepositoryKind,
  wanted: string | null,
  { allowHttpRegistries, vendorRegistries }: UrlSettings,
  problems: Problems,
): string {
  const registryKind = registryKinds[kind];
  const vendor = registryKind !== null && isVendorRegistry(registryKind) ? vendorRegistries[registryKind] : null;
  const fixed = vendor === null ? null : ociUrl(vendor.api ?? vendor.url);
  if (wanted === null || wanted === '') {
    const example = registryKind === null ? 'the https:// address of its index.yaml' : 'oci:// and the address of the registry';
    if (fixed === null) problems.add('url', `is required for ${kind}: ${example}`);
    return fixed ?? '';
  }
  const schemes = allowHttpRegistries ? ['https:', 'http:'] : ['https:'];
  const found = problems.found.length;
  checkIds(wanted, registryKind === null ? schemes : ['oci:'], problems);
  const isElsewhere = vendor !== null && ![vendor.url, vendor.api ?? ''].some((url) => url !== '' && isOn(ociUrl(url), wanted));
  if (isElsewhere && problems.found.length === found) {
    problems.add('url', `must be ${fixed}, with a path or without, for ${kind}; use OCI_GENERIC_CR for a registry of your own`);
  }
  return wanted;
}

function ociUrl(url: string): string {
  return url.replace(/^https:/, 'oci:');
}

function isOn(location: string, url: string): boolean {
  return url.toLowerCase() === location || url.toLowerCase().startsWith(`${location}/`);
}
