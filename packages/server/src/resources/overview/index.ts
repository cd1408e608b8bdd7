export { mountOverview } from './routes.ts';
