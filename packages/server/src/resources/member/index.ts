export { mountMember } from './routes.ts';
