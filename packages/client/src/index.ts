export {
  createClient,
  type CallAnswer,
  type CallInput,
  type Client,
  type ClientOptions,
  type StreamInput,
  type StreamOperationId,
} from './client.ts';
export { ApiError } from './api-error.ts';
export { sleep, type Received, type StreamOptions } from './stream.ts';
export type { HttpRequest, HttpResponse, Send } from './transport.ts';
export type * from './types.ts';
