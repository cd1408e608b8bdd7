import { operations } from '@davit/contract';
import type { Needs } from '../../deps.ts';
import type { Mounting } from '../../http/mount.ts';
import * as catalogue from './cloud-catalogue.ts';

export function mountCloudCatalogue(mounting: Mounting, { catalogue: data }: Needs<'catalogue'>): void {
  mounting
    .on(operations.listCloudProvider, async () => catalogue.listProviders(data))
    .on(operations.listAWSRegions, async () => catalogue.listRegions(data, 'AWS'))
    .on(operations.listVendoraRegions, async () => catalogue.listRegions(data, 'VENDORA'))
    .on(operations.listVendorbRegions, async () => catalogue.listRegions(data, 'VENDORB'))
    .on(operations.listCloudcRegions, async () => catalogue.listRegions(data, 'CLOUDC'))
    .on(operations.listAWSFeatures, async () => catalogue.listFeatures(data, 'AWS'))
    .on(operations.listVendoraFeatures, async () => catalogue.listFeatures(data, 'VENDORA'))
    .on(operations.listVendorbFeatures, async () => catalogue.listFeatures(data, 'VENDORB'))
    .on(operations.listCloudcFeatures, async () => catalogue.listFeatures(data, 'CLOUDC'))
    .on(operations.listAWSInstanceType, async () => catalogue.listInstanceTypes(data, 'AWS'))
    .on(operations.listVendoraInstanceType, async () => catalogue.listInstanceTypes(data, 'VENDORA'))
    .on(operations.listAWSEKSInstanceType, async ({ params, query }) =>
      catalogue.listInstanceTypes(data, 'AWS', params.region, query),
    )
    .on(operations.listVendoraManagedK8sInstanceType, async ({ params }) =>
      catalogue.listInstanceTypes(data, 'VENDORA', params.zone),
    )
    .on(operations.listCloudcManagedK8sInstanceType, async ({ params }) =>
      catalogue.listInstanceTypes(data, 'CLOUDC', params.region),
    )
    .on(operations.listVendorbManagedK8sInstanceType, async ({ params, query }) =>
      catalogue.listSegmentInstanceTypes(data, 'VENDORB', params, query),
    )
    .on(operations.listAWSManagedDatabaseType, async () => catalogue.listDatabases(data, 'AWS'))
    .on(operations.listVENDORAManagedDatabaseType, async () => catalogue.listDatabases(data, 'VENDORA'))
    .on(operations.listAWSManagedDatabaseInstanceType, async ({ params }) =>
      catalogue.listDatabaseInstanceTypes(data, 'AWS', params),
    );
}
