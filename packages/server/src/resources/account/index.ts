export { makeFirstRunToken } from './first-run.ts';
export { mountAccount } from './routes.ts';
