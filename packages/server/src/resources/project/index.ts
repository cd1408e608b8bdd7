export { mountProject } from './routes.ts';
export { readProject } from './project.ts';
