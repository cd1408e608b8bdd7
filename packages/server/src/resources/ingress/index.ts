export { mountIngress } from './routes.ts';
