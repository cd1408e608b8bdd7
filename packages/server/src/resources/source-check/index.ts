export { mountSourceCheck } from './routes.ts';
