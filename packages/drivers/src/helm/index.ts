export { Helm } from './helm.ts';
