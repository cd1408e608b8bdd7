import type { ServiceType } from '../shared/words.ts';

/** The names of a service type in everything that the types share: paths, ids and sentences. */
export interface Kind {
  readonly type: ServiceType;
  /** The name in paths and their parameters: `/application/{applicationId}`. */
  readonly noun: string;
  /** The name in ids of operations: `getApplication`. */
  readonly Noun: string;
  /** The name in ids of list operations: `listApplication`. */
  readonly Nouns: string;
  /** The name in sentences: `an application`. */
  readonly one: string;
  readonly many: string;
  /** The last segment of the icon's URL. */
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

/** A service type that is served. Types without an entry in `kinds` are not served yet. */
export type ServedType = keyof typeof kinds;
