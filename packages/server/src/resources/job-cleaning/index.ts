export { mountJobCleaning } from './routes.ts';
