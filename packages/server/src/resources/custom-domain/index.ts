export { mountCustomDomain } from './routes.ts';
