import type { ContainerRegistryKind, GitProvider } from '@davit/contract';

/**
 * A container registry behind one of the contract's neutral words. `url`: the fixed public URL, which an operator can
 * replace (DAVIT_VENDOR_REGISTRIES). `api`: the URL of the HTTP API, if different. `namespace`: the default namespace
 * of images.
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

/** URLs of the git hosts' HTTP APIs. A generic host has no known API. */
export const gitApiUrls: Readonly<Record<GitProvider, string>> = {
  HOSTA: 'https://api.github.com',
  HOSTB: 'https://gitlab.com/api/v4',
  HOSTC: 'https://api.bitbucket.org/2.0',
  GENERIC: '',
};

/** Host names of the git hosts' repositories. */
export const gitHosts: Readonly<Record<Exclude<GitProvider, 'GENERIC'>, string>> = {
  HOSTA: 'github.com',
  HOSTB: 'gitlab.com',
  HOSTC: 'bitbucket.org',
};

export function isVendorRegistry(kind: string): kind is VendorRegistryKind {
  return vendorRegistryKinds.some((vendor) => vendor === kind);
}

/** User names that mark the password as a key, for registries that accept keys only. */
export const keyUsers: Readonly<Partial<Record<ContainerRegistryKind, string>>> = {
  VENDORA_CR: 'nologin',
  CLOUDC_ARTIFACT_REGISTRY: '_json_key',
};
