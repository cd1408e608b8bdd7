export { mountHelmRepository } from './routes.ts';
