import type { FeatureType } from '@davit/contract';

/** The vendors of the catalogue, in the spelling of the contract. */
export const vendorWords = ['AWS', 'VENDORA', 'VENDORB', 'CLOUDC'] as const;
export type VendorWord = (typeof vendorWords)[number];

export interface CatalogueRegion {
  readonly name: string;
  readonly country_code: string;
  readonly country: string;
  readonly city: string;
  readonly zones: readonly string[];
}

export interface CatalogueInstanceType {
  readonly type: string;
  readonly cpu: number;
  readonly ram_in_gb: number;
  readonly bandwidth_in_gbps: string;
  readonly bandwidth_guarantee: string;
  readonly architecture: 'AMD64' | 'ARM64';
  readonly gpu_info?: {
    readonly count: number;
    readonly name: string;
    readonly manufacturer: string;
    readonly memory_in_mib: string;
  };
  readonly attributes?: {
    readonly instance_category?: string;
    readonly instance_generation?: number;
    readonly instance_family?: string;
    readonly instance_size?: string;
  };
  /** Regions or zones that offer the type; left out: all of the vendor. */
  readonly locations?: readonly string[];
}

export interface CatalogueFeature {
  readonly id: string;
  readonly title: string;
  readonly description: string | null;
  readonly type: FeatureType;
  readonly is_cloud_provider_paying_feature: boolean;
  readonly cloud_provider_feature_documentation: string | null;
  readonly is_value_updatable: boolean;
  /** Empty: any value of the type. */
  readonly accepted_values: readonly (string | boolean)[];
}

export interface CatalogueVendor {
  readonly name: string;
  /**
   * Words that are accepted in the path of this vendor's instance types, where the contract leaves that segment open.
   */
  readonly managed_kubernetes_segments: readonly string[];
  readonly regions: readonly CatalogueRegion[];
  readonly features: readonly CatalogueFeature[];
  readonly instance_types: readonly CatalogueInstanceType[];
  readonly managed_databases: readonly {
    readonly name: string;
    /** Offered in all regions, unless `locations` is set. */
    readonly instance_types: readonly { readonly name: string; readonly locations?: readonly string[] }[];
  }[];
}

/** The offers of cloud vendors: one data file, read at the start. `docs/operate.md` explains how to replace it. */
export interface Catalogue {
  /** Date of the data. */
  readonly version: string;
  /** Minimum resources of a node for `meets_resource_reqs`. */
  readonly node_requirements: { readonly cpu: number; readonly ram_in_gb: number };
  readonly vendors: Readonly<Record<VendorWord, CatalogueVendor>>;
}

/** Returns the vendor of a cluster's provider; undefined if the catalogue has none. */
export function vendorOf(catalogue: Catalogue, provider: string): CatalogueVendor | undefined {
  const word = vendorWords.find((one) => one === provider);
  return word === undefined ? undefined : catalogue.vendors[word];
}

/**
 * Returns whether a type is offered at a location: a region or a zone. A region offers every type that one of its zones
 * offers.
 */
export function isOffered(vendor: CatalogueVendor, locations: readonly string[] | undefined, location: string): boolean {
  if (locations === undefined) return true;
  const region = vendor.regions.find(({ name, zones }) => name === location || zones.includes(location));
  if (region === undefined) return false;
  return region.name === location
    ? locations.some((one) => one === region.name || region.zones.includes(one))
    : locations.includes(location) || locations.includes(region.name);
}
