export { createApi, type Api, type ApiInput, type ApiParts } from './main/api.ts';
export { readConfiguration } from './main/config.ts';
export type { Configuration } from './configuration.ts';
export type { ServerOptions } from './http/context.ts';
export { createServer } from './http/server.ts';
export type { Deps } from './deps.ts';
