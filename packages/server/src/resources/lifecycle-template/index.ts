export { mountLifecycleTemplate } from './routes.ts';
