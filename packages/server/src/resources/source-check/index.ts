export { mountSourceCheck } from './routes.ts';
export { toSourceError } from './source-check.ts';
