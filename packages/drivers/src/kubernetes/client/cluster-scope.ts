import type { ClusterSettings, ClusterTraits } from '../manifests/settings.ts';
import type { Scope } from './objects.ts';

/** A cluster with the properties that apply to everything that runs on it. */
export interface ClusterScope extends Scope {
  readonly settings: ClusterSettings;
  readonly traits: ClusterTraits;
}
