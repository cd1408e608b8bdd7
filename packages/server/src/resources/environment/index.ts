export { mountEnvironment } from './routes.ts';
export { markDeleting, readEnvironment, removeEnvironment } from './environment.ts';
export { cloneRecord, refuseClone, type ClonedEnvironment, type CloneRequest } from './clone.ts';
export { openEnvironment, type OpenEnvironment, type Purpose } from './open-environment.ts';
