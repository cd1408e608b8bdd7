export { clusterAdvancedSettingsNotOffered } from './advanced-settings.ts';
export {
  cloudProviders,
  clusterLogSteps,
  credentialProviders,
  featureTypes,
  kubernetesModes,
  type CloudProvider,
  type CredentialProvider,
  type FeatureType,
  type KubernetesMode,
} from './shapes.ts';
export { credentialTypes, type CredentialType } from './credentials.ts';
export { InstanceType, Region } from './catalogue.ts';
export { ClusterFeature } from './shapes.ts';
