export { mountClone } from './routes.ts';
