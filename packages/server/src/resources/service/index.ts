export { mountService } from './routes.ts';
export { composeServices } from './facets/action/environment.ts';
export { serviceStatuses } from './facets/status/status.ts';
export { servicePlaces } from './facets/variable/variable.ts';
export { listServices } from './list.ts';
export { removeService } from './service.ts';
