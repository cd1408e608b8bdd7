export { mountStream } from './routes.ts';
export { Streams } from './streams.ts';
export { trimStream } from './trim.ts';
