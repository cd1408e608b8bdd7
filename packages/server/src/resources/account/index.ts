export { mountAccount } from './routes.ts';
