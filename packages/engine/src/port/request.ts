import type { Action, JobEvent, ReleaseConfig } from '../model.ts';

export type Origin = 'API' | 'CLI' | 'CONSOLE' | 'GIT' | 'SERVICE_INTERNAL' | 'TERRAFORM_PROVIDER';

/** Who asks. Requests of the same actor and action that wait are merged; the services of each keep their own result. */
export interface Trigger {
  readonly actor: string;
  readonly triggeredBy: string;
  readonly origin: Origin;
}

/** Where the services are; copied into the deployment, as the engine reads no resource tables. */
export interface EnvironmentPlace {
  readonly organizationId: string;
  readonly projectId: string;
  readonly environmentId: string;
  readonly clusterId: string;
  readonly driver: string;
}

/** A configuration, at a commit of its repository and at one of that of a chart's values; null or left out: the branch's newest. */
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
  /** DEPLOY: the configuration to run, or an earlier release to run again. Other actions: none. */
  readonly release?: RequestedRelease | { readonly releaseId: string };
  /** DEPLOY of a job: runs this event once, and neither starts nor ends anything else. Such a request is not merged. */
  readonly event?: JobEvent;
}

export interface DeploymentRequest {
  readonly place: EnvironmentPlace;
  readonly action: Action;
  /** Asked for the environment as a whole: deleting one then also removes what the environment itself has. */
  readonly wholeEnvironment: boolean;
  readonly trigger: Trigger;
  readonly services: readonly RequestedService[];
}

export interface PlannedService {
  readonly serviceId: string;
  readonly name: string;
  readonly steps: readonly string[];
  readonly instances: { readonly from: number; readonly to: number };
  /** True where old and new cannot run side by side: the service does not answer while it is replaced. */
  readonly expectedDowntime: boolean;
  /** What a reader should know before: why a build is needed or not, why there is downtime. */
  readonly notes: readonly string[];
  /** What differs from what runs now, by field or variable name; never values. */
  readonly changes: readonly string[];
}

export interface DeploymentPlan {
  readonly action: Action;
  readonly stages: readonly { readonly name: string; readonly services: readonly PlannedService[] }[];
}
