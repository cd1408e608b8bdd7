import Type from 'typebox';
import { operation } from '../operation.ts';
import { about, List, Named, Optionals, Words } from '../shape.ts';
import { ClusterFeature } from './shapes.ts';

export const InstanceType = Named(
  'ClusterInstanceType',
  Type.Object({
    type: about('The name of the type at the vendor.', Type.String()),
    name: about('The name of the type for people.', Type.String()),
    cpu: about('The number of its CPUs.', Type.Number()),
    ram_in_gb: about('Its memory, in GB.', Type.Number()),
    bandwidth_in_gbps: about('The network bandwidth, in Gbit/s; may be empty.', Type.String()),
    bandwidth_guarantee: about('How the bandwidth is guaranteed, such as `UP_TO`; may be empty.', Type.String()),
    architecture: Type.Optional(about('The processor, such as `AMD64`. Absent: unknown.', Type.String())),
    gpu_info: Type.Optional(
      about(
        'Its GPUs. Absent: none.',
        Named(
          'ClusterInstanceGpuInfo',
          Optionals({
            count: about('How many GPUs it has.', Type.Integer()),
            name: about('The name of the GPU.', Type.String()),
            manufacturer: about('The manufacturer of the GPU.', Type.String()),
            memory_in_mib: about('The memory of a GPU, in MiB.', Type.String()),
          }),
          'The GPUs of a type of machine.',
        ),
      ),
    ),
    attributes: Type.Optional(
      about(
        'Its name in parts. Absent: unknown.',
        Named(
          'ClusterInstanceAttributes',
          Optionals({
            instance_category: about('The letter of the category.', Type.String()),
            instance_generation: about('The number of the generation.', Type.Integer()),
            instance_family: about('The family, such as `t3`.', Type.String()),
            instance_size: about('The size, such as `large`.', Type.String()),
            meets_resource_reqs: about('Whether it is large enough for a cluster.', Type.Boolean()),
          }),
          'The name of a type of machine in parts.',
        ),
      ),
    ),
  }),
  'A type of machine that a vendor offers.',
);

export const Region = Named(
  'ClusterRegion',
  Type.Object({
    name: about('The name of the region at the vendor.', Type.String()),
    country_code: about('The country, as two letters.', Type.String()),
    country: about('The name of the country.', Type.String()),
    city: about('The city or area of the region.', Type.String()),
    zones: Type.Optional(about('The zones of the region. Absent: none.', Type.Array(Type.String()))),
  }),
  'A region of a vendor.',
);

const NamedRecord = Named(
  'ManagedDatabaseInstanceType',
  Type.Object({ name: about('The name that the vendor uses.', Type.String()) }),
  'A database or a type of machine of the vendor, by name.',
);

/** `with_gpu` is the older parameter: false means EXCLUDE, true means INCLUDE. `gpu` takes precedence if it is sent. */
const filters = Optionals({
  only_meets_resource_reqs: about('Only types that are large enough for a cluster.', Type.Boolean()),
  with_gpu: about('The older form of `gpu`, which wins: false is EXCLUDE, true INCLUDE.', Type.Boolean()),
  gpu: about(
    'Which types to list, by their GPUs.',
    Words({ INCLUDE: 'All types.', EXCLUDE: 'Types without GPUs only.', ONLY: 'Types with GPUs only.' }, { default: 'INCLUDE' }),
  ),
});

const common = { method: 'GET', tag: 'Cloud catalogue', scope: 'READ', target: 'instance', status: 200, errors: [] } as const;

const typesOfVendor = 'types of machines of the vendor, with CPUs, memory and GPUs';
const typesInRegion = 'types of machines that the vendor offers in the region (404: it has no such region)';
const databasesOfVendor = 'names of the databases that the vendor manages';

/** Returns the description of an operation that lists something of the catalogue. */
function ofCatalogue(what: string): string {
  return `Returns the ${what}, from the catalogue of the installation, which the operator can replace. No vendor is
    asked.`;
}

function featuresOf<const Id extends string, const P extends string>(id: Id, path: P) {
  return operation({
    ...common,
    id,
    path,
    summary: 'List the features of clusters of the vendor',
    description: `
      Returns the features that the vendor offers for clusters, from the catalogue of the installation, which the operator can
      replace. A cluster can choose them; they are stored only.
    `,
    response: List(ClusterFeature),
  });
}

function regionsOf<const Id extends string, const P extends string>(id: Id, path: P) {
  return operation({
    ...common,
    id,
    path,
    summary: 'List the regions of the vendor',
    description: ofCatalogue('regions of the vendor'),
    response: List(Region),
  });
}

function typesOf<const Id extends string, const P extends string>(id: Id, path: P, summary: string, what = typesOfVendor) {
  return operation({ ...common, id, path, summary, description: ofCatalogue(what), response: List(InstanceType) });
}

function filteredTypesOf<const Id extends string, const P extends string>(id: Id, path: P) {
  const summary = 'List the instance types of the vendor in a region';
  return operation({
    ...common,
    id,
    path,
    summary,
    description: ofCatalogue(typesInRegion),
    query: filters,
    response: List(InstanceType),
  });
}

function namesOf<const Id extends string, const P extends string>(id: Id, path: P, summary: string, what: string) {
  return operation({ ...common, id, path, summary, description: ofCatalogue(what), response: List(NamedRecord) });
}

const allTypes = 'List all instance types of the vendor';
const typesOfRegion = 'List the instance types of the vendor in a region or zone';
const databases = 'List the databases that the vendor manages';

export const listCloudProvider = operation({
  ...common,
  id: 'listCloudProvider',
  path: '/cloudProvider',
  summary: 'List the cloud vendors',
  description: `
    Returns the vendors with their regions, from the catalogue of the installation, which the operator can replace. No vendor
    is asked.
  `,
  response: List(
    Named(
      'CloudProvider',
      Optionals({
        short_name: about('The name of the vendor in other fields.', Type.String()),
        name: about('The name of the vendor for people.', Type.String()),
        logo_url: about('The logo of the vendor.', Type.String()),
        regions: about('The regions of the vendor.', Type.Array(Region)),
      }),
      'A cloud vendor with its regions.',
    ),
  ),
});

export const listAWSFeatures = featuresOf('listAWSFeatures', '/aws/clusterFeature');
export const listAWSRegions = regionsOf('listAWSRegions', '/aws/region');
export const listAWSInstanceType = typesOf('listAWSInstanceType', '/aws/instanceType', allTypes);
export const listAWSEKSInstanceType = filteredTypesOf('listAWSEKSInstanceType', '/aws/eks/instanceType/{region}');
export const listAWSManagedDatabaseType = namesOf(
  'listAWSManagedDatabaseType',
  '/aws/managedDatabase/type',
  databases,
  databasesOfVendor,
);
export const listAWSManagedDatabaseInstanceType = namesOf(
  'listAWSManagedDatabaseInstanceType',
  '/aws/managedDatabase/instanceType/{region}/{databaseType}',
  'List the instance types of a managed database in a region',
  'types of machines for the database in the region (404: the vendor has no such database or region)',
);

export const listVendoraFeatures = featuresOf('listVendoraFeatures', '/vendora/clusterFeature');
export const listVendoraRegions = regionsOf('listVendoraRegions', '/vendora/region');
export const listVendoraInstanceType = typesOf('listVendoraInstanceType', '/vendora/instanceType', allTypes);
export const listVendoraManagedK8sInstanceType = typesOf(
  'listVendoraManagedK8sInstanceType',
  '/vendora/instanceType/{zone}',
  typesOfRegion,
  typesInRegion,
);
export const listVENDORAManagedDatabaseType = namesOf(
  'listVENDORAManagedDatabaseType',
  '/vendora/managedDatabase/type',
  databases,
  databasesOfVendor,
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
  typesInRegion,
);
