import type { ServiceType } from '../shared/words.ts';

/** The words by which one service type is told from another in what they share: paths, ids, sentences. */
export interface Kind {
  readonly type: ServiceType;
  /** In paths, and in their parameters: `/application/{applicationId}`. */
  readonly noun: string;
  /** In ids of operations: `getApplication`. */
  readonly Noun: string;
  /** In ids of operations that list: `listApplication`. */
  readonly Nouns: string;
  /** For sentences: `an application`. */
  readonly one: string;
  readonly many: string;
  /** Last part of the address of its icon. */
  readonly icon: string;
}

export const kinds = {
  APPLICATION: {
    type: 'APPLICATION',
    noun: 'application',
    Noun: 'Application',
    Nouns: 'Application',
    one: 'an application',
    many: 'applications',
    icon: 'application',
  },
  CONTAINER: {
    type: 'CONTAINER',
    noun: 'container',
    Noun: 'Container',
    Nouns: 'Container',
    one: 'a container',
    many: 'containers',
    icon: 'container',
  },
  JOB: {
    type: 'JOB',
    noun: 'job',
    Noun: 'Job',
    Nouns: 'Jobs',
    one: 'a job',
    many: 'jobs',
    icon: 'lifecycle-job',
  },
  DATABASE: {
    type: 'DATABASE',
    noun: 'database',
    Noun: 'Database',
    Nouns: 'Database',
    one: 'a database',
    many: 'databases',
    icon: 'database',
  },
  HELM: {
    type: 'HELM',
    noun: 'helm',
    Noun: 'Helm',
    Nouns: 'Helms',
    one: 'a Helm chart',
    many: 'Helm charts',
    icon: 'helm',
  },
  TERRAFORM: {
    type: 'TERRAFORM',
    noun: 'terraform',
    Noun: 'Terraform',
    Nouns: 'Terraforms',
    one: 'a Terraform configuration',
    many: 'Terraform configurations',
    icon: 'terraform',
  },
} as const satisfies Partial<Record<ServiceType, Kind>>;

/** Types that are not here are not served yet. */
export type ServedType = keyof typeof kinds;
