export { createClient, type CallAnswer, type CallInput, type Client, type ClientOptions } from './client.ts';
export { ApiError } from './api-error.ts';
