import type { operations, Query, Response } from '@davit/contract';
import {
  isOffered,
  vendorWords,
  type Catalogue,
  type CatalogueFeature,
  type CatalogueInstanceType,
  type CatalogueRegion,
  type CatalogueVendor,
  type VendorWord,
} from '../../catalogue/catalogue.ts';
import { notFound } from '../shared/problems.ts';

type InstanceTypes = Response<(typeof operations)['listAWSInstanceType']>;
type Features = Response<(typeof operations)['listAWSFeatures']>;
export type FeatureRecord = Features['results'][number];
type Regions = Response<(typeof operations)['listAWSRegions']>;
type Names = Response<(typeof operations)['listAWSManagedDatabaseType']>;
type Providers = Response<(typeof operations)['listCloudProvider']>;
type Filters = Query<(typeof operations)['listAWSEKSInstanceType']>;

export function listProviders(catalogue: Catalogue): Providers {
  return {
    results: vendorWords.map((word) => {
      const { name, regions } = catalogue.vendors[word];
      return { short_name: word, name, regions: regions.map(toRegion) };
    }),
  };
}

export function listRegions(catalogue: Catalogue, word: VendorWord): Regions {
  return { results: catalogue.vendors[word].regions.map(toRegion) };
}

export function listFeatures(catalogue: Catalogue, word: VendorWord): Features {
  return { results: catalogue.vendors[word].features.map((feature) => toFeature(feature)) };
}

/**
 * Returns all instance types of a vendor, or those of a region or zone. Fails with NOT_FOUND if the vendor does not
 * have the region or zone.
 */
export function listInstanceTypes(
  catalogue: Catalogue,
  word: VendorWord,
  location?: string,
  filters: Filters = {},
): InstanceTypes {
  const vendor = catalogue.vendors[word];
  if (location !== undefined) checkRegion(vendor, location);
  const types = vendor.instance_types
    .filter(({ locations }) => location === undefined || isOffered(vendor, locations, location))
    .map((type) => toInstanceType(catalogue, type));
  return { results: types.filter((type) => passes(type, filters)) };
}

/**
 * Lists instance types for a path in which the contract leaves one segment open. Fails with NOT_FOUND if the segment is
 * unknown.
 */
export function listSegmentInstanceTypes(
  catalogue: Catalogue,
  word: VendorWord,
  { managedK8sSegment: segment, region }: { readonly managedK8sSegment: string; readonly region: string },
  filters: Filters,
): InstanceTypes {
  if (!catalogue.vendors[word].managed_kubernetes_segments.includes(segment)) throw notFound('kind of cluster');
  return listInstanceTypes(catalogue, word, region, filters);
}

export function listDatabases(catalogue: Catalogue, word: VendorWord): Names {
  return { results: catalogue.vendors[word].managed_databases.map(({ name }) => ({ name })) };
}

export function listDatabaseInstanceTypes(
  catalogue: Catalogue,
  word: VendorWord,
  { region, databaseType }: { readonly region: string; readonly databaseType: string },
): Names {
  const vendor = catalogue.vendors[word];
  checkRegion(vendor, region);
  const database = vendor.managed_databases.find(({ name }) => name === databaseType.toUpperCase());
  if (database === undefined) throw notFound('managed database');
  const offered = database.instance_types.filter(({ locations }) => isOffered(vendor, locations, region));
  return { results: offered.map(({ name }) => ({ name })) };
}

/** Returns a feature as the contract defines it. `value`: the value that a cluster has chosen for the feature. */
export function toFeature(feature: CatalogueFeature, value?: NonNullable<FeatureRecord['value_object']>['value']): FeatureRecord {
  const { type, accepted_values, ...fields } = feature;
  return {
    ...fields,
    cost_per_month_in_cents: null,
    cost_per_month: null,
    currency_code: null,
    is_service_paying_feature: false,
    service_feature_documentation: null,
    ...(type === 'BOOLEAN' ? { value_type: type } : {}),
    value_object: value === undefined ? null : { type, value },
    accepted_values: [...accepted_values],
  };
}

function checkRegion(vendor: CatalogueVendor, location: string): void {
  if (!vendor.regions.some(({ name, zones }) => name === location || zones.includes(location))) throw notFound('region');
}

function toRegion({ zones, ...region }: CatalogueRegion): Regions['results'][number] {
  return { ...region, zones: [...zones] };
}

function toInstanceType(
  catalogue: Catalogue,
  { locations: _locations, ...type }: CatalogueInstanceType,
): InstanceTypes['results'][number] {
  const { cpu, ram_in_gb } = catalogue.node_requirements;
  const meets = type.cpu >= cpu && type.ram_in_gb >= ram_in_gb;
  return { ...type, name: type.type, attributes: { ...type.attributes, meets_resource_reqs: meets } };
}

function passes(type: InstanceTypes['results'][number], filters: Filters): boolean {
  if (filters.only_meets_resource_reqs === true && type.attributes?.meets_resource_reqs !== true) return false;
  const gpu = filters.gpu ?? (filters.with_gpu === false ? 'EXCLUDE' : 'INCLUDE');
  const has = type.gpu_info !== undefined;
  return gpu === 'INCLUDE' || has === (gpu === 'ONLY');
}
