export { mountEvent } from './routes.ts';
export { trimEvents } from './event.ts';
