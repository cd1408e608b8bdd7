import type { FeatureType } from '@davit/contract';

/** Vendors that the catalogue has, by the contract's words. */
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
  /** Regions or zones that have it; without: all of the vendor. */
  readonly places?: readonly string[];
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
  /** Words that may stand in the path of this vendor's instance types, where the contract leaves that segment open. */
  readonly managed_kubernetes_segments: readonly string[];
  readonly regions: readonly CatalogueRegion[];
  readonly features: readonly CatalogueFeature[];
  readonly instance_types: readonly CatalogueInstanceType[];
  readonly managed_databases: readonly {
    readonly name: string;
    /** Without `places` in all regions. */
    readonly instance_types: readonly { readonly name: string; readonly places?: readonly string[] }[];
  }[];
}

/** What cloud vendors offer: one file of data, read at the start. `docs/operate.md` says how to replace it. */
export interface Catalogue {
  /** Day of its figures. */
  readonly version: string;
  /** What a node must have at least for `meets_resource_reqs`. */
  readonly node_requirements: { readonly cpu: number; readonly ram_in_gb: number };
  readonly vendors: Readonly<Record<VendorWord, CatalogueVendor>>;
}

/** The vendor behind a cluster's provider, where the catalogue has it. */
export function vendorOf(catalogue: Catalogue, provider: string): CatalogueVendor | undefined {
  const word = vendorWords.find((one) => one === provider);
  return word === undefined ? undefined : catalogue.vendors[word];
}

/** Whether a type is offered at a place: a region, or a zone. A region has what one of its zones has. */
export function isOffered(vendor: CatalogueVendor, places: readonly string[] | undefined, place: string): boolean {
  if (places === undefined) return true;
  const region = vendor.regions.find(({ name, zones }) => name === place || zones.includes(place));
  if (region === undefined) return false;
  return region.name === place
    ? places.some((one) => one === region.name || region.zones.includes(one))
    : places.includes(place) || places.includes(region.name);
}
