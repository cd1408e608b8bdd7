import type { ServiceType } from '../shared/words.ts';

/** What tells the service types apart where they share an operation. Types that are not here are not served yet. */
export const kinds = {
  APPLICATION: { type: 'APPLICATION', noun: 'application', Noun: 'Application', builds: true, icon: 'application' },
} as const satisfies Partial<
  Record<ServiceType, { type: ServiceType; noun: string; Noun: string; builds: boolean; icon: string }>
>;

export type Kind = (typeof kinds)[keyof typeof kinds];
