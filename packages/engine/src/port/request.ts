import type { Action, JobEvent, ReleaseConfig } from '../model.ts';

export type Origin = 'API' | 'CLI' | 'CONSOLE' | 'GIT' | 'SERVICE_INTERNAL' | 'TERRAFORM_PROVIDER';

/** The actor of a request. */
export interface Trigger {
  readonly actor: string;
  readonly triggeredBy: string;
  readonly origin: Origin;
}

/** The location of the services. It is copied into the deployment, because the engine reads no resource tables. */
export interface EnvironmentRef {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly clusterId: string;
  readonly driver: string;
}

/**
 * A configuration, with the commit of its repository and the commit of the repository of a chart's values. null or
 * omitted: the newest commit of the branch.
 */
export interface RequestedRelease {
  readonly config: ReleaseConfig;
  readonly commitId: string | null;
  readonly valuesCommitId?: string | null;
}

export interface RequestedService {
  readonly serviceId: string;
  readonly serviceType: string;
  readonly name: string;
  readonly iconUri: string;
  readonly stage: { readonly id: string; readonly name: string; readonly position: number };
  /** DEPLOY: the configuration to run, or an earlier release to run again. Omitted for other actions. */
  readonly release?: RequestedRelease | { readonly releaseId: string };
  /**
   * DEPLOY of a job: runs this event once, and neither starts nor stops anything else. Such a request is not merged.
   */
  readonly event?: JobEvent;
}

export interface DeploymentRequest {
  readonly environment: EnvironmentRef;
  readonly action: Action;
  /**
   * Whether the request is for the environment as a whole. Its deletion then also removes the resources of the
   * environment itself.
   */
  readonly wholeEnvironment: boolean;
  readonly trigger: Trigger;
  readonly services: readonly RequestedService[];
  /**
   * A request is merged into a waiting one of the same actor and action if their keys are equal too. The services of
   * each keep their own result. Default: the empty text.
   */
  readonly mergeKey?: string;
}

export interface PlannedService {
  readonly serviceId: string;
  readonly name: string;
  readonly steps: readonly string[];
  readonly instances: { readonly from: number; readonly to: number };
  /** True if old and new instances cannot run side by side: the service is unreachable while it is replaced. */
  readonly expectedDowntime: boolean;
  /** Remarks for the reader: why a build is needed or not, why there is downtime. */
  readonly notes: readonly string[];
  /** Paths of the settings that differ from what runs now; never their values. */
  readonly changes: readonly string[];
}

export interface DeploymentPlan {
  readonly action: Action;
  readonly stages: readonly { readonly name: string; readonly services: readonly PlannedService[] }[];
}
