export { cloneServices, type ServiceClone } from './clone.ts';
export { mountService } from './routes.ts';
export { composeServices } from './facets/action/environment.ts';
export { composeSelected, deleteSelected, selectInstalled, selectRunning, type Selected } from './facets/action/selection.ts';
export { lockService } from './lock.ts';
export { environmentLinks } from './facets/link/link.ts';
export { serviceStatuses } from './facets/status/status.ts';
export { listServices } from './list.ts';
export { removeService } from './service.ts';
