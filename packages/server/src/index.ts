export { createApi, type Api, type ApiInput, type ApiParts } from './main/api.ts';
export { readConfiguration, type Configuration } from './main/config.ts';
export { createServer, type ServerOptions } from './http/server.ts';
export type { Deps } from './deps.ts';
