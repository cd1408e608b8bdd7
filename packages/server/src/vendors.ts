import type { ContainerRegistryKind, GitProvider } from '@davit/contract';

/**
 * What stands behind the contract's neutral words for container registries. `url`: the fixed public address, which an operator
 * can replace (DAVIT_VENDOR_REGISTRIES). `api`: where the HTTP API is, where that is another address. `namespace`: of images
 * that are named without one.
 */
export interface VendorRegistry {
  readonly url: string;
  readonly api?: string;
  readonly namespace?: string;
}

export const vendorRegistryKinds = ['HUBA_CR', 'HOSTA_CR', 'HOSTB_CR'] as const;
export type VendorRegistryKind = (typeof vendorRegistryKinds)[number];
export type VendorRegistries = Readonly<Record<VendorRegistryKind, VendorRegistry>>;

export const vendorRegistries: VendorRegistries = {
  HUBA_CR: { url: 'https://docker.io', api: 'https://registry-1.docker.io', namespace: 'library' },
  HOSTA_CR: { url: 'https://ghcr.io' },
  HOSTB_CR: { url: 'https://registry.gitlab.com' },
};

/** Where the git hosts have their HTTP APIs. A generic one has none that is known. */
export const gitApiUrls: Readonly<Record<GitProvider, string>> = {
  HOSTA: 'https://api.github.com',
  HOSTB: 'https://gitlab.com/api/v4',
  HOSTC: 'https://api.bitbucket.org/2.0',
  GENERIC: '',
};

/** Where the git hosts have their repositories. */
export const gitHosts: Readonly<Record<Exclude<GitProvider, 'GENERIC'>, string>> = {
  HOSTA: 'github.com',
  HOSTB: 'gitlab.com',
  HOSTC: 'bitbucket.org',
};

export function isVendorRegistry(kind: string): kind is VendorRegistryKind {
  return vendorRegistryKinds.some((vendor) => vendor === kind);
}

/** User names that stand for "the password is a key" at registries that know keys only. */
export const keyUsers: Readonly<Partial<Record<ContainerRegistryKind, string>>> = {
  VENDORA_CR: 'nologin',
  CLOUDC_ARTIFACT_REGISTRY: '_json_key',
};
