export { mountCloudCatalogue } from './routes.ts';
export { toFeature, type FeatureRecord } from './cloud-catalogue.ts';
