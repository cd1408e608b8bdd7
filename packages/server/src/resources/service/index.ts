/*
 * Services of all types: applications, containers, databases, jobs, charts and Terraform configurations. This is all
 * that other resources may use of them. What differs between the types is in `kinds/`, what a type's record is made of
 * in `shapes/`, and what users ask about a service in `facets/`. In the rest, `store.ts` reads rows as `ServiceFacts`,
 * `release.ts` makes a release of them, and `service.ts` creates, edits and removes services.
 */

// Operations. `mountRole` is for resources that serve a role of all types, such as custom domains.
export { mountRole, mountService } from './routes.ts';
export type { ServiceDeps } from './deps.ts';
export type { RecordSettings } from './kinds/kind.ts';
export type { ReleaseSettings } from './release.ts';

// One service: finding, locking, reading, copying and removing it.
export { lockService, type ServiceReference } from './lock.ts';
export { readVisibleFacts } from './visible.ts';
export { readService, removeService } from './service.ts';
export { cloneServices, cloneServiceTo } from './clone.ts';
export { serviceOwners } from './facets/variable/variable.ts';

// Deployments: of a whole environment, or of some of its services at wanted versions.
export { composeServices } from './facets/action/environment.ts';
export { requestSelected, type Selected, type Selection } from './facets/action/selection.ts';
export { deploySource } from './kinds/index.ts';

// The services of an environment, as views show them.
export { listServices } from './list.ts';
export { readServiceStatus, serviceStatuses } from './facets/status/status.ts';
export { currentServices, type CurrentServices } from './facets/status/current.ts';
export { deploymentStatus } from './facets/status/record.ts';
export { serviceOverviews, type ServiceInOverview } from './facets/overview/overview.ts';
export { environmentLinks } from './facets/link/link.ts';

// Parts of specs that other resources check or read.
export { toGitRepository } from './shapes/git.ts';
export { toChart } from './kinds/helm.ts';
export type { DatabaseSpec } from './kinds/database.ts';
export { hasPublicAddress, validationDomain } from './custom-domain.ts';
