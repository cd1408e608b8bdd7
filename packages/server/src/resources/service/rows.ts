import type { ContainerRegistryKind, EnvironmentMode } from '@davit/contract';
import type { ReleaseCommit } from '@davit/engine/port';
import type { DatabaseFacts } from '../variable/index.ts';
import type { ServiceSpec } from './spec.ts';

/** A container registry, as shown by the services that use it. */
export interface RegistryDetails {
  readonly id: string;
  readonly name: string;
  readonly url: string;
  readonly kind: ContainerRegistryKind;
}

/** The records that a Helm chart references, as shown by the record of the chart. */
export interface ChartDetails {
  readonly repository: { readonly id: string; readonly name: string; readonly url: string } | null;
  /** Name of the git token for the chart's values. */
  readonly values_token_name: string | null;
}

/** A service as shown by its record. */
export interface ServiceRow<Spec extends ServiceSpec = ServiceSpec> {
  readonly id: string;
  readonly organization_id: string;
  readonly environment_id: string;
  readonly type: string;
  readonly name: string;
  readonly spec: Spec;
  readonly created_at: string;
  readonly updated_at: string;
  /** Kind of the service's cluster. */
  readonly driver: string;
  readonly git_token_name: string | null;
  /** Registry of services with an image of a registry. */
  readonly registry: RegistryDetails | null;
  /** Referenced records of Helm charts. */
  readonly chart: ChartDetails | null;
  /** Commit of the deployed release. */
  readonly deployed_commit: ReleaseCommit | null;
}

/** A service with all surroundings that a release or an action needs. */
export interface ServiceFacts extends ServiceRow {
  readonly project_id: string;
  readonly project_created_at: string;
  readonly environment_name: string;
  readonly environment_mode: EnvironmentMode;
  readonly environment_created_at: string;
  readonly environment_deleting: boolean;
  readonly cluster_id: string;
  readonly cloud_provider: string;
  readonly region: string;
  readonly stage_id: string;
  readonly stage_name: string;
  readonly stage_position: number;
  readonly is_skipped: boolean;
  /** Databases of the service's environment. */
  readonly databases: readonly DatabaseFacts[];
  readonly deleting: boolean;
  /** Hosts of the service's custom domains with proven ownership, sorted. */
  readonly domains: readonly string[];
}
