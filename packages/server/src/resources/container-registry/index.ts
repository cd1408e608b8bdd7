export { mountContainerRegistry } from './routes.ts';
