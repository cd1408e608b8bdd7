import Type from 'typebox';
import { operation } from '../operation.ts';
import { List, Optionals, Words, Named } from '../shape.ts';
import { ClusterFeature } from './shapes.ts';

export const InstanceType = Named(
  'ClusterInstanceType',
  Type.Object({
    type: Type.String(),
    name: Type.String(),
    cpu: Type.Number(),
    ram_in_gb: Type.Number(),
    bandwidth_in_gbps: Type.String(),
    bandwidth_guarantee: Type.String(),
    architecture: Type.Optional(Type.String()),
    gpu_info: Type.Optional(
      Named(
        'ClusterInstanceGpuInfo',
        Optionals({ count: Type.Integer(), name: Type.String(), manufacturer: Type.String(), memory_in_mib: Type.String() }),
      ),
    ),
    attributes: Type.Optional(
      Named(
        'ClusterInstanceAttributes',
        Optionals({
          instance_category: Type.String(),
          instance_generation: Type.Integer(),
          instance_family: Type.String(),
          instance_size: Type.String(),
          meets_resource_reqs: Type.Boolean(),
        }),
      ),
    ),
  }),
);

export const Region = Named(
  'ClusterRegion',
  Type.Object({
    name: Type.String(),
    country_code: Type.String(),
    country: Type.String(),
    city: Type.String(),
    zones: Type.Optional(Type.Array(Type.String())),
  }),
);

const NamedRecord = Named('ManagedDatabaseInstanceType', Type.Object({ name: Type.String() }));

/** `with_gpu` is the older parameter: false means EXCLUDE, true means INCLUDE. `gpu` takes precedence if it is sent. */
const filters = Optionals({
  only_meets_resource_reqs: Type.Boolean(),
  with_gpu: Type.Boolean(),
  gpu: Words(['INCLUDE', 'EXCLUDE', 'ONLY'] as const, { default: 'INCLUDE' }),
});

const common = { method: 'GET', tag: 'Cloud catalogue', scope: 'READ', target: 'instance', status: 200, errors: [] } as const;

function featuresOf<const Id extends string, const P extends string>(id: Id, path: P) {
  return operation({
    ...common,
    id,
    path,
    summary: 'List the features of clusters of the vendor',
    response: List(ClusterFeature),
  });
}

function regionsOf<const Id extends string, const P extends string>(id: Id, path: P) {
  return operation({ ...common, id, path, summary: 'List the regions of the vendor', response: List(Region) });
}

function typesOf<const Id extends string, const P extends string>(id: Id, path: P, summary: string) {
  return operation({ ...common, id, path, summary, response: List(InstanceType) });
}

function filteredTypesOf<const Id extends string, const P extends string>(id: Id, path: P) {
  const summary = 'List the instance types of the vendor in a region';
  return operation({ ...common, id, path, summary, query: filters, response: List(InstanceType) });
}

function namesOf<const Id extends string, const P extends string>(id: Id, path: P, summary: string) {
  return operation({ ...common, id, path, summary, response: List(NamedRecord) });
}

const allTypes = 'List all instance types of the vendor';
const typesOfRegion = 'List the instance types of the vendor in a region or zone';
const databases = 'List the databases that the vendor manages';

export const listCloudProvider = operation({
  ...common,
  id: 'listCloudProvider',
  path: '/cloudProvider',
  summary: 'List the vendors with their regions',
  response: List(
    Named(
      'CloudProvider',
      Optionals({ short_name: Type.String(), name: Type.String(), logo_url: Type.String(), regions: Type.Array(Region) }),
    ),
  ),
});

export const listAWSFeatures = featuresOf('listAWSFeatures', '/aws/clusterFeature');
export const listAWSRegions = regionsOf('listAWSRegions', '/aws/region');
export const listAWSInstanceType = typesOf('listAWSInstanceType', '/aws/instanceType', allTypes);
export const listAWSEKSInstanceType = filteredTypesOf('listAWSEKSInstanceType', '/aws/eks/instanceType/{region}');
export const listAWSManagedDatabaseType = namesOf('listAWSManagedDatabaseType', '/aws/managedDatabase/type', databases);
export const listAWSManagedDatabaseInstanceType = namesOf(
  'listAWSManagedDatabaseInstanceType',
  '/aws/managedDatabase/instanceType/{region}/{databaseType}',
  'List the instance types of a managed database in a region',
);

export const listVendoraFeatures = featuresOf('listVendoraFeatures', '/vendora/clusterFeature');
export const listVendoraRegions = regionsOf('listVendoraRegions', '/vendora/region');
export const listVendoraInstanceType = typesOf('listVendoraInstanceType', '/vendora/instanceType', allTypes);
export const listVendoraManagedK8sInstanceType = typesOf(
  'listVendoraManagedK8sInstanceType',
  '/vendora/instanceType/{zone}',
  typesOfRegion,
);
export const listVENDORAManagedDatabaseType = namesOf(
  'listVENDORAManagedDatabaseType',
  '/vendora/managedDatabase/type',
  databases,
);

export const listVendorbFeatures = featuresOf('listVendorbFeatures', '/vendorb/clusterFeature');
export const listVendorbRegions = regionsOf('listVendorbRegions', '/vendorb/region');
/** The contract does not restrict the second segment; the catalogue lists its valid values. */
export const listVendorbManagedK8sInstanceType = filteredTypesOf(
  'listVendorbManagedK8sInstanceType',
  '/vendorb/{managedK8sSegment}/instanceType/{region}',
);

export const listCloudcFeatures = featuresOf('listCloudcFeatures', '/cloudc/clusterFeature');
export const listCloudcRegions = regionsOf('listCloudcRegions', '/cloudc/region');
export const listCloudcManagedK8sInstanceType = typesOf(
  'listCloudcManagedK8sInstanceType',
  '/cloudc/instanceType/{region}',
  typesOfRegion,
);
